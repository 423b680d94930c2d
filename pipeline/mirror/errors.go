package mirror

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/quarrysearch/quarry/pipeline/netguard"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Errors of this package, wrapped with the repository and git's error message. Each
// carries the code that callers see (schemas/failure).
var (
	// ErrRefused means that the policy does not allow the clone URL. A retry does not
	// help.
	ErrRefused = failure.New(failure.Refused, "clone URL is refused")
	// ErrVanished means that there is no repository at the clone URL, or no longer one,
	// or none that these credentials may read.
	ErrVanished = failure.New(failure.Vanished, "repository is not there")
	// ErrUnauthorized means that the host does not accept the credentials.
	ErrUnauthorized = failure.New(failure.Unauthorized, "host refuses the credentials")
	// ErrUnreachable means that the host did not answer.
	ErrUnreachable = netguard.ErrUnreachable
	// ErrRefNotFound means that the ref does not exist in the repository.
	ErrRefNotFound = failure.New(failure.RefNotFound, "ref is not there")
	// ErrNoDefaultBranch means that HEAD is detached, or names a branch that does not
	// exist, and no other branch is an obvious choice.
	ErrNoDefaultBranch = failure.New(failure.NoDefaultBranch, "repository has no default branch")
	// ErrMissing means that the mirror lacks an object: the commit was never fetched, or
	// was pruned, or the repository is damaged.
	ErrMissing = failure.New(failure.Missing, "object is missing")
	// ErrTooLarge means that a mirror, an output or an object exceeds its bound.
	ErrTooLarge = failure.New(failure.TooLarge, "over the size limit")
	// ErrDiskFull means that the disk of the mirrors is full.
	ErrDiskFull = failure.New(failure.DiskFull, "disk is full")
	// ErrTimeout means that git exceeded its time limit.
	ErrTimeout = failure.New(failure.Timeout, "git took too long")
	// ErrPattern means that git cannot compile a regular expression; the error is a
	// *PatternError.
	ErrPattern = errors.New("not a regular expression")
	// ErrNoLine means that a file has fewer lines.
	ErrNoLine = errors.New("file has fewer lines")
	// ErrGit is any other failure of git.
	ErrGit = failure.New(failure.Git, "git failed")
)

// errNoMirror means that the mirror does not exist: it was never fetched, or was lost.
var errNoMirror = fmt.Errorf("there is no mirror: %w", ErrMissing)

// An ObjectError is an ErrMissing that names the object: the mirror lacks it, or it is
// damaged.
type ObjectError struct {
	// Name is the full name of the object in hexadecimal.
	Name string
	err  error
}

// A MovedError is an ErrRefused that names the clone URL to which the host redirects: on
// the same host, by the same scheme, and of a git repository. So the host says that the
// repository was renamed or moved.
type MovedError struct {
	// CloneURL is the new address, without credentials.
	CloneURL string
	err      error
}

func (e *MovedError) Error() string { return e.err.Error() }

// Unwrap implements the interface of errors.Unwrap.
func (e *MovedError) Unwrap() error { return e.err }

// newObjectError returns err as an ObjectError if name is the full name of an object.
func newObjectError(name string, err error) error {
	if _, invalid := ParseObjectID([]byte(name)); invalid != nil {
		return err
	}
	return &ObjectError{name, err}
}

func (e *ObjectError) Error() string { return e.err.Error() }

// Unwrap implements the interface of errors.Is.
func (e *ObjectError) Unwrap() []error { return []error{ErrMissing, e.err} }

// A PatternError names the regular expression of a LogQuery that git cannot
// compile.
type PatternError struct {
	// Author reports that the expression is LogQuery.Author, not Message.
	Author bool
	// Reason is the error message of the C library.
	Reason string
}

func (e *PatternError) Error() string { return ErrPattern.Error() + ": " + e.Reason }
func (e *PatternError) Unwrap() error { return ErrPattern }

// gitCauses maps git's messages, in the C locale, to our errors. The first match wins.
// The messages have been stable for many years, and one that changes only makes an error
// less precise (ErrGit, which is retried).
var gitCauses = []struct {
	text string
	err  error
}{
	{"No space left on device", ErrDiskFull},
	{"Disk quota exceeded", ErrDiskFull},
	// The message for a ref's lock file that is already open. Git drops the reason, and a
	// full disk is practically the only one left.
	{"couldn't write '", ErrDiskFull},
	{"couldn't find remote ref", ErrRefNotFound},
	{"Authentication failed", ErrUnauthorized},
	{"could not read Username", ErrUnauthorized},
	{"could not read Password", ErrUnauthorized},
	{"The requested URL returned error: 401", ErrUnauthorized},
	{"The requested URL returned error: 403", ErrUnauthorized},
	{"Permission denied (publickey", ErrUnauthorized},
	{"Host key verification failed", ErrUnauthorized},
	{"HTTP code 407 from proxy", ErrUnauthorized},
	{"CONNECT tunnel failed, response 407", ErrUnauthorized},
	{"server certificate verification failed", ErrUnreachable},
	{"SSL certificate problem", ErrUnreachable},
	{"unable to update url base from redirection", ErrRefused},
	{redirected, ErrRefused},
	{"transport '", ErrRefused},
	{"Could not resolve host", ErrUnreachable},
	{"Failed to connect", ErrUnreachable},
	{"Connection refused", ErrUnreachable},
	{"Connection timed out", ErrUnreachable},
	{"Connection reset", ErrUnreachable},
	{"Connection closed", ErrUnreachable},
	{"Empty reply from server", ErrUnreachable},
	{"Network is unreachable", ErrUnreachable},
	{"No route to host", ErrUnreachable},
	{"Operation timed out", ErrUnreachable},
	{"Operation too slow", ErrUnreachable},
	{"The requested URL returned error: 429", ErrUnreachable},
	{"The requested URL returned error: 5", ErrUnreachable},
	{"The requested URL returned error: 404", ErrVanished},
	{"does not appear to be a git repository", ErrVanished},
	{"not a git repository", ErrVanished},
	{"Repository not found", ErrVanished},
	{"repository '", ErrVanished}, // repository 'URL' not found
	// ssh prints this last, whatever the cause; it does not mean that an object cannot be
	// read.
	{"Could not read from remote repository", ErrUnreachable},
	{"bad object", ErrMissing},
	{"not a tree object", ErrMissing},
	{"Not a valid object name", ErrMissing},
	{"unable to read tree", ErrMissing},
	{"Could not read", ErrMissing},
	{"could not parse", ErrMissing},
	{"nonexistent object", ErrMissing},
}

// redirected is in git's error for a redirect, which it does not follow.
const redirected = "The requested URL returned error: 30"

// gitError converts the end of a git process into an error; its standard error determines
// the kind. A repository or its host controls that text, so it is masked and cut here,
// before it is wrapped.
func gitError(action, stderr string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("git %s: %w: %w", action, ErrDiskFull, err)
	}
	own := ownLines(stderr)
	if e := patternError(own); e != nil {
		return fmt.Errorf("git %s: %w", action, e)
	}
	// Mask the whole text first, since a key may span many lines, then cut it.
	said := failure.Quote(lastLines(failure.Mask(dropAdvice(stderr)), 3), failure.MaxDetailBytes)
	for _, c := range gitCauses {
		text := stderr
		if c.err == ErrDiskFull {
			text = own // otherwise a host that claims a full disk would stop the work for all repositories
		}
		if strings.Contains(text, c.text) {
			return fmt.Errorf("git %s: %w: %s", action, c.err, said)
		}
	}
	if said == "" {
		return fmt.Errorf("git %s: %w: %w", action, ErrGit, err)
	}
	return fmt.Errorf("git %s: %w: %w: %s", action, ErrGit, err, said)
}

// sshAdvice is printed by git after every failure of ssh. It would push the cause, which
// ssh printed before it, out of the lines that are kept.
const sshAdvice = "\nPlease make sure you have the correct access rights\nand the repository exists.\n"

func dropAdvice(stderr string) string { return strings.ReplaceAll(stderr, sshAdvice, "") }

// ownLines returns the lines of git's standard error that do not repeat output of the
// host.
func ownLines(stderr string) string {
	var own strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "remote:") && !strings.Contains(line, "remote error:") {
			own.WriteString(line)
		}
	}
	return own.String()
}

// Beginnings of git's error messages about a regular expression of LogQuery; the
// expression and the reason follow.
const (
	badMessagePattern = "fatal: command line, '"
	badAuthorPattern  = "fatal: header, '"
)

// patternError parses git's error message about a regular expression; it returns nil for
// other messages.
func patternError(stderr string) *PatternError {
	for line := range strings.Lines(stderr) {
		author := strings.HasPrefix(line, badAuthorPattern)
		if !author && !strings.HasPrefix(line, badMessagePattern) {
			continue
		}
		reason := line[strings.LastIndex(line, "': ")+1:] // the expression may contain the same text
		return &PatternError{Author: author, Reason: failure.Quote(strings.TrimSpace(strings.TrimPrefix(reason, ":")), maxPatternReason)}
	}
	return nil
}

// maxPatternReason bounds the reason of a PatternError; "Invalid content of \{\}" is
// about the longest.
const maxPatternReason = 100

// lastLines returns the last n non-empty lines of s, joined by "; ".
func lastLines(s string, n int) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// failureLabel returns the metric label for err: a code of schemas/failure.
func failureLabel(err error) string { return string(failure.CodeOf(err)) }
