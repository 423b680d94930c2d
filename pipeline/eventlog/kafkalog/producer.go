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

// producer writes batches to one partition, one at a time, so that the brokers
// recognize a batch that they get again. It is used by one goroutine at a time.
//
// Between two batches it is either in step with the brokers, and sequence is
// what they want next, or it has begun a new epoch, which they take from
// sequence 0 on; they refuse from then on what is still under way from the epoch
// before. What is certain of a batch that is not acknowledged:
//
//   - The connection broke, there was no answer in time, or the brokers said that
//     they cannot take it now: it may be in the log. The same bytes are sent again,
//     and if they are in the log already the answer is their offset.
//   - The sequence is out of order: the leader lacks what came before, as after an
//     unclean election, or has forgotten it. So it lacks this batch, which is sent
//     in a new epoch.
//   - The producer or its epoch is unknown: the brokers have forgotten it. If an
//     attempt before this one got no answer, the batch may be in the log; it is
//     sent under a new number and may then be there twice.
//   - It is given up: it may be in the log. The next batch begins a new epoch.
type producer struct {
	log *Log
	id  partitionID
	// identify requests a new producer ID from the brokers, attempt sends a batch
	// and returns the offset of its first record, refresh finds the leader after a
	// failed attempt. Tests replace them.
	identify func(context.Context) (int64, error)
	attempt  func(ctx context.Context, encoded []byte) (int64, error)
	refresh  func(context.Context)

	next  batchStamp
	known bool // next.producer is valid
}

func newProducer(l *Log, id partitionID) *producer {
	p := &producer{log: l, id: id}
	p.identify, p.attempt, p.refresh = p.askIdentity, p.sendRequest, l.refreshLayout
	return p
}

// errOutOfStep passes: the batch is sent again in a new epoch.
var errOutOfStep = errors.New("brokers know another state of this producer")

// sendBatch sends records as one batch until they are acknowledged and returns the
// offset of the first.
func (p *producer) sendBatch(ctx context.Context, records []*event.Record, at time.Time) (event.Offset, error) {
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

// prepareSequence makes sure that there is a producer number and room for n sequences.
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

// beginEpoch begins a new epoch. The brokers of a producer without transactions
// take it from the producer, as Kafka's own client does it (KIP-360).
func (p *producer) beginEpoch(reason string) {
	p.log.metrics.producerRestarts.WithLabelValues(reason).Inc()
	if p.next.epoch == math.MaxInt16 {
		p.known = false
		return
	}
	p.next.epoch++
	p.next.sequence = 0
}

// recoverState begins a new epoch, or requests another producer ID, if err says that the
// brokers have another state of the producer, and reports whether it does.
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
	p.log.opts.Logger.Warn("brokers know another state of this producer; the records are sent again under a new one",
		"topic", p.id.topic, "partition", p.id.partition, "error", err)
	return true
}

func isForgotten(err error) bool {
	for _, code := range []kafka.Error{
		kafka.UnknownProducerId, kafka.InvalidProducerEpoch, kafka.InvalidProducerIDMapping, kafka.ProducerFenced,
		// An older batch than those that the broker remembers; one at a time is sent,
		// so that it cannot be.
		kafka.DuplicateSequenceNumber,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// attemptTimeout bounds one attempt, so that a broker that hangs uses up only part
// of the time that a webhook waits. The next attempt sends the same bytes, which
// the brokers
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
// transaction "", which makes the brokers create their transaction topic and needs
// an extra permission.
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

// withRetry goes on while the log is being closed, since what was accepted is
// sent; what does not succeed in time is a log that cannot take records now.
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
