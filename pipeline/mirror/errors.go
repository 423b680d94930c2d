package mirror

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/quarrysearch/quarry/pipeline/netguard"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Errors of this package, wrapped with the repository and what git said. Each
// carries the code that callers see (schemas/failure).
var (
	// ErrRefused says that the policy does not let git see the clone URL. Trying
	// again does not help.
	ErrRefused = failure.New(failure.Refused, "clone URL is refused")
	// ErrVanished says that there is no repository at the clone URL (any more), or
	// none that these credentials may see.
	ErrVanished = failure.New(failure.Vanished, "repository is not there")
	// ErrUnauthorized says that the host wants other credentials.
	ErrUnauthorized = failure.New(failure.Unauthorized, "host refuses the credentials")
	// ErrUnreachable says that the host did not answer.
	ErrUnreachable = netguard.ErrUnreachable
	// ErrRefNotFound says that the ref does not exist in the repository.
	ErrRefNotFound = failure.New(failure.RefNotFound, "ref is not there")
	// ErrNoDefaultBranch says that HEAD is detached, or names a branch that does
	// not exist, and no other branch is an obvious choice.
	ErrNoDefaultBranch = failure.New(failure.NoDefaultBranch, "repository has no default branch")
	// ErrMissing says that the mirror lacks an object: the commit was never
	// fetched, or was pruned, or the repository is damaged.
	ErrMissing = failure.New(failure.Missing, "object is missing")
	// ErrTooLarge says that a mirror, an output or an object exceeds its bound.
	ErrTooLarge = failure.New(failure.TooLarge, "over the size limit")
	// ErrDiskFull says that the disk of the mirrors is full.
	ErrDiskFull = failure.New(failure.DiskFull, "disk is full")
	// ErrTimeout says that git took longer than it may.
	ErrTimeout = failure.New(failure.Timeout, "git took too long")
	// ErrPattern says that git cannot compile a regular expression; the error is a
	// *PatternError.
	ErrPattern = errors.New("not a regular expression")
	// ErrNoLine says that a file has fewer lines.
	ErrNoLine = errors.New("file has fewer lines")
	// ErrGit is any other failure of git.
	ErrGit = failure.New(failure.Git, "git failed")
)

// errNoMirror says that the mirror is not there: it was never fetched, or was lost.
var errNoMirror = fmt.Errorf("there is no mirror: %w", ErrMissing)

// A PatternError names the regular expression of a LogQuery that git cannot
// compile.
type PatternError struct {
	// Author says that it is LogQuery.Author, not Message.
	Author bool
	// Reason is what is wrong, in the words of the C library.
	Reason string
}

func (e *PatternError) Error() string { return ErrPattern.Error() + ": " + e.Reason }
func (e *PatternError) Unwrap() error { return ErrPattern }

// gitCauses maps what git says, in the C locale, to our errors. The first that
// fits wins; the texts have been stable for many years, and one that changes
// only makes an error less precise (ErrGit, which is retried).
var gitCauses = []struct {
	text string
	err  error
}{
	{"No space left on device", ErrDiskFull},
	{"Disk quota exceeded", ErrDiskFull},
	// Of a ref's lock file that is open already: git drops the reason, and hardly
	// another one is left.
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
	// What ssh says last, whatever it was: not that an object cannot be read.
	{"Could not read from remote repository", ErrUnreachable},
	{"bad object", ErrMissing},
	{"not a tree object", ErrMissing},
	{"Not a valid object name", ErrMissing},
	{"unable to read tree", ErrMissing},
	{"Could not read", ErrMissing},
	{"could not parse", ErrMissing},
	{"nonexistent object", ErrMissing},
}

// gitError turns the end of a git process into an error: what it printed on its
// standard error decides the kind. A repository, or its host, controls that text,
// so it is masked and cut here, before it is wrapped.
func gitError(action, stderr string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("git %s: %w: %w", action, ErrDiskFull, err)
	}
	own := ownLines(stderr)
	if e := patternError(own); e != nil {
		return fmt.Errorf("git %s: %w", action, e)
	}
	// Masked as a whole, since a key may have many lines, then cut.
	said := failure.Quote(lastLines(failure.Mask(dropAdvice(stderr)), 3), failure.MaxDetailBytes)
	for _, c := range gitCauses {
		text := stderr
		if c.err == ErrDiskFull {
			text = own // or one host that claims it would halt the work for all
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

// sshAdvice is what git prints after every failure of ssh. It would push the cause, which
// ssh printed before, out of the lines that are kept.
const sshAdvice = "\nPlease make sure you have the correct access rights\nand the repository exists.\n"

func dropAdvice(stderr string) string { return strings.ReplaceAll(stderr, sshAdvice, "") }

// ownLines returns the lines of git's standard error that do not repeat what the
// host said.
func ownLines(stderr string) string {
	var own strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "remote:") && !strings.Contains(line, "remote error:") {
			own.WriteString(line)
		}
	}
	return own.String()
}

// How git's complaint about a regular expression of LogQuery begins; the
// expression and what is wrong with it follow.
const (
	badMessagePattern = "fatal: command line, '"
	badAuthorPattern  = "fatal: header, '"
)

// patternError returns what git says of a regular expression; nil if it speaks of
// something else.
func patternError(stderr string) *PatternError {
	for line := range strings.Lines(stderr) {
		author := strings.HasPrefix(line, badAuthorPattern)
		if !author && !strings.HasPrefix(line, badMessagePattern) {
			continue
		}
		reason := line[strings.LastIndex(line, "': ")+1:] // the expression may hold the same
		return &PatternError{Author: author, Reason: failure.Quote(strings.TrimSpace(strings.TrimPrefix(reason, ":")), maxPatternReason)}
	}
	return nil
}

// maxPatternReason bounds the reason of a PatternError: "Invalid content of \{\}"
// is about the longest.
const maxPatternReason = 100

// lastLines returns at most n last non-empty lines of s, joined by "; ".
func lastLines(s string, n int) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// failureLabel returns the label of err in metrics: a code of schemas/failure.
func failureLabel(err error) string { return string(failure.CodeOf(err)) }
