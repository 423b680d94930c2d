package discovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxIssues bounds the issues of one sync that are kept; the rest are counted.
const maxIssues = 50

// Listing collects what a Lister finds. It must be used by one goroutine.
type Listing struct {
	c   *Connection
	max int
	// take is called for each repository that should be registered.
	take func(*Found) error

	seen map[code.RepositoryID]struct{}
	// incomplete means that repositories may be missing.
	incomplete bool
	// excluded counts repositories that the filter excluded.
	excluded int
	issues   []Issue
	dropped  int // issues beyond maxIssues
	err      error
}

func newListing(c *Connection, max int, take func(*Found) error) *Listing {
	return &Listing{c: c, max: max, take: take, seen: map[code.RepositoryID]struct{}{}}
}

// Add adds a repository that the host listed. Duplicates count once. It returns false if
// the Lister must stop.
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
	l.seen[r.ID] = struct{}{} // it exists, so it stays if it is registered
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

// Fail records that a target could not be listed. It returns false if the Lister must
// stop.
func (l *Listing) Fail(target string, err error) bool {
	l.Incomplete(NewIssue(target, err))
	return l.err == nil && !errors.Is(err, context.Canceled)
}

// EachTarget splits each target into n parts and calls list with both. A target in
// another form fails with want, which describes the form. It returns false if the Lister
// must stop.
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

// Incomplete records an issue after which repositories may be missing.
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

// ListWith lists a connection without a catalog, for quarry connections check. It returns
// the repositories that would be registered, at most so many, the issues, and whether the
// list is complete.
func ListWith(ctx context.Context, lister Lister, c Connection, most int) (found []Found, issues []Issue, complete bool, err error) {
	l := newListing(&c, most, func(f *Found) error {
		found = append(found, *f)
		return nil
	})
	if err = lister.List(ctx, l); err != nil {
		l.Incomplete(NewIssue("", err))
	}
	return found, l.issues, !l.incomplete, err
}
