package embeddedlog

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/schemas/event"
)

// partition tracks the end of a partition and the readers that wait for more.
type partition struct {
	topic  event.Topic
	number int32
	prefix []byte
	// next is the offset of the next record; only the writer uses it. It is ahead of end
	// while a batch is being synced.
	next event.Offset
	// trimming is held during a Trim; only one runs at a time.
	trimming sync.Mutex
	mu       struct {
		sync.Mutex
		// first is the offset of the first record that is kept.
		first event.Offset
		end   event.Offset
		// grown is closed and replaced when end rises.
		grown chan struct{}
	}
}

// loadPartition reads the first and next offsets of a partition. The next offset is one
// above the last key; after a trim there may be no key.
func (l *Log) loadPartition(name event.Topic, number int32) (*partition, error) {
	p := &partition{topic: name, number: number, prefix: partitionPrefix(name, number)}
	p.mu.grown = make(chan struct{})
	first, err := l.loadOffset(beginKey(name, number))
	if err != nil {
		return nil, fmt.Errorf("find the beginning of %s/%d: %w", name, number, l.explainDamage(err))
	}
	p.mu.first, p.next = first, first
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: p.prefix, UpperBound: partitionPrefix(name, number+1)})
	if err != nil {
		return nil, fmt.Errorf("find the end of %s/%d: %w", name, number, l.explainDamage(err))
	}
	if it.Last() {
		p.next = offsetOf(it.Key()) + 1
	}
	p.mu.end = p.next
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("find the end of %s/%d: %w", name, number, l.explainDamage(err))
	}
	return p, nil
}

// endOffset returns the offset after the last durable record, and a channel that is
// closed when it rises.
func (p *partition) endOffset() (event.Offset, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.end, p.mu.grown
}

// offsetRange returns the first offset that is kept, and the offset after the last
// durable record.
func (p *partition) offsetRange() (first, end event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.first, p.mu.end
}

// publishEnd makes written records visible to readers, and wakes the waiting ones. It
// does nothing if the partition got no record.
func (p *partition) publishEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.end == p.next {
		return
	}
	p.mu.end = p.next
	close(p.mu.grown)
	p.mu.grown = make(chan struct{})
}

// rewindNext takes back the offsets of a batch that failed.
func (p *partition) rewindNext() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = p.mu.end
}
