// Package accept defines the rules by which projections apply events.
//
// It answers the question "does this event apply to the current state?", once for all
// projections: catalog and places store separate rows, and reach the same verdict because
// both call it. All functions are pure.
//
// The rules compare states, not counts: an event that was appended twice, was overtaken
// or belongs to a removed repository has no effect, and one whose base revision is
// missing is rejected.
package accept

import (
	"net/url"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Ref is the state of a ref in a projection.
type Ref struct {
	// Commit is the commit that the ref points to; empty if there is no such ref.
	Commit code.CommitID `json:"commit,omitempty"`
	// Cause is the cause of the last applied event; it is kept after the ref is deleted.
	Cause event.Position `json:"cause,omitzero"`
}

// Verdict is the decision on a RevisionIndexed.
type Verdict string

// The verdicts. They are used as metric label values.
const (
	// Take means that the event applies.
	Take Verdict = "take"
	// Duplicate means that the event was applied before, or overtaken by one with a later
	// cause.
	Duplicate Verdict = "duplicate"
	// Unregistered means that the repository is not registered, or was registered after
	// the event's cause.
	Unregistered Verdict = "unregistered"
	// WrongBase means that the changes are relative to another revision than the current
	// one. A Push with action refresh repairs that.
	WrongBase Verdict = "wrong_base"
)

// Revision returns the verdict on ev. since is the position of the repository's
// registration, nil if it is not registered; ref is the state of ev.Ref and base that of
// ev.BaseRef.
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

// isBefore reports whether a is known to precede b. Positions of different partitions are
// not ordered.
func isBefore(a, b event.Position) bool {
	return a.Topic == b.Topic && a.Partition == b.Partition && a.Offset < b.Offset
}

// DefaultBranch returns the short name of the repository's default branch after ev: the
// one in the event, otherwise the known one, otherwise the first branch that was indexed.
func DefaultBranch(known string, ev *event.RevisionIndexed) string {
	if ev.DefaultBranch != "" {
		return ev.DefaultBranch
	}
	if known == "" && ev.Ref.IsBranch() && ev.Commit != "" {
		return ev.Ref.Short()
	}
	return known
}

// Collides reports whether b cannot be the repository a although both have the same ID,
// because two identities have the same hash. A repository never changes its kind, and one
// event preserves at least one of its name, its path on the host and its host.
func Collides(a, b code.Repository) bool {
	if a.Kind != b.Kind {
		return true
	}
	hostA, pathA := splitURL(a.CloneURL)
	hostB, pathB := splitURL(b.CloneURL)
	return a.Name != b.Name && hostA != hostB && pathA != pathB
}

// splitURL returns the host and path of a clone URL in any of git's forms.
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

// Merge returns the repository after an event that carries next. Fields that are unknown
// to the event keep their values.
func Merge(known, next code.Repository) code.Repository {
	if next.DefaultBranch == "" {
		next.DefaultBranch = known.DefaultBranch
	}
	return next
}

// Visibility returns next with its visibility after an event at the given position that
// carries it, and the private mark of the repository after the event. mark is the private
// mark before the event, known the repository; seen is the PrivateMark of the event. An
// event that makes a private repository public is ignored in this respect if the mark has
// changed since its writer saw it.
func Visibility(known, next code.Repository, mark event.Offset, seen *event.Offset, at event.Position) (code.Repository, event.Offset) {
	if !next.Private && known.Private && seen != nil && *seen != mark {
		next.Private = true
		return next, mark
	}
	if next.Private {
		mark = at.Offset + 1
	}
	return next, mark
}

// Push reports whether a push makes the repository private: its delivery said so, and the
// repository belongs to the connection of the delivery, or to none.
func Push(ev *event.Push, known code.Repository) bool {
	return ev.Private && (known.Connection == "" || known.Connection == ev.Connection)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
