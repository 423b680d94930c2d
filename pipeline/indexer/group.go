package indexer

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A pushGroup is pushes of one repository that are handled as one: state wins, so each
// ref is fetched once and indexed as it stands then.
type pushGroup struct {
	repo   code.RepositoryID
	pushes []push
	// refs are those of the pushes, in the order of their first; byRef finds them.
	// The empty ref means all refs.
	refs  []*pushedRef
	byRef map[code.Ref]*pushedRef
}

// push is one push and its position.
type push struct {
	*event.Push
	at event.Position
}

// pushedRef is the pushes of one ref, and what happened to them.
type pushedRef struct {
	ref    code.Ref
	pushes []push
	refOutcome
	// outcome is why there was no news.
	outcome event.PushOutcome
}

// groupPushes makes a group of first, which is the first record, and of the pushes of
// its repository that follow at once.
func groupPushes(first *event.Push, records []event.Record) *pushGroup {
	g := &pushGroup{repo: first.Repository, byRef: map[code.Ref]*pushedRef{}}
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

// causeOf returns the cause of an announcement of a ref: its pushes and those of all
// refs or, if there are none, all pushes of the group.
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

// cause is what led to an announcement: the last event that is handled with it, and
// when the first reached Quarry.
type cause struct {
	position   event.Position
	receivedAt time.Time
	// delivery is what the code host calls the last push, for the log of the process.
	delivery string
}

// sameCause returns a function that gives every ref one cause.
func sameCause(c cause) func(code.Ref) cause { return func(code.Ref) cause { return c } }

// withPushes returns the cause with more pushes.
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

// cameTo reports whether every push of the ref says that it came to commit.
func (of *pushedRef) cameTo(commit code.CommitID) bool {
	for _, p := range of.pushes {
		if p.After != commit {
			return false
		}
	}
	return commit != ""
}

// wantsRefresh reports whether a push asks for the ref to be announced again.
func (of *pushedRef) wantsRefresh() bool {
	for _, p := range of.pushes {
		if p.Action == event.ActionRefresh {
			return true
		}
	}
	return false
}

// refreshRequested reports whether a push requests to announce a ref again.
func (g *pushGroup) refreshRequested(ref code.Ref) bool {
	of := g.byRef[ref]
	return ref != "" && of != nil && of.wantsRefresh()
}

// setOutcome notes what happened to the ref.
func (of *pushedRef) setOutcome(b refOutcome) {
	of.refOutcome, of.outcome = b, event.PushUnchanged
	if b.commit == "" {
		of.outcome = event.PushAbsent
	}
}

// handledEvent returns the outcomes of the pushes whose ref was announced neither now
// nor, according to answered, before.
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
