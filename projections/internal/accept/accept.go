// Package accept has the rules by which projections apply events.
//
// It answers the question "does this event apply to the current state?", once for
// all projections: catalog and places have separate rows, and reach the same
// verdict because they both call it. All functions are pure.
//
// The rules compare states, not counts: an event that was appended twice, was
// overtaken or belongs to a removed repository changes nothing, and one whose base
// revision is missing is refused.
package accept

import (
	"net/url"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Ref is what a projection knows of a ref.
type Ref struct {
	// Commit is what the ref points to; empty if there is no such ref.
	Commit code.CommitID `json:"commit,omitempty"`
	// Cause is the cause of the last applied event, kept when the ref is gone.
	Cause event.Position `json:"cause,omitzero"`
}

// Verdict is what happens to a RevisionIndexed.
type Verdict string

// The verdicts. Their words are label values of metrics.
const (
	// Take: the event applies.
	Take Verdict = "take"
	// Duplicate: it was applied before, or overtaken by one with a later cause.
	Duplicate Verdict = "duplicate"
	// Unregistered: the repository is not there, or was registered after the
	// event's cause.
	Unregistered Verdict = "unregistered"
	// WrongBase: the revision that the changes are relative to is not the one
	// that is there. A Push with action refresh repairs it.
	WrongBase Verdict = "wrong_base"
)

// Revision judges ev. since is the position of the registration that brought
// the repository in, nil if it is not registered; ref is the state of ev.Ref and
// base that of ev.BaseRef.
func Revision(ev *event.RevisionIndexed, since *event.Position, ref, base Ref) Verdict {
	if since == nil || isBefore(ev.Cause, *since) {
		return Unregistered
	}
	if isBefore(ev.Cause, ref.Cause) || ev.Cause == ref.Cause && ev.Commit == ref.Commit {
		return Duplicate
	}
	if ev.Commit != "" && ev.BaseRef != "" && base.Commit != ev.BaseCommit {
		return WrongBase
	}
	return Take
}

// isBefore reports whether a is known to lie before b: positions of different
// partitions have no order.
func isBefore(a, b event.Position) bool {
	return a.Topic == b.Topic && a.Partition == b.Partition && a.Offset < b.Offset
}

// DefaultBranch returns the short name of the repository's default branch after
// ev: what the event says; where it says nothing what is known; and where
// nothing is, the first branch that was indexed.
func DefaultBranch(known string, ev *event.RevisionIndexed) string {
	if ev.DefaultBranch != "" {
		return ev.DefaultBranch
	}
	if known == "" && ev.Ref.IsBranch() && ev.Commit != "" {
		return ev.Ref.Short()
	}
	return known
}

// Collides reports whether b cannot be the repository a although both have the same
// ID, because two identities have one hash. A repository never changes its kind,
// and one event keeps at least one of its name, its path on the host and its host.
func Collides(a, b code.Repository) bool {
	if a.Kind != b.Kind {
		return true
	}
	hostA, pathA := splitURL(a.CloneURL)
	hostB, pathB := splitURL(b.CloneURL)
	return a.Name != b.Name && hostA != hostB && pathA != pathB
}

// splitURL returns host and path of a clone URL, in one of git's forms.
func splitURL(s string) (host, path string) {
	if u, err := url.Parse(s); err == nil && u.Scheme != "" {
		return strings.ToLower(u.Hostname()), strings.Trim(u.Path, "/")
	}
	if host, path, found := strings.Cut(s, ":"); found && !strings.Contains(host, "/") { // user@host:path
		_, name, found := strings.Cut(host, "@")
		if !found {
			name = host
		}
		return strings.ToLower(name), strings.Trim(path, "/")
	}
	return "", strings.Trim(s, "/")
}

// Merge returns the repository after an event that carries next. What the event
// does not know stays.
func Merge(known, next code.Repository) code.Repository {
	if next.DefaultBranch == "" {
		next.DefaultBranch = known.DefaultBranch
	}
	return next
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
