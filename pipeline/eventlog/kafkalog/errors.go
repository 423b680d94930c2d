package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// ErrRefused means that the brokers refuse this client: its credentials are wrong or it
// lacks a permission. A retry does not help.
var ErrRefused = errors.New("brokers refuse this client")

// ErrNoAnswer means that no broker did what was asked of it in time. A retry may help.
var ErrNoAnswer = errors.New("brokers did not answer in time")

// ErrNoTopic means that a topic does not exist; EnsureTopics creates it.
var ErrNoTopic = errors.New("topic does not exist; create it, or let quarry create it")

// classifyError wraps the sentinel that matches an error of the client library. It
// returns transient errors unchanged.
func classifyError(err error) error {
	for _, c := range []struct {
		sentinel error
		codes    []kafka.Error
	}{
		{ErrRefused, []kafka.Error{
			kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState,
			kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		}},
		{eventlog.ErrRecordTooLarge, []kafka.Error{kafka.MessageSizeTooLarge, kafka.InvalidMessageSize}},
		{eventlog.ErrFull, []kafka.Error{kafka.PolicyViolation}},
		{eventlog.ErrOffsetOutOfRange, []kafka.Error{kafka.OffsetOutOfRange}},
		{eventlog.ErrPartitionLost, []kafka.Error{kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress, kafka.FencedInstanceID}},
	} {
		for _, code := range c.codes {
			if errors.Is(err, code) && !errors.Is(err, c.sentinel) {
				return fmt.Errorf("%w: %w", c.sentinel, err)
			}
		}
	}
	return err
}

// explainMissingRight adds the missing permission to an authorization error. It returns
// other errors unchanged.
func explainMissingRight(err error, right, resource string) error {
	for _, code := range []kafka.Error{kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed} {
		if errors.Is(err, code) {
			if right == "DESCRIBE" {
				right += " (READ and WRITE include it)"
			}
			return fmt.Errorf("it lacks the right %s on %s; grant it by an access control list: %w", right, resource, err)
		}
	}
	return err
}

// explainMissingGroupRight works like explainMissingRight, for a request that needs
// permissions on both a group and a topic.
func explainMissingGroupRight(err error, right, group string, topicRight string, topic event.Topic) error {
	if errors.Is(err, kafka.TopicAuthorizationFailed) {
		return explainMissingRight(err, topicRight, topicName(topic))
	}
	return explainMissingRight(err, right, "group "+group)
}

func topicName(topic event.Topic) string { return "topic " + string(topic) }

// isRetriable reports whether an error may be transient: a broker is down, a leader
// moves, a coordinator loads its state.
func isRetriable(err error) bool {
	if err == nil || errors.Is(classifyError(err), ErrRefused) {
		return false
	}
	if errors.Is(err, errOutOfStep) {
		return true
	}
	var code kafka.Error
	if !errors.As(err, &code) {
		// Errors of the network, or of the library's view of the cluster.
		return true
	}
	switch code {
	case kafka.UnknownTopicOrPartition, kafka.BrokerNotAvailable, kafka.KafkaStorageError:
		return true
	}
	return code.Temporary()
}

// Bounds of the pause between two attempts. The upper bound adds to the time without
// appends when a leader fails.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 200 * time.Millisecond
)

// backoff is a pause that doubles each time.
type backoff struct{ last time.Duration }

// waitNext pauses, or returns ctx.Err() if ctx ends first.
func (b *backoff) waitNext(ctx context.Context) error {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	return clock.Sleep(ctx, b.last)
}

// withRetry calls do until it succeeds, fails permanently or ctx ends. The result then
// wraps the error of the last attempt that the end of ctx did not cause, if there was
// one, and ErrNoAnswer if the time of ctx is over.
func (l *Log) withRetry(ctx context.Context, operation string, do func(context.Context) error) error {
	var pause backoff
	var lastErr error
	for {
		err := do(ctx)
		if err == nil || !isRetriable(err) {
			return classifyError(err)
		}
		if l.isClosed() {
			return eventlog.ErrClosed
		}
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			lastErr = err
		}
		l.metrics.retries.WithLabelValues(operation).Inc()
		l.refreshLayout(ctx)
		if ctxErr := pause.waitNext(ctx); ctxErr != nil {
			if lastErr != nil {
				err = fmt.Errorf("%w, last attempt: %w", ctxErr, lastErr)
			}
			if errors.Is(ctxErr, context.DeadlineExceeded) {
				err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
			}
			return err
		}
	}
}
