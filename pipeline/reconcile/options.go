package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Defaults of Options.
const (
	DefaultGroup       = "quarry-reconcile"
	DefaultInterval    = time.Hour
	DefaultGrace       = 30 * time.Second
	DefaultConcurrency = 2
)

// Bounds that are not options.
const (
	// MaxBackoff bounds the time between two checks of a repository that fails, and
	// between two pushes of a drift that indexing does not resolve.
	MaxBackoff = 24 * time.Hour
	// maxRelooks bounds the extra checks of suspects within one interval. It limits the
	// checks of a branch that moves constantly and whose webhooks do arrive.
	maxRelooks = 3
	// maxPushes bounds the pushes appended by one check.
	maxPushes = 32
	// fenceTimeout bounds the wait until the existing records of the log have been read.
	fenceTimeout = time.Minute
)

var rejoinBackoff = eventlog.Backoff{Min: time.Second, Max: 30 * time.Second}

// Log is the part of an event log that a Reconciler uses.
type Log interface {
	eventlog.Joiner
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
	Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error)
}

// Remotes returns the current refs of repositories. mirror.Mirrors implements it.
type Remotes interface {
	List(ctx context.Context, r code.Repository) (mirror.State, error)
}

// Options configures a Reconciler. Log, Remotes and Workers are required.
type Options struct {
	Log     Log
	Remotes Remotes
	// Workers is the consumer group of the workers that handle pushes.
	Workers string
	// Group is the consumer group that distributes the partitions. Default: DefaultGroup.
	Group string
	// Topic is the topic to read. Default: event.TopicEvents.
	Topic event.Topic
	// Interval is the time between two checks of a repository. Default: DefaultInterval.
	Interval time.Duration
	// Grace is how long a difference must last before it counts, because a push may be in
	// progress. Default: DefaultGrace.
	Grace time.Duration
	// Concurrency bounds the concurrent checks. Default: DefaultConcurrency.
	Concurrency int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Audit records a change of a repository in the audit log; nil if there is none.
	Audit func(ctx context.Context, r audit.Record)
	// Logger defaults to none.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if o.Topic == "" {
		o.Topic = event.TopicEvents
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Audit == nil {
		o.Audit = func(context.Context, audit.Record) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate returns an error if a required option is missing.
func (o Options) Validate() error {
	if o.Log == nil || o.Remotes == nil || o.Workers == "" {
		return errors.New("reconcile: Options need Log, Remotes and Workers")
	}
	return nil
}
