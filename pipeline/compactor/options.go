package compactor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/event"
)

// DefaultGroup is the consumer group that distributes the partitions.
const DefaultGroup = "quarry-compactor"

// Defaults of Options.
const (
	// DefaultInterval is the interval at which a partition is checked for dead text.
	DefaultInterval = 30 * time.Second
	// looksPerPurge is the minimum number of checks for dead text within
	// Options.PurgeAfter.
	looksPerPurge = 8
	// DefaultPatience bounds the wait for a View that is up to date with the log.
	DefaultPatience = 2 * time.Second
	// DefaultMergeTimeout bounds one merge. The largest takes a few seconds on a local
	// disk; a remote object store may take minutes.
	DefaultMergeTimeout = 15 * time.Minute
	// minBackoff and maxBackoff bound the waits after failures.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Log is the part of an event log that a Compactor uses.
type Log interface {
	Join(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error
	Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error)
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
}

var _ Log = eventlog.Log(nil)

// Options configures a Compactor. Log, Objects and TempDir are required.
type Options struct {
	Log Log
	// Objects is the segment store.
	Objects segmentstore.Store
	// Liveness reports dead documents. If nil, no document is known to be dead, and
	// merges drop only documents that several inputs contain.
	Liveness Liveness
	// TempDir is a directory that no other process uses; it is created if it does not
	// exist. If it is on the file system of the segment store, inputs and outputs are
	// moved and linked instead of copied. It takes at most twice Policy.MaxTextBytes,
	// plus a snapshot of each partition, some 200 bytes for each segment.
	TempDir string
	// Group is the consumer group. Default: DefaultGroup.
	Group string
	// Topic is the topic to follow. Default: event.TopicEvents.
	Topic event.Topic
	// Policy bounds the merges.
	Policy Policy
	// Slots bounds the large segments built at the same time in the whole process: a
	// merge of segment.SmallBytes or more waits for one. Default: one slot.
	Slots *segment.Slots
	// Interval is the interval at which a partition is checked for dead text, and at
	// which its position is committed for display. Merges by number run immediately after
	// a record. Default: DefaultInterval.
	Interval time.Duration
	// Patience bounds the wait for a View. If there is none in time, the merge drops
	// nothing. Default: DefaultPatience.
	Patience time.Duration
	// Quiet is how long a class must have no new revision before its segments are merged
	// that are too few for a merge by number. Default: DefaultQuiet.
	Quiet time.Duration
	// PurgeAfter bounds the time from the removal of a repository or branch until its
	// text is out of every segment. A segment is rewritten after half of it, which leaves
	// the other half for the following steps. 0 means no bound: such text stays until a
	// merge by number drops it.
	PurgeAfter time.Duration
	// MergeTimeout bounds one merge. Default: DefaultMergeTimeout.
	MergeTimeout time.Duration
	// Logger defaults to none.
	Logger *slog.Logger
	// Registerer registers the metrics. Default: none.
	Registerer prometheus.Registerer
	// Now is the clock of the events. Default: time.Now.
	Now func() time.Time
}

func (o *Options) ensureDefaults() {
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if o.Topic == "" {
		o.Topic = event.TopicEvents
	}
	o.Policy.ensureDefaults()
	if o.Slots == nil {
		o.Slots = segment.NewSlots(1, nil)
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.PurgeAfter > 0 {
		o.Interval = min(o.Interval, o.PurgeAfter/looksPerPurge)
	}
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Quiet <= 0 {
		o.Quiet = DefaultQuiet
	}
	if o.MergeTimeout <= 0 {
		o.MergeTimeout = DefaultMergeTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Validate returns an error if a required option is missing.
func (o Options) Validate() error {
	if o.Log == nil || o.Objects == nil || o.TempDir == "" {
		return errors.New("compactor: want a log, a segment store and a temporary directory")
	}
	return nil
}
