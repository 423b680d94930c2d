package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/internal/gather"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
)

// Log is an event log on Kafka. It implements eventlog.Log.
type Log struct {
	opts        Options
	sasl        sasl.Mechanism
	metrics     *Metrics
	connections *connections
	transport   *kafka.Transport
	client      *kafka.Client
	closing     chan struct{} // closed when Close begins
	// refreshing is held by the only running refreshLayout; refreshed is the time at
	// which the last one ended, and only the holder may use it.
	refreshing chan struct{}
	refreshed  time.Time
	// endTransport ends the goroutines of the transport. Without it, a request just after
	// Close would start them again.
	endTransport context.CancelFunc
	mu           struct {
		sync.Mutex
		closed     bool
		partitions map[event.Topic]int32 // of topics known to exist
		queues     map[queueID]*gather.Queue[*partitionAppend]
		holds      map[heldPartition]chan struct{} // closed when the partition is released
		instances  map[string]bool                 // groups with a member under Options.Instance
	}
}

var _ eventlog.Log = (*Log)(nil)

// partitionID identifies a partition of a topic.
type partitionID struct {
	topic     event.Topic
	partition int32
}

// queueID identifies a queue of appends. Imports have a separate one, because all records
// of a batch either keep their times or get a new one.
type queueID struct {
	partition partitionID
	keepTimes bool
}

// Open connects to the cluster. It fails with ErrRefused if the cluster refuses the
// credentials, and fails if no broker answers within ConnectTimeout. The caller must
// close the log.
func Open(ctx context.Context, opts Options) (*Log, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open event log on Kafka: %w", err)
	}
	mechanism, err := opts.SASL.newMechanism()
	if err != nil {
		return nil, fmt.Errorf("open event log on Kafka: %w", err)
	}
	l := newLog(opts, mechanism)
	if err := l.probeCluster(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open event log on Kafka at %s: %w", strings.Join(opts.Brokers, ", "), err), l.Close())
	}
	return l, nil
}

func newLog(opts Options, mechanism sasl.Mechanism) *Log {
	registerMessages()
	l := &Log{
		opts: opts, sasl: mechanism, metrics: opts.Metrics,
		connections: newConnections(opts),
		closing:     make(chan struct{}),
		refreshing:  make(chan struct{}, 1), // one holder
	}
	lifetime, cancel := context.WithCancel(context.Background())
	l.endTransport = cancel
	l.transport = newTransport(lifetime, opts, l.connections, mechanism)
	l.client = &kafka.Client{Addr: kafka.TCP(opts.Brokers...), Timeout: requestTimeout, Transport: l.transport}
	l.mu.partitions = make(map[event.Topic]int32)
	l.mu.queues = make(map[queueID]*gather.Queue[*partitionAppend])
	l.mu.holds = make(map[heldPartition]chan struct{})
	l.mu.instances = make(map[string]bool)
	return l
}

// newTransport returns the client library's transport to the brokers. Its goroutines end
// with lifetime.
func newTransport(lifetime context.Context, opts Options, through *connections, mechanism sasl.Mechanism) *kafka.Transport {
	return &kafka.Transport{
		Context: lifetime,
		Dial:    through.dialContext, DialTimeout: opts.DialTimeout, MetadataTTL: metadataTTL,
		ClientID: opts.ClientID, TLS: opts.TLS, SASL: mechanism,
	}
}

// probeCluster requests the cluster's layout. For a client that is refused, the library
// answers other requests with a misleading "broker not available"; this one returns the
// real reason.
func (l *Log) probeCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.ConnectTimeout)
	defer cancel()
	return closedEarly(l.withRetry(ctx, operationRequest, func(ctx context.Context) error {
		_, err := l.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
		return l.opts.explainRefusal(err)
	}))
}

// Close implements eventlog.Log. It first sends the accepted appends, for at most
// Options.AppendTimeout. A second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	closed := l.mu.closed
	l.mu.closed = true
	queues := l.mu.queues
	l.mu.Unlock()
	if closed {
		return nil
	}
	close(l.closing)
	for _, q := range queues {
		q.Close()
	}
	l.endTransport()
	l.transport.CloseIdleConnections()
	l.connections.closeAll()
	return nil
}

func (l *Log) isClosed() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

// untilClosed returns a context that also ends when the log is closed.
func (l *Log) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-l.closing:
			cancel(eventlog.ErrClosed)
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		cancel(context.Canceled)
	}
}

// endReason returns the reason why a context of untilClosed ended, or err if it has not
// ended.
func endReason(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), eventlog.ErrClosed) {
		return eventlog.ErrClosed
	}
	return err
}

// doRequest runs one client request with retries, within requestTimeout.
func (l *Log) doRequest(ctx context.Context, do func(context.Context) error) error {
	if l.isClosed() {
		return eventlog.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.withRetry(ctx, operationRequest, do)
}
