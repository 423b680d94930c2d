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
	{Vanished, "The clone URL has no repository, or the configured credentials may not read it.", "Check the URL and the permissions, then refresh the repository. Remove it if it no longer exists."},
	{Unauthorized, "The code host rejects the configured credentials.", "Renew the credential of the connection, then refresh the repository."},
	{Unreachable, "The code host does not answer.", "Wait for the host or correct its address. Quarry retries automatically."},
	{RefNotFound, "The ref does not exist in the repository.", "Check the name of the branch. If it was deleted, no action is needed."},
	{NoDefaultBranch, "The repository has no default branch.", "Point its HEAD to a branch, or register it with defaultBranch."},
	{Missing, "The repository is missing an object that it refers to.", "Run git fsck on the repository, repair it, then refresh it."},
	{TooLarge, "The repository, or a part of it, exceeds a size limit.", "Raise git.maxMirrorBytes or pipeline.maxFiles, whichever the error names, or register fewer branches."},
	{DiskFull, "The disk of the server is full.", "Free up space. Indexing resumes automatically."},
	{Timeout, "Reading the repository timed out.", "Check that the host and the disk respond, raise git.fetchTimeout if the repository is very large, then refresh it."},
	{Git, "Git failed on the repository.", "Run git fsck on the repository, and check the server's log for git's error message."},
	{Removed, "The repository was removed while the event was being processed.", "No action is needed."},
	{Unreadable, "This version cannot read the event.", "Upgrade the server, then replay the dead letter."},
	{Rejected, "The index could not apply the event.", "Replay the dead letter. If it fails again, report the error from the server's log."},
	{Panic, "The event triggered a bug in the server.", "Report the stack trace from the server's log, and replay the dead letter after an upgrade."},
	{Canceled, "The work was canceled.", "It is retried automatically."},
	{Other, "The work failed for a reason without a code.", "Check the server's log, then refresh the repository or replay the dead letter."},
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
