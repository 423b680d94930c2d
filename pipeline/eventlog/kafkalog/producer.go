package kafkalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
)

// producer writes batches to one partition, one at a time, so that the brokers recognize
// a batch that is sent again. It must be used by one goroutine at a time.
//
// Between two batches, a producer is either in sync with the brokers, so that sequence is
// the next one that they expect, or it has started a new epoch. The brokers accept a new
// epoch from sequence 0, and then refuse batches of the previous epoch that are still in
// transit. The reaction to a batch that is not acknowledged depends on the cause:
//
//   - The connection broke, the response timed out, or the brokers answered that they
//     cannot accept the batch now: it may be in the log. The same bytes are sent
//     again; if they are already in the log, the response contains their offset.
//   - The sequence is out of order: the leader lacks earlier batches, for example after
//     an unclean election, or has forgotten them. So it lacks this batch too, which is
//     sent in a new epoch.
//   - The producer or its epoch is unknown: the brokers have forgotten it. If an
//     earlier attempt got no response, the batch may be in the log; it is sent with a
//     new producer ID and may then appear twice.
//   - The batch is given up: it may be in the log. The next batch starts a new epoch.
type producer struct {
	log *Log
	id  partitionID
	// identify requests a new producer ID from the brokers, attempt sends a batch and
	// returns the offset of its first record, refresh finds the leader after a failed
	// attempt. Tests replace them.
	identify func(context.Context) (int64, error)
	attempt  func(ctx context.Context, encoded []byte) (int64, error)
	refresh  func(context.Context)

	next  batchStamp
	known bool // next.producer is valid
	// keepTimes means that records keep their times.
	keepTimes bool
}

func newProducer(l *Log, id partitionID) *producer {
	p := &producer{log: l, id: id}
	p.identify, p.attempt, p.refresh = p.askIdentity, p.sendRequest, l.refreshLayout
	return p
}

// errOutOfStep is retriable: the batch is sent again in a new epoch.
var errOutOfStep = errors.New("brokers know another state of this producer")

// sendBatch sends records as one batch, with retries, until they are acknowledged, and
// returns the offset of the first.
func (p *producer) sendBatch(ctx context.Context, records []*event.Record, at time.Time) (event.Offset, error) {
	if p.keepTimes {
		at = time.Time{}
	}
	var base int64
	var encoded []byte
	err := p.withRetry(ctx, func(ctx context.Context) (err error) {
		if encoded == nil {
			if err := p.prepareSequence(ctx, len(records)); err != nil {
				return err
			}
			encoded = encodeBatch(p.next, records, at)
		}
		base, err = p.attempt(ctx, encoded)
		if p.recoverState(err) {
			encoded = nil
			return fmt.Errorf("%w: %w", errOutOfStep, err)
		}
		return err
	})
	if err != nil {
		if encoded != nil {
			p.beginEpoch(restartGivenUp)
		}
		return 0, fmt.Errorf("partition %d: %w", p.id.partition, err)
	}
	p.next.sequence += int32(len(records))
	return event.Offset(base), nil
}

// prepareSequence ensures that there is a producer ID and that n sequence numbers are
// available.
func (p *producer) prepareSequence(ctx context.Context, n int) error {
	if p.known && int(p.next.sequence)+n > math.MaxInt32 {
		p.beginEpoch(restartUsedUp)
	}
	if p.known {
		return nil
	}
	number, err := p.identify(ctx)
	if err != nil {
		return fmt.Errorf("producer number: %w", err)
	}
	p.next, p.known = batchStamp{producer: number}, true
	return nil
}

// beginEpoch starts a new epoch. For a producer without transactions, the brokers accept
// the epoch that the producer chooses, as Kafka's own client does (KIP-360).
func (p *producer) beginEpoch(reason string) {
	p.log.metrics.producerRestarts.WithLabelValues(reason).Inc()
	if p.next.epoch == math.MaxInt16 {
		p.known = false
		return
	}
	p.next.epoch++
	p.next.sequence = 0
}

// recoverState starts a new epoch, or requests another producer ID, if err means that the
// brokers have a different state of the producer. It reports whether it did.
func (p *producer) recoverState(err error) bool {
	switch {
	case errors.Is(err, kafka.OutOfOrderSequenceNumber):
		p.beginEpoch(restartOutOfOrder)
	case isForgotten(err):
		p.beginEpoch(restartForgotten)
		p.known = false
	default:
		return false
	}
	p.log.opts.Logger.Warn("producer state differs from the brokers; resending the records under a new producer identity",
		"topic", p.id.topic, "partition", p.id.partition, "error", err)
	return true
}

func isForgotten(err error) bool {
	for _, code := range []kafka.Error{
		kafka.UnknownProducerId, kafka.InvalidProducerEpoch, kafka.InvalidProducerIDMapping, kafka.ProducerFenced,
		// A batch older than those that the broker remembers. Since only one is sent at a
		// time, this must be a different state.
		kafka.DuplicateSequenceNumber,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// attemptTimeout bounds one attempt, so that a hanging broker uses only part of the time
// for which a webhook waits. The next attempt sends the same bytes, which the brokers
// recognize.
const attemptTimeout = 2 * time.Second

func (p *producer) sendRequest(ctx context.Context, encoded []byte) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	response, err := p.log.client.RawProduce(ctx, &kafka.RawProduceRequest{
		Topic: string(p.id.topic), Partition: int(p.id.partition), RequiredAcks: kafka.RequireAll,
		RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(encoded)},
	})
	if err != nil {
		return 0, err
	}
	if response.Error != nil {
		return 0, explainMissingRight(response.Error, "WRITE", topicName(p.id.topic))
	}
	if response.BaseOffset < 0 {
		return 0, fmt.Errorf("acknowledged at offset %d", response.BaseOffset)
	}
	return response.BaseOffset, nil
}

// identityRequest is the library's request for a producer ID without its method
// Transaction. With that method the library first looks for the coordinator of the
// transaction "", which makes the brokers create their transaction topic and needs an
// additional permission.
type identityRequest initproducerid.Request

// ApiKey implements protocol.Message.
func (*identityRequest) ApiKey() protocol.ApiKey { return protocol.InitProducerId }

// askIdentity requests a producer ID.
func (p *producer) askIdentity(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	answer, err := p.log.transport.RoundTrip(ctx, p.log.client.Addr, &identityRequest{ProducerID: -1, ProducerEpoch: -1})
	if err != nil {
		return 0, err
	}
	response, ok := answer.(*initproducerid.Response)
	if !ok {
		return 0, fmt.Errorf("answer of type %T", answer)
	}
	if response.ErrorCode != 0 {
		return 0, explainMissingRight(kafka.Error(response.ErrorCode), "WRITE", topicName(p.id.topic))
	}
	return response.ProducerID, nil
}

// withRetry continues while the log is being closed, because accepted appends are still
// sent. It returns ErrFull for a request that does not succeed in time.
func (p *producer) withRetry(ctx context.Context, do func(context.Context) error) error {
	var pause backoff
	for {
		err := do(ctx)
		if err == nil || !isRetriable(err) {
			return classifyError(err)
		}
		p.log.metrics.retries.WithLabelValues(operationProduce).Inc()
		p.refresh(ctx)
		if pause.waitNext(ctx) != nil {
			return fmt.Errorf("%w: no acknowledgement within %v: %w", eventlog.ErrFull, p.log.opts.AppendTimeout, err)
		}
	}
}
