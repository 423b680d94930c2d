package deliveries

import (
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// publishTimes holds the times when this process made its latest revisions searchable, in
// a ring and a map. They are not stored in rows, because they depend on this process and
// not on the log.
type publishTimes struct {
	mu struct {
		sync.Mutex
		at   map[event.Position]time.Time
		ring []event.Position
		next int
	}
}

func newPublishTimes() *publishTimes {
	p := new(publishTimes)
	p.mu.at = make(map[event.Position]time.Time)
	return p
}

func (p *publishTimes) add(revisions []event.Position, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, position := range revisions {
		if _, known := p.mu.at[position]; known {
			continue // by another version of the projections
		}
		if len(p.mu.ring) < MaxPublished {
			p.mu.ring = append(p.mu.ring, position)
		} else {
			delete(p.mu.at, p.mu.ring[p.mu.next])
			p.mu.ring[p.mu.next] = position
			p.mu.next = (p.mu.next + 1) % MaxPublished
		}
		p.mu.at[position] = at
	}
}

// get returns the time when this process published the revision, and reports whether it
// is known.
func (p *publishTimes) get(position event.Position) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.mu.at[position]
	return at, ok
}
