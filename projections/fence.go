package projections

import (
	"context"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// GroupOffsets is the part of a log that a Fence reads.
type GroupOffsets interface {
	// HighWater returns, for each partition, the offset of the next record.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
	// Committed returns, for each partition, the next offset that a group reads.
	Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error)
}

// Fence determines which events have taken full effect: a worker has handled the event,
// and the projections show everything that the worker appended for it.
//
// The worker appends the events that result from an event before it commits the event's
// offset. So if the group's committed offset is c, everything that results from the
// events below c is below the high-water mark h that is read after c. Once the
// projections have published up to h, those events have taken effect. The pair (c, h) is
// the fence of a partition.
type Fence struct {
	log         GroupOffsets
	group       string
	checkpoints func() []Checkpoint

	mu struct {
		sync.Mutex
		partitions   map[int32]*partitionFence
		repositories map[code.RepositoryID]*partitionFence
	}
}

// maxRepositoryFences bounds the fences of single repositories. Beyond it, they are
// dropped; each is set again when it is needed.
const maxRepositoryFences = 1000

// partitionFence is the state of one partition, or of one repository in it.
type partitionFence struct {
	done event.Offset // events below it have taken effect
	// committed and end are the pending fence. If there is none, committed is not above
	// done.
	committed, end event.Offset
}

// NewFence returns a fence for the consumer group of the workers. checkpoints returns the
// state of each partition that searches see, or nil before the start.
func NewFence(log GroupOffsets, group string, checkpoints func() []Checkpoint) *Fence {
	f := &Fence{log: log, group: group, checkpoints: checkpoints}
	f.mu.partitions, f.mu.repositories = map[int32]*partitionFence{}, map[code.RepositoryID]*partitionFence{}
	return f
}

// AppliedOffsetOf returns the offset below which the events of one repository have taken
// effect. done is the offset in its partition below which a worker has handled them, read
// before the call. Events of other repositories do not delay it.
func (f *Fence) AppliedOffsetOf(ctx context.Context, partition int32, id code.RepositoryID, done event.Offset) (event.Offset, error) {
	all, err := f.AppliedOffset(ctx, partition)
	if err != nil || done <= all {
		return all, err
	}
	ends, err := f.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("read the high-water mark of the log: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.mu.repositories[id]
	if p == nil {
		if len(f.mu.repositories) >= maxRepositoryFences {
			clear(f.mu.repositories)
		}
		p = new(partitionFence)
		f.mu.repositories[id] = p
	}
	p.advanceTo(done, ends[partition], publishedOffset(f.checkpoints(), partition))
	return max(all, p.done), nil
}

// AppliedOffset returns the offset below which the events of a partition have taken
// effect.
func (f *Fence) AppliedOffset(ctx context.Context, partition int32) (event.Offset, error) {
	// Read the committed offset before the high-water mark; see Fence.
	committed, err := f.log.Committed(ctx, f.group, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("read the offsets of the workers: %w", err)
	}
	ends, err := f.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("read the high-water mark of the log: %w", err)
	}
	if int(partition) >= len(committed) || int(partition) >= len(ends) {
		return 0, fmt.Errorf("there is no partition %d: the log has %d", partition, len(ends))
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

// advanceTo updates the state with the latest offsets. While a fence is pending, it sets
// no new one: under a steady stream of pushes, a moving fence would never be reached.
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
