package indexer

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A group is pushes of one repository that are handled as one: state wins, so each
// ref is fetched once and indexed as it stands then.
type group struct {
	repo   code.RepositoryID
	pushes []push
	// refs are those of the pushes, in the order of their first; byRef finds them.
	// The empty ref stands for all.
	refs  []*pushedRef
	byRef map[code.Ref]*pushedRef
}

// push is one push and its position.
type push struct {
	*event.Push
	at event.Position
}

// pushedRef is the pushes of one ref, and what became of them.
type pushedRef struct {
	ref    code.Ref
	pushes []push
	became
	// outcome is why there was no news.
	outcome event.PushOutcome
}

// gather makes a group of first, which is the first record, and of the pushes of
// its repository that follow at once.
func gather(first *event.Push, records []event.Record) *group {
	g := &group{repo: first.Repository, byRef: map[code.Ref]*pushedRef{}}
	g.add(push{first, records[0].Position})
	for i := 1; i < len(records) && len(g.pushes) < event.MaxHandledPushes && event.TypeOf(records[i]) == event.TypePush; i++ {
		_, ev, err := event.Decode(records[i])
		p, ok := ev.(*event.Push)
		if err != nil || !ok || p.Repository != g.repo {
			break // it comes first the next time
		}
		g.add(push{p, records[i].Position})
	}
	return g
}

func (g *group) add(p push) {
	of := g.byRef[p.Ref]
	if of == nil {
		of = &pushedRef{ref: p.Ref}
		g.byRef[p.Ref] = of
		g.refs = append(g.refs, of)
	}
	of.pushes = append(of.pushes, p)
	g.pushes = append(g.pushes, p)
}

// cause returns what leads to news of a ref: its pushes and those of all refs, or,
// without either, all of the group.
func (g *group) cause(ref code.Ref) cause {
	var c cause
	for _, of := range []*pushedRef{g.byRef[ref], g.byRef[""]} {
		if of != nil {
			c = c.with(of.pushes)
		}
	}
	if c == (cause{}) {
		c = c.with(g.pushes)
	}
	return c
}

// with returns the cause with more pushes.
func (c cause) with(pushes []push) cause {
	first, last := pushes[0].ReceivedAt, pushes[len(pushes)-1].at
	if c.was.IsZero() || first.Before(c.was) {
		c.was = first
	}
	if c.at == (event.Position{}) || last.Offset > c.at.Offset {
		c.at, c.delivery = last, pushes[len(pushes)-1].DeliveryID
	}
	return c
}

// cameTo reports whether every push of the ref says that it came to commit.
func (of *pushedRef) cameTo(commit code.CommitID) bool {
	for _, p := range of.pushes {
		if p.After != commit {
			return false
		}
	}
	return commit != ""
}

// refreshed reports whether a push asks for the ref to be told anew.
func (of *pushedRef) refreshed() bool {
	for _, p := range of.pushes {
		if p.Action == event.ActionRefresh {
			return true
		}
	}
	return false
}

// refreshes reports whether a push asks for a ref to be announced again.
func (g *group) refreshes(ref code.Ref) bool {
	of := g.byRef[ref]
	return ref != "" && of != nil && of.refreshed()
}

// found notes what became of the ref.
func (of *pushedRef) found(b became) {
	of.became, of.outcome = b, event.PushUnchanged
	if b.commit == "" {
		of.outcome = event.PushAbsent
	}
}

// handled returns what there is to say of the pushes: those that led to no news of
// their ref, now or, by what answered has of it, before.
func (g *group) handled(answered func(code.Ref) event.Offset, now time.Time) *event.PushesHandled {
	ev := &event.PushesHandled{Repository: g.repo, At: now}
	for _, p := range g.pushes {
		of := g.byRef[p.Ref]
		if of.told || answered(p.Ref) >= p.at.Offset {
			continue
		}
		ev.Pushes = append(ev.Pushes, event.HandledPush{Offset: p.at.Offset, Outcome: of.outcome, Commit: of.commit})
	}
	return ev
}
