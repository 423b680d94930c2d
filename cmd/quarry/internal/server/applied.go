package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// applied says which events have had their whole effect: a worker has handled
// the event, and the projections show everything that the worker appended for
// it.
//
// The worker appends the events that follow from an event before it commits the
// event's offset. So when the group's committed offset is seen at c, everything
// that follows from the events below c is below the high-water mark h that is read
// after it; once the projections have published up to h, those events have had
// their effect. The pair (c, h) is a fence.
type appliedTracker struct {
	log eventlog.Log
	// group is the consumer group of the workers.
	group string
	// checkpoints are what searches see of each partition; nil before the start.
	checkpoints func() []projections.Checkpoint

	mu struct {
		sync.Mutex
		partitions map[int32]*fence
	}
}

// fence is the state of one partition.
type fence struct {
	done event.Offset // events below it have had their effect
	// committed and end are the fence that is waited for; committed is not above
	// done if there is none.
	committed, end event.Offset
}

func newAppliedTracker(log eventlog.Log, group string, checkpoints func() []projections.Checkpoint) *appliedTracker {
	a := &appliedTracker{log: log, group: group, checkpoints: checkpoints}
	a.mu.partitions = map[int32]*fence{}
	return a
}

// appliedOffset returns the offset below which the events of a partition have had
// their effect.
func (a *appliedTracker) appliedOffset(ctx context.Context, partition int32) (event.Offset, error) {
	// Committed first, high water second: see the type.
	committed, err := a.log.Committed(ctx, a.group, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("how far the workers are: %w", err)
	}
	ends, err := a.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("how far the log is: %w", err)
	}
	if int(partition) >= len(committed) || int(partition) >= len(ends) {
		return 0, fmt.Errorf("partition %d of %d", partition, len(ends))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.mu.partitions[partition]
	if f == nil {
		f = new(fence)
		a.mu.partitions[partition] = f
	}
	f.advanceTo(committed[partition], ends[partition], publishedOffset(a.checkpoints(), partition))
	return f.done, nil
}

// advanceTo takes in what was seen just now. While a fence is waited for, no new
// one is set: under steady pushes a moving one would never be reached.
func (f *fence) advanceTo(committed, end, published event.Offset) {
	if f.committed <= f.done && committed > f.done {
		f.committed, f.end = committed, end
	}
	if f.committed > f.done && published >= f.end {
		f.done = f.committed
	}
}

func publishedOffset(checkpoints []projections.Checkpoint, partition int32) event.Offset {
	for _, c := range checkpoints {
		if c.Partition == partition {
			return c.Next
		}
	}
	return 0
}
