package discovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxIssues bounds the issues that are kept of one sync; the others are counted.
const maxIssues = 50

// Listing takes what a Lister finds. It is used by one goroutine.
type Listing struct {
	c   *Connection
	max int
	// take is called for each repository that is to be registered.
	take func(*Found) error

	seen map[code.RepositoryID]struct{}
	// incomplete says that something may be missing.
	incomplete bool
	// excluded counts repositories that the filter left out.
	excluded int
	issues   []Issue
	dropped  int // issues beyond maxIssues
	err      error
}

func newListing(c *Connection, max int, take func(*Found) error) *Listing {
	return &Listing{c: c, max: max, take: take, seen: map[code.RepositoryID]struct{}{}}
}

// Add takes a repository that the host listed. One that is listed twice counts once. It
// returns false if the Lister must stop.
func (l *Listing) Add(r *Found) bool {
	if l.err != nil {
		return false
	}
	if _, again := l.seen[r.ID]; again {
		return true
	}
	if !l.c.Targets.selectsTopics(r) || l.c.Exclude.Excludes(r) {
		l.excluded++
		return true
	}
	if len(l.seen) >= l.max {
		l.Incomplete(Issue{Code: TooManyFound, Detail: fmt.Sprintf("more than %d", l.max)})
		return false
	}
	l.seen[r.ID] = struct{}{} // it is there, so it stays if it is registered
	err := r.Invalid
	if err == nil {
		err = l.take(r)
	}
	switch {
	case err == nil:
	case err == r.Invalid, errors.Is(err, event.ErrInvalid), errors.Is(err, errNotAdmitted):
		issue := NewIssue(r.Path, err)
		issue.Code = InvalidRepository
		l.addIssue(issue)
	default:
		l.err = err
	}
	return l.err == nil
}

// Fail notes that a target could not be listed. It returns false if the Lister must
// stop.
func (l *Listing) Fail(target string, err error) bool {
	l.Incomplete(NewIssue(target, err))
	return l.err == nil && !errors.Is(err, context.Canceled)
}

// EachTarget takes each target apart into n parts, and calls list with both. One that is not
// made so fails with want, which says how. It returns false if the Lister must stop.
func (l *Listing) EachTarget(targets []string, n int, want string, list func(target string, parts []string) bool) bool {
	for _, target := range targets {
		parts, ok := SplitTarget(target, n)
		if ok {
			ok = list(target, parts)
		} else {
			ok = l.Fail(target, NewTargetError(want))
		}
		if !ok {
			return false
		}
	}
	return true
}

// Incomplete notes an issue after which repositories may be missing.
func (l *Listing) Incomplete(i Issue) {
	l.incomplete = true
	l.addIssue(i)
}

func (l *Listing) addIssue(i Issue) {
	if len(l.issues) >= maxIssues {
		l.dropped++
		return
	}
	l.issues = append(l.issues, i)
}

// ListWith lists a connection without a catalog, for quarry connections check: what would
// be registered, what went wrong, and whether nothing can be missing.
func ListWith(ctx context.Context, lister Lister, c Connection) (found []Found, issues []Issue, complete bool, err error) {
	l := newListing(&c, DefaultMaxRepositories, func(f *Found) error {
		found = append(found, *f)
		return nil
	})
	if err = lister.List(ctx, l); err != nil {
		l.Incomplete(NewIssue("", err))
	}
	return found, l.issues, !l.incomplete, err
}
