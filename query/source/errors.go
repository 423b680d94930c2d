package source

import (
	"errors"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Errors of this package and of the implementations of its interfaces, wrapped with the
// object of the request.
var (
	// ErrInvalidRevision reports a text that cannot name a revision in any repository.
	ErrInvalidRevision = code.ErrRevisionName
	// ErrNoRevision reports that the repository has no such revision, or more than one.
	ErrNoRevision = errors.New("no such revision")
	// ErrInvalidPath reports a text that cannot be a path in any repository.
	ErrInvalidPath = errors.New("not a path")
	// ErrNoPath reports that the revision has no such file or directory.
	ErrNoPath = errors.New("no such path")
	// ErrDirectory and ErrSubmodule report that a path is not a file. Both are also
	// ErrNoPath.
	ErrDirectory error = notFileError("it is a directory, not a file")
	ErrSubmodule error = notFileError("it is a submodule: its files are in another repository")
	// ErrBinary reports that a file is not text.
	ErrBinary = errors.New("not a text file")
	// ErrTooLarge reports that a result exceeds its bound.
	ErrTooLarge = errors.New("over the size limit")
	// ErrInvalidPattern reports a refused regular expression. Its text names the
	// parameter, query or author, and the reason.
	ErrInvalidPattern = errors.New("pattern is not allowed")
	// ErrNoLine reports lines that are not in the file, or an invalid range of lines.
	ErrNoLine = errors.New("no such lines")
	// ErrTimeout reports that git exceeded its time limit.
	ErrTimeout = errors.New("git took too long")
	// ErrBusy reports that too many calls are waiting.
	ErrBusy = errors.New("too many requests for git")
	// ErrUnavailable reports that the request needs a mirror, and none is available.
	ErrUnavailable = errors.New("no mirror of the repository is available")
	// ErrNoObject reports that the mirror lacks an object that the request needs. The
	// error is an *ObjectError.
	ErrNoObject = errors.New("git object is missing or damaged")
	// ErrNotIndexed reports that the index does not contain the text of a file.
	ErrNotIndexed = errors.New("not indexed")
)

// notFileError is an ErrNoPath that names what is at the path.
type notFileError string

func (e notFileError) Error() string { return string(e) }

// Is reports whether target is ErrNoPath.
func (e notFileError) Is(target error) bool { return target == ErrNoPath }

// ObjectError names an object that the mirror lacks, or that is damaged there. It is an
// ErrNoObject.
type ObjectError struct {
	// Object is the full name of the object in hexadecimal.
	Object string
}

func (e *ObjectError) Error() string {
	return "git object " + e.Object + " is missing or damaged in this server's mirror of the repository; its operator can have the repository fetched again"
}

// Is reports whether target is ErrNoObject.
func (e *ObjectError) Is(target error) bool { return target == ErrNoObject }

// SkippedError reports why the index does not contain the text of a file. It is an
// ErrNotIndexed.
type SkippedError struct{ Reason code.SkipReason }

func (e *SkippedError) Error() string { return ErrNotIndexed.Error() + ": " + string(e.Reason) }

// Is reports whether target is ErrNotIndexed.
func (e *SkippedError) Is(target error) bool { return target == ErrNotIndexed }
