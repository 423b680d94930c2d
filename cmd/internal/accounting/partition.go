package accounting

import (
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

type refKey struct {
	repository code.RepositoryID
	ref        code.Ref
}

// partition holds what was read from one partition. Only events of the same partition
// answer its pushes.
type partition struct {
	account *Account
	pushes  []Push
	// last is the latest cause of a revision of a ref, lastOf the latest cause of a
	// revision of any ref.
	last    map[refKey]event.Offset
	lastOf  map[code.RepositoryID]event.Offset
	handled map[event.Offset]bool
	ids     map[string]bool
}

func newPartition(a *Account) *partition {
	return &partition{
		account: a, last: map[refKey]event.Offset{}, lastOf: map[code.RepositoryID]event.Offset{},
		handled: map[event.Offset]bool{}, ids: map[string]bool{},
	}
}

func (p *partition) addRecord(r event.Record) {
	a := p.account
	a.Records++
	envelope, decoded, err := event.Decode(r)
	if err != nil {
		a.Unreadable = append(a.Unreadable, r.Position)
		return
	}
	again := p.ids[envelope.ID]
	p.ids[envelope.ID] = true
	switch ev := decoded.(type) {
	case *event.Push:
		if !again {
			a.Pushes++
			p.pushes = append(p.pushes, Push{r.Position, ev.Repository, ev.Ref, ev.DeliveryID})
		}
	case *event.RevisionIndexed:
		if again {
			a.Doubled++
			return
		}
		a.Revisions++
		p.recordCause(ev)
	case *event.PushesHandled:
		for _, h := range ev.Pushes {
			if !p.handled[h.Offset] {
				p.handled[h.Offset] = true
				a.Outcomes[h.Outcome]++
			}
		}
	}
}

func (p *partition) recordCause(ev *event.RevisionIndexed) {
	if ev.Cause.Topic != event.TopicEvents {
		return
	}
	k := refKey{ev.Repository, ev.Ref}
	p.last[k] = max(p.last[k], ev.Cause.Offset)
	p.lastOf[ev.Repository] = max(p.lastOf[ev.Repository], ev.Cause.Offset)
}

// assignOutcomes matches every push with the events after it.
func (p *partition) assignOutcomes() {
	a := p.account
	for _, push := range p.pushes {
		indexed := p.last[refKey{push.Repository, push.Ref}] >= push.Position.Offset && p.hasRevision(push)
		if push.Ref == "" {
			indexed = p.lastOf[push.Repository] >= push.Position.Offset
		}
		switch {
		case indexed:
			a.Indexed++
		case p.handled[push.Position.Offset]:
			a.Handled++
		case a.DeadOf[push.Position.String()] != "":
			a.Dead++
		default:
			a.Open = append(a.Open, push)
		}
	}
	slices.SortFunc(a.Open, func(x, y Push) int { return int(x.Position.Offset - y.Position.Offset) })
}

// hasRevision prevents a ref without a revision from counting as answered at offset 0.
func (p *partition) hasRevision(push Push) bool {
	_, ok := p.last[refKey{push.Repository, push.Ref}]
	return ok
}
