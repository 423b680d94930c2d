package embeddedlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/internal/gather"
	"github.com/quarrysearch/quarry/schemas/event"
)

// pendingAppend is one call of Append that waits to be written.
type pendingAppend struct {
	items     []appendItem
	bytes     int
	keepTimes bool
	positions []event.Position // set by the writer
}

type appendItem struct {
	partition *partition
	record    *event.Record
}

// Append implements eventlog.Log. The records of one call become durable
// together or not at all.
func (l *Log) Append(ctx context.Context, name event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	records, span := eventlog.StartAppend(ctx, name, records)
	positions, err := l.append(ctx, name, partition, records, false)
	span.End(err)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", name, err)
	}
	return positions, nil
}

// Import implements eventlog.Importer.
func (l *Log) Import(ctx context.Context, name event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	positions, err := l.append(ctx, name, partition, records, true)
	if err != nil {
		return nil, fmt.Errorf("import to %s: %w", name, err)
	}
	return positions, nil
}

func (l *Log) append(ctx context.Context, name event.Topic, number int32, records []event.Record, keepTimes bool) ([]event.Position, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := l.ensureTopic(name)
	if err != nil {
		return nil, err
	}
	a, err := l.routeRecords(t, number, records)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	a.keepTimes = keepTimes
	if err := l.checkSpace(name, records); err != nil {
		l.metrics.refused.WithLabelValues(refusedDiskFull).Inc()
		return nil, err
	}
	do := l.queue.Do
	if eventlog.IsUrgent(ctx) {
		do = l.queue.DoUrgent
	}
	switch err := do(ctx, a, a.bytes); {
	case errors.Is(err, gather.ErrClosed):
		return nil, eventlog.ErrClosed
	case errors.Is(err, gather.ErrFull):
		l.metrics.refused.WithLabelValues(refusedQueueFull).Inc()
		return nil, fmt.Errorf("%w: %d bytes wait for the disk already", eventlog.ErrFull, l.opts.MaxWaitingBytes)
	case err != nil:
		return nil, err
	}
	return a.positions, nil
}

// routeRecords validates the records and determines the partition of each.
func (l *Log) routeRecords(t *topic, number int32, records []event.Record) (*pendingAppend, error) {
	n := int32(len(t.partitions))
	if err := eventlog.CheckPartition(number, n, true); err != nil {
		return nil, err
	}
	a := &pendingAppend{items: make([]appendItem, len(records))}
	for i := range records {
		rec := &records[i]
		if err := eventlog.CheckRecord(rec); err != nil {
			l.metrics.refused.WithLabelValues(refusedTooLarge).Inc()
			return nil, err
		}
		to := number
		if to == eventlog.AnyPartition {
			to = eventlog.PartitionOf(rec.Key, n)
		}
		a.items[i] = appendItem{t.partitions[to], rec}
		a.bytes += rec.SizeBytes()
	}
	return a, nil
}

// write makes a batch durable and then visible to readers. The queue calls it from one
// goroutine at a time, and Close waits for it.
func (l *Log) write(batch []*pendingAppend) error {
	began := time.Now()
	// The precision of Kafka, so that a copy there has the same times.
	now := began.Truncate(time.Millisecond)
	b := l.db.NewBatch()
	defer b.Close()
	touched := make(map[*partition]struct{})
	count, bytes := 0, 0
	for _, a := range batch {
		a.positions = make([]event.Position, len(a.items))
		for i, item := range a.items {
			p := item.partition
			touched[p] = struct{}{}
			a.positions[i] = event.Position{Topic: p.topic, Partition: p.number, Offset: p.next}
			at := now
			if a.keepTimes {
				at = item.record.Time
			}
			// Set copies and cannot fail on a batch without index.
			_ = b.Set(appendOffset(p.prefix, p.next), encodeFrame(item.record, at), nil)
			p.next++
		}
		count += len(a.items)
		bytes += a.bytes
	}
	if err := b.Commit(pebble.Sync); err != nil {
		for p := range touched {
			p.rewindNext()
		}
		return fmt.Errorf("write %d records: %w", count, err)
	}
	for p := range touched {
		p.publishEnd()
	}
	l.metrics.syncSeconds.Observe(time.Since(began).Seconds())
	l.metrics.appendedRecords.Add(float64(count))
	l.metrics.appendedBytes.Add(float64(bytes))
	return nil
}

// checkSpace returns ErrFull while the disk has too little space for records of a topic;
// see doc.go. If the file system does not report its free space, it counts as having
// enough.
func (l *Log) checkSpace(topic event.Topic, records []event.Record) error {
	usage, err := l.opts.fs.GetDiskUsage(l.dir)
	least := l.minFreeBytes(topic, records)
	if err != nil || usage.AvailBytes >= least {
		return nil
	}
	return fmt.Errorf("%w: the disk of the log has %d MiB left, and %d MiB are needed; free some space", eventlog.ErrFull, usage.AvailBytes>>20, least>>20)
}

// minFreeBytes returns the free space below which records of a topic are refused.
func (l *Log) minFreeBytes(topic event.Topic, records []event.Record) uint64 {
	if topic == event.TopicEvents && slices.ContainsFunc(records, takesSpace) {
		return l.opts.MinFreeBytes
	}
	return l.opts.MinFreeBytes / 2
}

// takesSpace reports whether handling a record writes more data. A removal frees space,
// and is handled after the pushes before it are answered.
func takesSpace(rec event.Record) bool {
	t := event.TypeOf(rec)
	return t != event.TypeRepositoryRemoved && t != event.TypePushesHandled
}
