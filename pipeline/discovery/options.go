package discovery

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Defaults of Options.
const (
	DefaultGroup           = "quarry-discovery"
	DefaultConcurrency     = 4
	DefaultMaxRepositories = 100_000
	// DefaultGrace is the delay of the listing that follows one in which repositories are
	// missing. It removes them if they are still missing.
	DefaultGrace = 2 * time.Minute
	// minRetry is the delay before an incomplete sync is retried; it doubles, up to the
	// interval.
	minRetry = time.Minute
	// maxSyncTime bounds one sync.
	maxSyncTime = 6 * time.Hour
)

// Snapshot is the set of registered repositories at one moment.
type Snapshot interface {
	// ByID and ByCloneURL return a registered repository, and whether there is one.
	ByID(id code.RepositoryID) (code.Repository, bool)
	ByCloneURL(url string) (code.Repository, bool)
	// PrivateMark returns the private mark of a registered or removed repository; see
	// event.RepositoryChanged.
	PrivateMark(id code.RepositoryID) event.Offset
	// All returns every registered repository.
	All() iter.Seq[code.Repository]
}

// Catalog provides the registered repositories.
type Catalog interface {
	// Current returns a snapshot that includes everything in the log at the time of the
	// call.
	Current(ctx context.Context) (Snapshot, error)
}

// Appender is the part of an eventlog.Log that a HintReader uses.
type Appender interface {
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// Log is the part of an eventlog.Log that a Syncer uses.
type Log interface {
	Appender
	eventlog.Joiner
}

// Options configures a Syncer.
type Options struct {
	// Kinds maps each kind of host that can be listed to its Open.
	Kinds   map[code.HostKind]Open
	Log     Log
	Catalog Catalog
	// Admit applies the policy on clone URLs.
	Admit func(ctx context.Context, r code.Repository) error
	// Renew returns the settings of a connection with the current credentials; nil if
	// only SetConnections changes them.
	Renew func(name string) (Connection, error)
	// Dial opens connections to hosts and checks their addresses.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Group is the consumer group of the processes that sync.
	Group string
	// Interval is the time between two syncs of a connection; 0 disables scheduled syncs.
	Interval        time.Duration
	Grace           time.Duration
	Concurrency     int
	MaxRepositories int
	RequestTimeout  time.Duration
	// Audit records a change in the audit log; nil if there is none.
	Audit func(ctx context.Context, r audit.Record)

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Validate returns an error for missing options.
func (o *Options) Validate() error {
	if o.Kinds == nil || o.Log == nil || o.Catalog == nil || o.Admit == nil {
		return errors.New("discovery: want kinds, log, catalog and policy")
	}
	return nil
}

func (o *Options) ensureDefaults() {
	if o.Group == "" {
		o.Group = DefaultGroup
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.MaxRepositories == 0 {
		o.MaxRepositories = DefaultMaxRepositories
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Audit == nil {
		o.Audit = func(context.Context, audit.Record) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}
