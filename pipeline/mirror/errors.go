package mirror

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Errors of this package, wrapped with the repository and what git said.
var (
	// ErrRefused says that the policy does not let git see the clone URL. Trying
	// again does not help.
	ErrRefused = errors.New("clone URL is refused")
	// ErrVanished says that there is no repository at the clone URL (any more), or
	// none that these credentials may see.
	ErrVanished = errors.New("repository is not there")
	// ErrUnauthorized says that the host wants other credentials.
	ErrUnauthorized = errors.New("host refuses the credentials")
	// ErrUnreachable says that the host did not answer.
	ErrUnreachable = errors.New("host cannot be reached")
	// ErrRefNotFound says that the ref does not exist in the repository.
	ErrRefNotFound = errors.New("ref is not there")
	// ErrNoDefaultBranch says that HEAD is detached, or names a branch that does
	// not exist, and no other branch stands out.
	ErrNoDefaultBranch = errors.New("repository has no default branch")
	// ErrMissing says that the mirror lacks an object: the commit was never
	// fetched, or was pruned, or the repository is damaged.
	ErrMissing = errors.New("object is missing")
	// ErrTooLarge says that a mirror, an output or an object exceeds its bound.
	ErrTooLarge = errors.New("over the size limit")
	// ErrDiskFull says that the disk of the mirrors is full.
	ErrDiskFull = errors.New("disk is full")
	// ErrTimeout says that git took longer than it may.
	ErrTimeout = errors.New("git took too long")
	// ErrGit is any other failure of git.
	ErrGit = errors.New("git failed")
)

// causes maps what git says, in the C locale, to our errors. The first that
// fits wins; the texts have been stable for many years, and one that changes
// only makes an error less precise (ErrGit, which is retried).
var causes = []struct {
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
	{"unable to update url base from redirection", ErrRefused},
	{"transport '", ErrRefused},
	{"Could not resolve host", ErrUnreachable},
	{"Failed to connect", ErrUnreachable},
	{"Connection refused", ErrUnreachable},
	{"Connection timed out", ErrUnreachable},
	{"Connection reset", ErrUnreachable},
	{"Connection closed", ErrUnreachable},
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

// gitError turns the end of a git process into an error: what it said on its
// standard error decides the kind.
func gitError(action, stderr string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("git %s: %w: %w", action, ErrDiskFull, err)
	}
	said := lastLines(stderr, 3)
	for _, c := range causes {
		if strings.Contains(stderr, c.text) {
			return fmt.Errorf("git %s: %w: %s", action, c.err, said)
		}
	}
	if said == "" {
		return fmt.Errorf("git %s: %w: %w", action, ErrGit, err)
	}
	return fmt.Errorf("git %s: %w: %w: %s", action, ErrGit, err, said)
}

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

// reason returns the label of err in metrics: a bounded set.
func reason(err error) string {
	for _, k := range []struct {
		err  error
		name string
	}{
		{ErrRefused, "refused"}, {ErrVanished, "vanished"}, {ErrUnauthorized, "unauthorized"}, {ErrUnreachable, "unreachable"},
		{ErrRefNotFound, "ref_not_found"}, {ErrNoDefaultBranch, "no_default_branch"}, {ErrMissing, "missing"},
		{ErrTooLarge, "too_large"}, {ErrDiskFull, "disk_full"}, {ErrTimeout, "timeout"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "other"
}
