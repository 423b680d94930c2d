package discovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// IssueCode identifies a problem with a connection. The values are listed in
// issueDescriptions; they appear in API responses and metric labels.
type IssueCode string

// Codes beyond those of hostapi.
const (
	InvalidTarget     IssueCode = "invalid_target"
	InvalidSettings   IssueCode = "invalid_settings"
	InvalidRepository IssueCode = "invalid_repository"
	TooManyFound      IssueCode = "too_many_repositories"
	RemovalHeld       IssueCode = "removal_held"
	RemovalWaits      IssueCode = "removal_waits"
	LogFailed         IssueCode = "log_failed"
)

// Issue is a problem of a sync.
type Issue struct {
	Code IssueCode
	// Target is the affected target as written in the settings; empty means all.
	Target string
	// Detail is the host's message with secrets masked, for owners.
	Detail string
}

// IssueDescription is the user-visible description of an IssueCode.
type IssueDescription struct {
	Code IssueCode
	// Meaning describes what happened, Remedy what to do; each is a sentence.
	Meaning, Remedy string
}

var issueDescriptions = []IssueDescription{
	{IssueCode(hostapi.Unauthorized), "The host does not accept the token.", "Create a new token on the host, store it where the connection reads it, and run quarry connections sync."},
	{IssueCode(hostapi.Forbidden), "The token may not list this.", "Give the token the scopes listed in docs/connections.md, or have an administrator of the organization approve it."},
	{IssueCode(hostapi.NotFound), "The target does not exist, or the token has no access to it.", "Correct the name, or give the token access; if the target was deleted, remove it from the settings."},
	{IssueCode(hostapi.RateLimited), "The host's rate limit is exhausted.", "No action is needed; the next sync continues. A token or a GitHub App raises the limit."},
	{IssueCode(hostapi.Unreachable), "The host does not respond.", "Wait for the host, or correct url; the sync is retried automatically."},
	{IssueCode(hostapi.TLS), "The certificate of the host is not trusted.", "Set caFile of the connection to the file of the host's certificate authority, or correct url."},
	{IssueCode(hostapi.Timeout), "The host responded too slowly.", "If this is normal for the host, raise discovery.requestTimeout."},
	{IssueCode(hostapi.NotJSON), "The host responded with a page instead of JSON.", "Set url to the host itself: a proxy or a sign-in page responds there. On Azure DevOps, the token is invalid."},
	{IssueCode(hostapi.TooLarge), "A response of the host is too large.", "Check that url leads to the API of a code host."},
	{IssueCode(hostapi.Redirected), "The host redirects to another host.", "Set url to the host that it redirects to."},
	{IssueCode(hostapi.Refused), "The policy of this server does not allow the address of the host.", "Have the operator extend git.allowedNetworks."},
	{IssueCode(hostapi.HostFailed), "The host failed, or sent a response that its API does not document.", "Check the host; the sync is retried automatically."},
	{IssueCode(hostapi.Rejected), "The host rejects the request.", "Check the kind and the version of the host."},
	{InvalidTarget, "A target in discover is not in the form that this kind of host requires.", "Correct it; docs/connections.md describes the form."},
	{InvalidSettings, "The settings of the connection are invalid.", "Correct the settings, then reload them."},
	{InvalidRepository, "The host lists a repository that cannot be registered.", "Exclude it, or correct its clone URL at the host."},
	{TooManyFound, "There are more repositories than the connection may find.", "Raise discovery.maxRepositories, or name fewer targets."},
	{RemovalHeld, "The host lists far fewer repositories than before; none was removed.", "Check which repositories the token can read. If the repositories were deleted, run quarry connections sync --remove."},
	{RemovalWaits, "Repositories of a removed connection stay until all other connections have been listed.", "Resolve the issues of the other connections."},
	{LogFailed, "The results could not be appended to the log.", "No action is needed; the sync is retried automatically."},
}

// Describe returns the description of the issue's code.
func (i Issue) Describe() IssueDescription {
	for _, d := range issueDescriptions {
		if d.Code == i.Code {
			return d
		}
	}
	return IssueDescription{Code: i.Code, Meaning: "The sync failed.", Remedy: "Check the server's log."}
}

// maxDetailBytes bounds Issue.Detail, maxIssueTargetBytes Issue.Target.
const (
	maxDetailBytes      = 300
	maxIssueTargetBytes = 200
)

// targetError is the error for a target that is not in the form that the host requires.
type targetError struct{ want string }

func (e *targetError) Error() string { return "want " + e.want }

// NewTargetError returns an error for a target that is not in the form described by want.
func NewTargetError(want string) error { return &targetError{want} }

// NewIssue returns the issue for an error.
func NewIssue(target string, err error) Issue {
	issue := Issue{Code: IssueCode(hostapi.CodeOf(err)), Target: failure.Clean(target, maxIssueTargetBytes), Detail: failure.Quote(err.Error(), maxDetailBytes)}
	if e, ok := errors.AsType[*hostapi.Error](err); ok {
		issue.Detail = e.Error()
	}
	if _, ok := errors.AsType[*targetError](err); ok {
		issue.Code = InvalidTarget
	}
	if errors.Is(err, context.DeadlineExceeded) {
		issue.Code = IssueCode(hostapi.Timeout)
	}
	return issue
}

// String returns the issue as one line.
func (i Issue) String() string {
	if i.Target == "" {
		return fmt.Sprintf("%s: %s", i.Code, i.Describe().Meaning)
	}
	return fmt.Sprintf("%s: %s: %s", i.Code, i.Target, i.Describe().Meaning)
}
