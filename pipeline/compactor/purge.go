package compactor

import (
	"context"
	"sync"
	"time"
)

// purge returns segments to rewrite so that dead text leaves the disk: those with text
// of a removal before a time or, if all is set, all that have dead documents. They are
// the oldest that fit into one.
func (p Policy) purge(segments []*entry, before time.Time, all bool) []*entry {
	var inputs []*entry
	text := int64(0)
	for _, e := range segments {
		if !e.isDue(before, all) || e.lost || e.stuck {
			continue
		}
		if len(inputs) > 0 && (e.full || inputs[0].full || len(inputs) == MaxInputs || text+e.ref.TextBytes > p.MaxTextBytes) {
			continue
		}
		inputs = append(inputs, e)
		text += e.ref.TextBytes
	}
	return inputs
}

// isDue reports whether a segment is to be rewritten for its dead documents.
func (e *entry) isDue(before time.Time, all bool) bool {
	return e.dead > 0 && (all || !e.removedAt.IsZero() && !e.removedAt.After(before))
}

// purges are the requests to rewrite everything that has dead documents.
type purges struct {
	mu struct {
		sync.Mutex
		count int
		// next is closed by the next request.
		next chan struct{}
	}
}

func newPurges() *purges {
	p := &purges{}
	p.mu.next = make(chan struct{})
	return p
}

// Purge asks for every segment with dead documents to be rewritten now, in the
// partitions that this process holds. It does not wait for that.
func (c *Compactor) Purge() {
	c.purges.mu.Lock()
	defer c.purges.mu.Unlock()
	c.purges.mu.count++
	close(c.purges.mu.next)
	c.purges.mu.next = make(chan struct{})
}

// state returns how many requests there were, and what the next one closes.
func (p *purges) state() (count int, next <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.count, p.mu.next
}

// endAtRequest returns a context that also ends with the next request for a purge; one
// that came since consider looked has ended it already.
func (f *follower) endAtRequest(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	count, next := f.c.purges.state()
	if count != f.requested {
		cancel()
		return ctx, cancel
	}
	go func() {
		select {
		case <-next:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// choosePurge returns the merge that is due for dead text, if there is one.
func (f *follower) choosePurge() plan {
	var before time.Time
	if f.c.o.PurgeAfter > 0 {
		before = f.c.o.Now().Add(-f.c.o.PurgeAfter / 2)
	}
	return plan{f.c.o.Policy.purge(f.state.segments, before, f.purged != f.requested), reasonPurge}
}
