package failure

import (
	"context"
	"errors"
	"slices"
)

// Code identifies the kind of a failure. Codes appear in responses, events and metric
// labels, so a code never changes its meaning.
type Code string

// The codes.
const (
	Refused         Code = "refused"
	Vanished        Code = "vanished"
	Unauthorized    Code = "unauthorized"
	Unreachable     Code = "unreachable"
	RefNotFound     Code = "ref_not_found"
	NoDefaultBranch Code = "no_default_branch"
	Missing         Code = "missing"
	TooLarge        Code = "too_large"
	DiskFull        Code = "disk_full"
	Timeout         Code = "timeout"
	Git             Code = "git_failed"
	Removed         Code = "repository_removed"
	Unreadable      Code = "unreadable_event"
	Rejected        Code = "rejected_event"
	Panic           Code = "panic"
	Canceled        Code = "canceled"
	Other           Code = "other"
)

// Description explains a Code to people.
type Description struct {
	Code Code
	// Meaning explains what happened, Remedy what to do; each is a sentence.
	Meaning, Remedy string
}

// Message returns the meaning and the remedy.
func (d Description) Message() string { return d.Meaning + " " + d.Remedy }

// descriptions is the table of codes; docs/operations.md shows it.
var descriptions = []Description{
	{Refused, "The policy of this server does not allow the clone URL.", "Register another URL, or have the operator extend git.allowedProtocols, git.allowedNetworks or git.allowedRoots."},
	{Vanished, "There is no repository at the clone URL, or none that the configured credentials may read.", "Check the URL and the access, then refresh the repository; remove it if it is gone."},
	{Unauthorized, "The code host refuses the configured credentials.", "Renew the credential of the connection, then refresh the repository."},
	{Unreachable, "The code host does not answer.", "Wait for the host or correct its address; Quarry retries automatically."},
	{RefNotFound, "The ref does not exist in the repository.", "Check the name of the branch; a branch that was deleted needs nothing."},
	{NoDefaultBranch, "The repository has no default branch.", "Point its HEAD to a branch, or register it with defaultBranch."},
	{Missing, "The repository lacks an object that it refers to.", "Run git fsck on the repository and repair it, then refresh it."},
	{TooLarge, "The repository, or a part of it, exceeds a size limit.", "Raise git.maxMirrorBytes or pipeline.maxFiles, whichever the error names, or register fewer branches."},
	{DiskFull, "The disk of the server is full.", "Free space; the work continues automatically."},
	{Timeout, "Reading the repository took longer than it may.", "Check that host and disk answer, raise git.fetchTimeout for a repository this large, then refresh it."},
	{Git, "Git failed on the repository.", "Run git fsck on the repository, and read git's error message in the server's log."},
	{Removed, "The repository was removed while the event was handled.", "No action is needed."},
	{Unreadable, "This version cannot read the event.", "Upgrade the server, then replay the dead letter."},
	{Rejected, "The index could not apply the event.", "Replay the dead letter; if it fails again, report the log's error."},
	{Panic, "The server has a defect that this event reveals.", "Report the stack trace in the server's log; replay the dead letter after an upgrade."},
	{Canceled, "The work was canceled.", "It is repeated automatically."},
	{Other, "The work failed for a reason without a code.", "Read the server's log, then refresh the repository or replay the dead letter."},
}

// Codes returns the table of codes.
func Codes() []Description { return slices.Clone(descriptions) }

// Describe returns the row of c, or the row of Other for a code that is not in the table.
func Describe(c Code) Description {
	for _, d := range descriptions {
		if d.Code == c {
			return d
		}
	}
	return descriptions[len(descriptions)-1]
}

// Parse returns the Code for a text from outside, or Other if the text is not in the
// table.
func Parse(text string) Code { return Describe(Code(text)).Code }

// codedError is an error with a code.
type codedError struct {
	code Code
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// New returns an error with a code, for use as a package variable.
func New(c Code, text string) error { return &codedError{c, errors.New(text)} }

// With adds a code to err, unless it already carries one.
func With(c Code, err error) error {
	if err == nil || CodeOf(err) != Other {
		return err
	}
	return &codedError{c, err}
}

// CodeOf returns the code of an error, or Other if it carries none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*codedError](err); ok {
		return e.code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Other
}
