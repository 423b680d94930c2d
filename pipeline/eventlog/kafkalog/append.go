package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/internal/gather"
	"github.com/quarrysearch/quarry/schemas/event"
	"golang.org/x/sync/errgroup"
)

const (
	// maxRequestBytes bounds the records of one produce request, which is one Kafka
	// batch: the broker's default limit for a batch is 1,048,588 bytes. One record of
	// eventlog.MaxRecordBytes fits.
	maxRequestBytes = 1020 << 10
	// recordOverheadBytes and headerOverheadBytes are upper bounds of the encoding's
	// overhead.
	recordOverheadBytes = 64
	headerOverheadBytes = 8
	// maxGatherBytes bounds the bytes taken from a queue at a time: about one request, so
	// that an urgent append waits for at most one.
	maxGatherBytes = maxRequestBytes
)

// partitionAppend is the part of one call of Append that goes to one partition.
type partitionAppend struct {
	records []*event.Record
	indexes []int // of the records in the call
	bytes   int
	offsets []event.Offset // set by the writer
}

// Append implements eventlog.Log. Records of different partitions become durable
// independently.
func (l *Log) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	records, span := eventlog.StartAppend(ctx, topic, records)
	positions, err := l.append(ctx, topic, partition, records, false)
	span.End(err)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", topic, err)
	}
	return positions, nil
}

// Import implements eventlog.Importer.
func (l *Log) Import(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	positions, err := l.append(ctx, topic, partition, records, true)
	if err != nil {
		return nil, fmt.Errorf("import to %s: %w", topic, err)
	}
	return positions, nil
}

func (l *Log) append(ctx context.Context, topic event.Topic, partition int32, records []event.Record, keepTimes bool) ([]event.Position, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.isClosed() {
		return nil, eventlog.ErrClosed
	}
	n, err := l.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	parts, err := routeRecords(partition, n, records)
	if err != nil {
		return nil, err
	}
	sending, sendCtx := errgroup.WithContext(ctx)
	for p, a := range parts {
		sending.Go(func() error { return l.enqueueAppend(sendCtx, queueID{partitionID{topic, p}, keepTimes}, a) })
	}
	if err := sending.Wait(); err != nil {
		return nil, err
	}
	positions := make([]event.Position, len(records))
	for p, a := range parts {
		for i, index := range a.indexes {
			positions[index] = event.Position{Topic: topic, Partition: p, Offset: a.offsets[i]}
		}
	}
	return positions, nil
}

// routeRecords validates the records and groups them by partition.
func routeRecords(partition, n int32, records []event.Record) (map[int32]*partitionAppend, error) {
	if err := eventlog.CheckPartition(partition, n, true); err != nil {
		return nil, err
	}
	parts := make(map[int32]*partitionAppend)
	for i := range records {
		rec := &records[i]
		if err := eventlog.CheckRecord(rec); err != nil {
			return nil, err
		}
		to := partition
		if to == eventlog.AnyPartition {
			to = eventlog.PartitionOf(rec.Key, n)
		}
		a := parts[to]
		if a == nil {
			a = new(partitionAppend)
			parts[to] = a
		}
		a.records = append(a.records, rec)
		a.indexes = append(a.indexes, i)
		a.bytes += rec.SizeBytes()
	}
	return parts, nil
}

// enqueueAppend adds records to the partition's queue and waits for their offsets.
func (l *Log) enqueueAppend(ctx context.Context, id queueID, a *partitionAppend) error {
	q, err := l.ensureQueue(id)
	if err != nil {
		return err
	}
	do := q.Do
	if eventlog.IsUrgent(ctx) {
		do = q.DoUrgent
	}
	switch err := do(ctx, a, a.bytes); {
	case errors.Is(err, gather.ErrClosed):
		return eventlog.ErrClosed
	case errors.Is(err, gather.ErrFull):
		return fmt.Errorf("%w: %d bytes wait for the broker already", eventlog.ErrFull, l.opts.MaxWaitingBytes)
	default:
		return err
	}
}

func (l *Log) ensureQueue(id queueID) (*gather.Queue[*partitionAppend], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, eventlog.ErrClosed
	}
	q := l.mu.queues[id]
	if q == nil {
		to := newProducer(l, id.partition)
		to.keepTimes = id.keepTimes
		q = gather.New(maxGatherBytes, l.opts.MaxWaitingBytes, func(batch []*partitionAppend) error { return l.write(to, batch) })
		l.mu.queues[id] = q
	}
	return q, nil
}

// write sends the gathered records of a partition, in as many requests as necessary. The
// queue calls it from one goroutine at a time.
func (l *Log) write(to *producer, batch []*partitionAppend) error {
	// Not a caller's context, because the batch belongs to several callers.
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.AppendTimeout)
	defer cancel()
	var all []*event.Record
	for _, a := range batch {
		all = append(all, a.records...)
	}
	var offsets []event.Offset
	for len(offsets) < len(all) {
		request := firstRequest(all[len(offsets):])
		base, err := l.produceBatch(ctx, to, request)
		if err != nil {
			return err
		}
		for i := range request {
			offsets = append(offsets, base+event.Offset(i))
		}
	}
	for _, a := range batch {
		a.offsets, offsets = offsets[:len(a.records)], offsets[len(a.records):]
	}
	return nil
}

// firstRequest returns the first records that fit into one request, at least one.
func firstRequest(records []*event.Record) []*event.Record {
	size := 0
	for i, rec := range records {
		size += sizeBound(rec)
		if size > maxRequestBytes && i > 0 {
			return records[:i]
		}
	}
	return records
}

// produceBatch sends one request, with retries, until it is acknowledged, and returns the
// offset of its first record.
func (l *Log) produceBatch(ctx context.Context, to *producer, records []*event.Record) (event.Offset, error) {
	began := time.Now()
	base, err := to.sendBatch(ctx, records, began)
	if err != nil {
		return 0, err
	}
	l.metrics.produceSeconds.Observe(time.Since(began).Seconds())
	l.metrics.appendedRecords.Add(float64(len(records)))
	for _, rec := range records {
		l.metrics.appendedBytes.Add(float64(rec.SizeBytes()))
	}
	return base, nil
}
