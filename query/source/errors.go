package source

import (
	"errors"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Errors of this package and of the implementations of its interfaces, wrapped with
// the object of the request.
var (
	// ErrInvalidRevision says that a text names no revision in any repository.
	ErrInvalidRevision = code.ErrRevisionName
	// ErrNoRevision says that the repository has no such revision, or more than one.
	ErrNoRevision = errors.New("no such revision")
	// ErrInvalidPath says that a text is no path in any repository.
	ErrInvalidPath = errors.New("not a path")
	// ErrNoPath says that there is no such file or directory at the revision.
	ErrNoPath = errors.New("no such path")
	// ErrDirectory and ErrSubmodule say what a path is that is not a file's. Both
	// are also ErrNoPath.
	ErrDirectory error = notFileError("it is a directory, not a file")
	ErrSubmodule error = notFileError("it is a submodule: its files are in another repository")
	// ErrBinary says that a file is no text.
	ErrBinary = errors.New("not a text file")
	// ErrTooLarge says that an answer exceeds its bound.
	ErrTooLarge = errors.New("over the size limit")
	// ErrInvalidPattern says that a regular expression is refused. The error's text
	// names the parameter, query or author, and what is wrong.
	ErrInvalidPattern = errors.New("pattern is not allowed")
	// ErrNoLine says that lines are not in the file, or no range of lines.
	ErrNoLine = errors.New("no such lines")
	// ErrTimeout says that git took longer than it may.
	ErrTimeout = errors.New("git took too long")
	// ErrBusy says that too many calls wait.
	ErrBusy = errors.New("too many requests for git")
	// ErrUnavailable says that the request needs a mirror, and none is here.
	ErrUnavailable = errors.New("no mirror of the repository is at hand")
	// ErrNotIndexed says that the index does not have the text of a file.
	ErrNotIndexed = errors.New("not indexed")
)

// notFileError is an ErrNoPath that says what is there.
type notFileError string

// Error implements error.
func (e notFileError) Error() string { return string(e) }

// Is reports whether target is ErrNoPath.
func (e notFileError) Is(target error) bool { return target == ErrNoPath }

// SkippedError says why the index does not have the text of a file. It is an
// ErrNotIndexed.
type SkippedError struct{ Reason code.SkipReason }

// Error implements error.
func (e *SkippedError) Error() string { return ErrNotIndexed.Error() + ": " + string(e.Reason) }

// Is reports whether target is ErrNotIndexed.
func (e *SkippedError) Is(target error) bool { return target == ErrNotIndexed }
