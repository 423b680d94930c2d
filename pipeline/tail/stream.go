package tail

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrPosition means that a position is invalid.
var ErrPosition = errors.New("position is not valid")

// Options select the records to print.
type Options struct {
	// Partition is the only partition to read; eventlog.AnyPartition means all.
	Partition int32
	// From is the first offset of that partition.
	From event.Offset
	// Follow continues after the end of the log.
	Follow bool
	// Begins is called before the first record, for each partition whose records before first
	// were deleted from the log. Optional.
	Begins func(partition int32, first event.Offset)
}

// ParsePosition parses "topic/partition/offset" or "partition/offset" into options. An
// empty string means all partitions from their beginning.
func ParsePosition(s string) (Options, error) {
	if s == "" {
		return Options{Partition: eventlog.AnyPartition}, nil
	}
	rest := strings.TrimPrefix(s, string(event.TopicEvents)+"/")
	left, right, ok := strings.Cut(rest, "/")
	partition, err1 := strconv.ParseInt(left, 10, 32)
	offset, err2 := strconv.ParseInt(right, 10, 64)
	if !ok || err1 != nil || err2 != nil || partition < 0 || offset < 0 {
		return Options{}, fmt.Errorf("%w: %.80q: want partition/offset, such as 2/170, or a position as events tail prints it", ErrPosition, s)
	}
	return Options{Partition: int32(partition), From: event.Offset(offset)}, nil
}

// Stream calls emit for each record of the events topic that o selects. It makes one call
// at a time. It ends at the high-water mark at its start or, with Follow, when ctx ends.
func Stream(ctx context.Context, log eventlog.Log, o Options, emit func(event.Record) error) error {
	ends, err := log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return fmt.Errorf("events tail: %w", err)
	}
	sources, err := openSources(ctx, log, o, ends)
	defer func() {
		for _, s := range sources {
			_ = s.reader.Close() // opened only for reading
		}
	}()
	if err != nil {
		return err
	}
	if err := mergeSources(ctx, sources, emit); err != nil || !o.Follow {
		return err
	}
	return followSources(ctx, sources, emit)
}

// partitionSource reads one partition.
type partitionSource struct {
	reader eventlog.Reader
	next   event.Offset // the smallest possible offset of the next record
	end    event.Offset // the high-water mark at the start of the stream
	head   event.Record
	has    bool
}

func openSources(ctx context.Context, log eventlog.Log, o Options, ends []event.Offset) ([]*partitionSource, error) {
	if int(o.Partition) >= len(ends) {
		return nil, fmt.Errorf("%w: there is no partition %d; the log has %d, from 0 up", ErrPosition, o.Partition, len(ends))
	}
	var sources []*partitionSource
	for partition, end := range ends {
		from := event.Offset(0)
		if o.Partition != eventlog.AnyPartition {
			if int32(partition) != o.Partition {
				continue
			}
			from = o.From
		}
		reader, err := log.Tail(ctx, event.TopicEvents, int32(partition), from)
		if out := new(event.RangeError); errors.As(err, &out) && from < out.First {
			if from = out.First; o.Begins != nil {
				o.Begins(int32(partition), from)
			}
			reader, err = log.Tail(ctx, event.TopicEvents, int32(partition), from)
		}
		if err != nil {
			return sources, fmt.Errorf("events tail: partition %d: %w", partition, err)
		}
		sources = append(sources, &partitionSource{reader: reader, next: from, end: end})
	}
	return sources, nil
}

// readNext reads the next record below the end, if there is one.
func (s *partitionSource) readNext(ctx context.Context) error {
	if s.has || s.next >= s.end {
		return nil
	}
	rec, err := s.reader.Next(ctx)
	if err != nil {
		return err
	}
	s.head, s.has, s.next = rec, true, rec.Position.Offset+1
	return nil
}

// mergeSources emits the records below the ends, oldest first.
func mergeSources(ctx context.Context, sources []*partitionSource, emit func(event.Record) error) error {
	for {
		var oldest *partitionSource
		for _, s := range sources {
			if err := s.readNext(ctx); err != nil {
				return err
			}
			if s.has && (oldest == nil || s.head.Time.Before(oldest.head.Time)) {
				oldest = s
			}
		}
		if oldest == nil {
			return nil
		}
		oldest.has = false
		if err := emit(oldest.head); err != nil {
			return err
		}
	}
}

// followSources emits records as they arrive, until ctx ends.
func followSources(ctx context.Context, sources []*partitionSource, emit func(event.Record) error) error {
	records := make(chan event.Record) // unbuffered: the reader of the stream sets the pace
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range sources {
		group.Go(func() error {
			for {
				rec, err := s.reader.Next(ctx)
				if err != nil {
					return err
				}
				select {
				case records <- rec:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
	}
	group.Go(func() error {
		for {
			select {
			case rec := <-records:
				if err := emit(rec); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return group.Wait()
}
