package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Defaults of Options.
const (
	// DefaultMaxBodyBytes is GitHub's own limit for payloads.
	DefaultMaxBodyBytes     = 25 << 20
	DefaultMaxInFlightBytes = 64 << 20
	DefaultRecentDeliveries = 4096
	// DefaultReadTimeout and DefaultAppendTimeout, for bodies of ordinary size, fit into
	// the 10 seconds that GitHub, GitLab and Bitbucket wait.
	DefaultReadTimeout   = 10 * time.Second
	DefaultAppendTimeout = 8 * time.Second
)

// anyPartition lets the log choose the partition by the record's key.
const anyPartition int32 = -1

// Appender is the part of the log that the receiver uses; eventlog.Log implements it.
type Appender interface {
	// Append adds records to topic in order and returns their positions once all are
	// durable. On error, none, some or all may have been added.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// Repositories is the part of the catalog that the receiver uses.
type Repositories interface {
	// Find returns the registered repository that candidate names: the one with its ID,
	// or else with the same clone URL (code.CloneURL.Same), or else, if candidate has no
	// clone URL, with its name. If there is none, the error wraps code.ErrNotFound.
	Find(ctx context.Context, candidate code.Repository) (code.Repository, error)
}

// Hint is what a delivery says of a repository, unconfirmed.
type Hint struct {
	// Connection is the connection to read with: that of the registered repository, or
	// else that of the delivery.
	Connection string
	Repository code.Repository
	// Identity is the host's own identity of the repository.
	Identity string
	// Removed means that the delivery says that the repository was removed.
	Removed    bool
	DeliveryID string
}

// Errors of Options.Confirm.
var (
	ErrUnconfirmed = errors.New("the host does not confirm the repository")
	ErrHostLacks   = errors.New("the host does not have the repository, or does not show it to the connection")
)

// Options configure a Receiver. Kinds and Appender are required.
type Options struct {
	// Kinds maps each kind of host to its translator.
	Kinds map[code.HostKind]ingest.Open
	// Connections are the configured webhooks, at most MaxConnections, with distinct
	// names.
	Connections []ingest.Connection
	Appender    Appender
	// PartitionOf returns the partition of a key, for events that do not determine it.
	// Nil means partition 0.
	PartitionOf func(ctx context.Context, key []byte) (int32, error)
	// Repositories is nil in a process without a catalog (the ingest role alone). Every
	// repository that a delivery identifies then counts as registered, or is registered
	// once per process if the connection is configured to.
	Repositories Repositories
	// Admit returns an error for repositories that may not be registered, with a reason
	// for the sender. Nil admits all.
	Admit func(ctx context.Context, r code.Repository) error
	// Confirm returns the repository of a hint as its host describes it, for its
	// registration. The error wraps ErrUnconfirmed if the host cannot say whether the
	// payload is true, and ErrHostLacks if the host does not have the repository; others are
	// temporary. Nil confirms nothing.
	Confirm func(ctx context.Context, h Hint) (code.Repository, error)
	// Hint requests that a registered repository is read from its host. It does not wait
	// for the reading, and returns false if the hint is dropped. Nil drops all.
	Hint func(h Hint) bool
	// Audit records a change in the audit log; it does not wait for the log. Nil records
	// nothing.
	Audit func(ctx context.Context, r audit.Record)
	// DoubtAccess requests that the permissions of a repository are reread from the host,
	// or those of all repositories of the connection if it is zero. removed is the user, by
	// ID at the host, who loses the access at once; it may be empty. It reports whether
	// permissions of the connection are read at all. Nil means that they are not.
	DoubtAccess func(ctx context.Context, connection string, repository code.RepositoryID, removed string, at time.Time) (bool, error)
	// Full reports whether the backlog is full. The receiver then rejects every delivery
	// before it reads the body, and the sender retries. It is called for each delivery.
	// Nil means never full.
	Full func() bool

	MaxBodyBytes int64
	// MaxInFlightBytes bounds the bodies above one megabyte in memory; it is at least
	// MaxBodyBytes. Smaller bodies have an additional budget of a fourth of it.
	MaxInFlightBytes int64
	// RecentDeliveries is the number of deliveries that are recalled.
	RecentDeliveries int
	ReadTimeout      time.Duration
	AppendTimeout    time.Duration

	Now        func() time.Time
	Tracer     *tracing.Tracer // nil traces nothing
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// MaxConnections bounds the configured webhooks, and thereby a metric label.
const MaxConnections = 1000

var connectionName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (o *Options) ensureDefaults() {
	setDefault(&o.MaxBodyBytes, DefaultMaxBodyBytes)
	setDefault(&o.MaxInFlightBytes, max(DefaultMaxInFlightBytes, o.MaxBodyBytes))
	setDefault(&o.RecentDeliveries, DefaultRecentDeliveries)
	setDefault(&o.ReadTimeout, DefaultReadTimeout)
	setDefault(&o.AppendTimeout, DefaultAppendTimeout)
	if o.Admit == nil {
		o.Admit = func(context.Context, code.Repository) error { return nil }
	}
	if o.Audit == nil {
		o.Audit = func(context.Context, audit.Record) {}
	}
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.PartitionOf == nil {
		o.PartitionOf = func(context.Context, []byte) (int32, error) { return 0, nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
}

func setDefault[T ~int | ~int64](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

func (o *Options) validate() error {
	switch {
	case o.Appender == nil:
		return errors.New("webhook: Options.Appender is required")
	case o.MaxBodyBytes < 0 || o.MaxInFlightBytes < o.MaxBodyBytes:
		return fmt.Errorf("webhook: MaxInFlightBytes %d is below MaxBodyBytes %d", o.MaxInFlightBytes, o.MaxBodyBytes)
	case o.RecentDeliveries < 0 || o.ReadTimeout < 0 || o.AppendTimeout < 0:
		return errors.New("webhook: bounds may not be negative")
	}
	return nil
}
