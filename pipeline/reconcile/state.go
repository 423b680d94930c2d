package reconcile

import (
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// connection is the connection name of the pushes that this package appends, like that of
// a webhook. A webhook's connection may have the same name: the source of the event
// distinguishes them.
const connection = "reconcile"

// everyRef means all refs of a repository, as in a Push without a ref.
const everyRef code.Ref = ""

// repository is the state of a repository according to the log, and the schedule of its
// checks.
type repository struct {
	code.Repository
	// since is the offset of the record that added the repository.
	since event.Offset
	// head is the default branch last announced; empty before the first import.
	head code.Ref
	refs map[code.Ref]*ref

	partition *partition
	due       time.Time
	index     int // in the schedule
	// gone is set when the repository was removed, or its partition revoked.
	gone bool
	// suspects are the differences found by the last check.
	suspects map[code.Ref]suspect
	relooks  int
	failures int
	// unreachableHost is the host that did not answer the last check; empty if it
	// answered.
	unreachableHost string
	status          Status
}

// ref is the state of one ref, or of everyRef, according to the log.
type ref struct {
	// commit is the indexed commit; empty if there is none.
	commit code.CommitID
	cause  event.Offset
	// pushedNext is the offset after the last record that makes a worker index the ref.
	pushedNext event.Offset
	// last describes the last push of the ref.
	last lastPush
	// ownPushes counts the pushes appended by this package since the ref was last
	// indexed, the latest at lastOwnPushAt.
	ownPushes     int
	lastOwnPushAt time.Time
}

// lastPush describes the content of a push.
type lastPush struct {
	action event.Action
	after  code.CommitID
}

// isKnownDifference reports whether the log already has a push for this difference, from
// a webhook or from this package, so that no webhook was lost. That includes a repository
// without indexed refs: its registration requested their indexing.
func (k *repository) isKnownDifference(d difference, r *ref) bool {
	switch {
	case r.ownPushes > 0:
		return true
	case d.ref == everyRef:
		return len(k.indexedRefs()) == 0
	case d.action == event.ActionDeleted:
		return r.last.action == event.ActionDeleted
	}
	return r.last.after != "" && r.last.after == d.after
}

// suspect is a difference found once.
type suspect struct {
	at time.Time
	// next is the offset up to which the log had been read.
	next event.Offset
}

func newRepository(p *partition, r code.Repository, at event.Offset) *repository {
	return &repository{partition: p, Repository: r, since: at, refs: map[code.Ref]*ref{}, index: unscheduled}
}

// ensureRef returns the state of a ref, and creates it if necessary.
func (k *repository) ensureRef(name code.Ref) *ref {
	r := k.refs[name]
	if r == nil {
		r = &ref{}
		k.refs[name] = r
	}
	return r
}

// applyIndexed applies a RevisionIndexed, by the rules of the projections. It ignores
// pins, which the code host does not know.
func (k *repository) applyIndexed(ev *event.RevisionIndexed) {
	if ev.Ref.IsPin() {
		return
	}
	r := k.ensureRef(ev.Ref)
	if ev.Cause.Offset < k.since || ev.Cause.Offset < r.cause {
		return
	}
	r.commit, r.cause, r.ownPushes = ev.Commit, ev.Cause.Offset, 0
	if ev.DefaultBranch != "" {
		k.head = code.BranchRef(ev.DefaultBranch)
	}
	if every := k.ensureRef(everyRef); ev.Cause.Offset+1 >= every.pushedNext {
		every.ownPushes = 0
	}
}

// applyPush records a Push. It ignores pushes of branches that are not selected,
// because there may be many.
func (k *repository) applyPush(ev *event.Push, at event.Offset) {
	if ev.Ref != everyRef && k.refs[ev.Ref] == nil && !mirror.IsSelected(k.Repository, k.head, ev.Ref) {
		return
	}
	r := k.ensureRef(ev.Ref)
	r.pushedNext, r.last = at+1, lastPush{ev.Action, ev.After}
}

// countOwnPush records a push that this package appended.
func (k *repository) countOwnPush(name code.Ref, at time.Time) {
	if r := k.refs[name]; r != nil {
		r.ownPushes++
		r.lastOwnPushAt = at
	}
}

// indexedRefs returns the indexed refs and their commits.
func (k *repository) indexedRefs() map[code.Ref]code.CommitID {
	out := make(map[code.Ref]code.CommitID, len(k.refs))
	for name, r := range k.refs {
		if r.commit != "" {
			out[name] = r.commit
		}
	}
	return out
}

// partition is an assigned partition.
type partition struct {
	number       int32
	next         event.Offset
	repositories map[code.RepositoryID]*repository
	// target is the end of the log when the partition was assigned: checks begin
	// once it is reached.
	target event.Offset
	// waiting are the goroutines that wait for next to reach an offset.
	waiting []readWaiter
}

type readWaiter struct {
	next    event.Offset
	reached chan struct{}
}

func (p *partition) hasCaughtUp() bool { return p.next >= p.target }

// releaseWaiters wakes the waiters whose record was read.
func (p *partition) releaseWaiters() {
	kept := p.waiting[:0]
	for _, f := range p.waiting {
		if f.next <= p.next {
			close(f.reached)
		} else {
			kept = append(kept, f)
		}
	}
	p.waiting = kept
}
