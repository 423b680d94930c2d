package projections

import (
	"context"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/schemas/event"
)

// GroupOffsets is what a Fence reads of a log.
type GroupOffsets interface {
	// HighWater returns, for each partition, the offset of the next record.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
	// Committed returns, for each partition, the next offset that a group reads.
	Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error)
}

// Fence says which events have had their whole effect: a worker has handled
// the event, and the projections show everything that the worker appended for
// it.
//
// The worker appends the events that follow from an event before it commits the
// event's offset. So when the group's committed offset is seen at c, everything
// that follows from the events below c is below the high-water mark h that is read
// after it; once the projections have published up to h, those events have had
// their effect. The pair (c, h) is the fence of a partition.
type Fence struct {
	log         GroupOffsets
	group       string
	checkpoints func() []Checkpoint

	mu struct {
		sync.Mutex
		partitions map[int32]*partitionFence
	}
}

// partitionFence is the state of one partition.
type partitionFence struct {
	done event.Offset // events below it have had their effect
	// committed and end are the fence that is waited for; committed is not above
	// done if there is none.
	committed, end event.Offset
}

// NewFence returns a fence for the consumer group of the workers. checkpoints are what
// searches see of each partition; nil before the start.
func NewFence(log GroupOffsets, group string, checkpoints func() []Checkpoint) *Fence {
	f := &Fence{log: log, group: group, checkpoints: checkpoints}
	f.mu.partitions = map[int32]*partitionFence{}
	return f
}

// AppliedOffset returns the offset below which the events of a partition have had
// their effect.
func (f *Fence) AppliedOffset(ctx context.Context, partition int32) (event.Offset, error) {
	// Committed first, high water second: see the type.
	committed, err := f.log.Committed(ctx, f.group, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("how far the workers are: %w", err)
	}
	ends, err := f.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("how far the log is: %w", err)
	}
	if int(partition) >= len(committed) || int(partition) >= len(ends) {
		return 0, fmt.Errorf("partition %d of %d", partition, len(ends))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.mu.partitions[partition]
	if p == nil {
		p = new(partitionFence)
		f.mu.partitions[partition] = p
	}
	p.advanceTo(committed[partition], ends[partition], publishedOffset(f.checkpoints(), partition))
	return p.done, nil
}

// advanceTo takes in what was seen just now. While a fence is waited for, no new
// one is set: under steady pushes a moving one would never be reached.
func (p *partitionFence) advanceTo(committed, end, published event.Offset) {
	if p.committed <= p.done && committed > p.done {
		p.committed, p.end = committed, end
	}
	if p.committed > p.done && published >= p.end {
		p.done = p.committed
	}
}

func publishedOffset(checkpoints []Checkpoint, partition int32) event.Offset {
	for _, c := range checkpoints {
		if c.Partition == partition {
			return c.Next
		}
	}
	return 0
}
