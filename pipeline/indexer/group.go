package indexer

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// pushGroup is a set of pushes of one repository that are handled as one: state wins, so
// each ref is fetched once and indexed as fetched.
type pushGroup struct {
	repo   code.RepositoryID
	pushes []push
	// refs are the refs of the pushes, in the order of their first push, and byRef
	// indexes them. The empty ref stands for all refs.
	refs  []*pushedRef
	byRef map[code.Ref]*pushedRef
}

// push is one push and its position.
type push struct {
	*event.Push
	at event.Position
}

// pushedRef holds the pushes of one ref and their outcome.
type pushedRef struct {
	ref    code.Ref
	pushes []push
	refOutcome
	// outcome is the reason why the ref was not announced.
	outcome event.PushOutcome
}

// groupPushes groups first, the first record, with the consecutive pushes of its
// repository that follow.
func groupPushes(first *event.Push, records []event.Record) *pushGroup {
	g := &pushGroup{repo: first.Repository, byRef: map[code.Ref]*pushedRef{}}
	g.add(push{first, records[0].Position})
	for i := 1; i < len(records) && len(g.pushes) < event.MaxHandledPushes && event.TypeOf(records[i]) == event.TypePush; i++ {
		_, ev, err := event.Decode(records[i])
		p, ok := ev.(*event.Push)
		if err != nil || !ok || p.Repository != g.repo {
			break // it is the first of the next group
		}
		g.add(push{p, records[i].Position})
	}
	return g
}

func (g *pushGroup) add(p push) {
	of := g.byRef[p.Ref]
	if of == nil {
		of = &pushedRef{ref: p.Ref}
		g.byRef[p.Ref] = of
		g.refs = append(g.refs, of)
	}
	of.pushes = append(of.pushes, p)
	g.pushes = append(g.pushes, p)
}

// causeOf returns the cause of an announcement of a ref: its pushes and those of all refs
// or, if there are none, all pushes of the group.
func (g *pushGroup) causeOf(ref code.Ref) cause {
	var c cause
	for _, of := range []*pushedRef{g.byRef[ref], g.byRef[""]} {
		if of != nil {
			c = c.withPushes(of.pushes)
		}
	}
	if c == (cause{}) {
		c = c.withPushes(g.pushes)
	}
	return c
}

// cause is the reason of an announcement: the position of the last event that led to it,
// and the time at which Quarry received the first.
type cause struct {
	position   event.Position
	receivedAt time.Time
	// delivery is the code host's ID of the last push, for log lines.
	delivery string
}

// sameCause returns a function that returns the same cause for every ref.
func sameCause(c cause) func(code.Ref) cause { return func(code.Ref) cause { return c } }

// withPushes returns the cause extended by pushes.
func (c cause) withPushes(pushes []push) cause {
	first, last := pushes[0].ReceivedAt, pushes[len(pushes)-1].at
	if c.receivedAt.IsZero() || first.Before(c.receivedAt) {
		c.receivedAt = first
	}
	if c.position == (event.Position{}) || last.Offset > c.position.Offset {
		c.position, c.delivery = last, pushes[len(pushes)-1].DeliveryID
	}
	return c
}

// cameTo reports whether every push of the ref reports that it moved to commit.
func (of *pushedRef) cameTo(commit code.CommitID) bool {
	for _, p := range of.pushes {
		if p.After != commit {
			return false
		}
	}
	return commit != ""
}

// wantsRefresh reports whether a push requests a new announcement of the ref.
func (of *pushedRef) wantsRefresh() bool {
	for _, p := range of.pushes {
		if p.Action == event.ActionRefresh {
			return true
		}
	}
	return false
}

// refreshRequested reports whether a push requests a new announcement of a ref.
func (g *pushGroup) refreshRequested(ref code.Ref) bool {
	of := g.byRef[ref]
	return ref != "" && of != nil && of.wantsRefresh()
}

// setOutcome records the outcome of the ref.
func (of *pushedRef) setOutcome(b refOutcome) {
	of.refOutcome, of.outcome = b, event.PushUnchanged
	if b.commit == "" {
		of.outcome = event.PushAbsent
	}
}

// handledEvent returns the outcomes of the pushes whose ref was not announced, neither
// now nor, according to answered, before.
func (g *pushGroup) handledEvent(answered func(code.Ref) event.Offset, now time.Time) *event.PushesHandled {
	ev := &event.PushesHandled{Repository: g.repo, At: now}
	for _, p := range g.pushes {
		of := g.byRef[p.Ref]
		if of.announced || answered(p.Ref) >= p.at.Offset {
			continue
		}
		ev.Pushes = append(ev.Pushes, event.HandledPush{Offset: p.at.Offset, Outcome: of.outcome, Commit: of.commit})
	}
	return ev
}
