package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

const (
	// maxFetchBytes bounds a response; the broker exceeds it only for a single batch that
	// is larger.
	maxFetchBytes = 4 << 20
	// maxFetchWait is how long the broker holds a request while there is nothing to read.
	// It answers immediately when a record arrives.
	maxFetchWait = 500 * time.Millisecond
)

// reader reads one partition. It implements eventlog.Reader.
type reader struct {
	log    *Log
	id     partitionID
	next   event.Offset
	chunk  []event.Record // prefetched records, starting at next
	closed bool
}

// Tail implements eventlog.Log.
func (l *Log) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	r, err := l.openReader(ctx, partitionID{topic, partition}, from, false)
	if err != nil {
		return nil, fmt.Errorf("tail %s/%d from %d: %w", topic, partition, from, err)
	}
	return r, nil
}

// openReader opens a reader of a partition, for a member of a group or another caller.
func (l *Log) openReader(ctx context.Context, id partitionID, from event.Offset, member bool) (*reader, error) {
	ranges, err := l.offsetRanges(ctx, id.topic)
	if err != nil {
		return nil, err
	}
	if err := eventlog.CheckPartition(id.partition, int32(len(ranges)), false); err != nil {
		return nil, err
	}
	r := ranges[id.partition]
	if from == 0 && member {
		from = r.first
	}
	if from, err = event.CheckStart(id.topic, from, r.first, r.end); err != nil {
		return nil, err
	}
	return &reader{log: l, id: id, next: from}, nil
}

// Next implements eventlog.Reader. While brokers are down, it waits for them.
func (r *reader) Next(ctx context.Context) (event.Record, error) {
	if r.closed {
		return event.Record{}, fmt.Errorf("read from a closed reader: %w", eventlog.ErrClosed)
	}
	if len(r.chunk) == 0 {
		if err := r.fillChunk(ctx); err != nil {
			return event.Record{}, err
		}
	}
	rec := r.chunk[0]
	r.chunk = r.chunk[1:]
	r.next = rec.Position.Offset + 1
	return rec, nil
}

// Close implements eventlog.Reader.
func (r *reader) Close() error {
	r.closed, r.chunk = true, nil
	return nil
}

// fillChunk fetches until there are records.
func (r *reader) fillChunk(ctx context.Context) error {
	if r.log.isClosed() {
		return eventlog.ErrClosed
	}
	ctx, cancel := r.log.untilClosed(ctx)
	defer cancel()
	var pause backoff
	for len(r.chunk) == 0 {
		err := r.fetchOnce(ctx)
		if ctx.Err() != nil {
			return endReason(ctx, ctx.Err())
		}
		if err == nil {
			r.noteRecovery(&pause)
			continue
		}
		if !isRetriable(err) {
			return fmt.Errorf("read %s/%d at %d: %w", r.id.topic, r.id.partition, r.next, classifyError(err))
		}
		r.noteFailure(&pause, err)
		r.log.refreshLayout(ctx)
		if err := pause.waitNext(ctx); err != nil {
			return endReason(ctx, err)
		}
	}
	return nil
}

func (r *reader) noteFailure(pause *backoff, err error) {
	r.log.metrics.retries.WithLabelValues(operationFetch).Inc()
	if pause.last == 0 {
		r.log.opts.Logger.Warn("cannot read from Kafka, waiting for it", "topic", r.id.topic, "partition", r.id.partition, "offset", r.next, "error", err)
	}
}

func (r *reader) noteRecovery(pause *backoff) {
	if pause.last > 0 {
		r.log.opts.Logger.Info("reading from Kafka resumed", "topic", r.id.topic, "partition", r.id.partition, "offset", r.next)
	}
	*pause = backoff{}
}

// fetchOnce sends one fetch request; a response without records is not an error.
func (r *reader) fetchOnce(ctx context.Context) error {
	response, err := r.log.client.Fetch(ctx, &kafka.FetchRequest{
		Topic: string(r.id.topic), Partition: int(r.id.partition), Offset: int64(r.next),
		MinBytes: 1, MaxBytes: maxFetchBytes, MaxWait: maxFetchWait,
	})
	if err != nil {
		return err
	}
	if response.Error != nil {
		return explainMissingRight(response.Error, "READ", topicName(r.id.topic))
	}
	r.chunk, err = r.readAll(response.Records)
	r.log.metrics.readRecords.Add(float64(len(r.chunk)))
	return err
}

// readAll copies the records at or after next. The broker returns whole batches, which
// may start before it.
func (r *reader) readAll(records kafka.RecordReader) ([]event.Record, error) {
	var chunk []event.Record
	for {
		rec, err := records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return chunk, nil
		}
		if err != nil {
			return nil, err
		}
		converted, err := r.convertRecord(rec)
		if err != nil {
			return nil, err
		}
		if converted.Position.Offset >= r.next {
			chunk = append(chunk, converted)
		}
	}
}

// convertRecord copies a record from the client's buffers and releases them.
func (r *reader) convertRecord(rec *kafka.Record) (event.Record, error) {
	key, err := readBytes(rec.Key)
	if err != nil {
		return event.Record{}, err
	}
	value, err := readBytes(rec.Value)
	if err != nil {
		return event.Record{}, err
	}
	converted := event.Record{
		Position: event.Position{Topic: r.id.topic, Partition: r.id.partition, Offset: event.Offset(rec.Offset)},
		Key:      key, Value: value, Time: rec.Time.UTC(),
	}
	for _, h := range rec.Headers {
		converted.Headers = append(converted.Headers, event.Header{Name: h.Key, Value: h.Value})
	}
	return converted, nil
}

func readBytes(b kafka.Bytes) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	defer b.Close()
	return kafka.ReadAll(b)
}
