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
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Defaults of Options.
const (
	// DefaultMaxBodyBytes is GitHub's own cap of a payload.
	DefaultMaxBodyBytes     = 25 << 20
	DefaultMaxInFlightBytes = 64 << 20
	DefaultRecentDeliveries = 4096
	// DefaultReadTimeout and DefaultAppendTimeout stay within the 10 seconds that
	// GitHub, GitLab and Bitbucket wait, for bodies of ordinary size.
	DefaultReadTimeout   = 10 * time.Second
	DefaultAppendTimeout = 8 * time.Second
)

// anyPartition lets the log choose the partition by the record's key.
const anyPartition int32 = -1

// Appender is the log as the receiver sees it; eventlog.Log is one.
type Appender interface {
	// Append adds records to topic in order and returns their positions once all
	// of them are durable. On error none, some or all may have been added.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// Repositories is the catalog as the receiver sees it.
type Repositories interface {
	// Find returns the registered repository that candidate names: the one with
	// its ID; else the one whose clone URL is the same (code.CloneURL.Same); else,
	// if candidate has no clone URL, the one with its name. The error wraps
	// code.ErrNotFound if there is none.
	Find(ctx context.Context, candidate code.Repository) (code.Repository, error)
}

// Options configure a Receiver. Kinds and Appender are required.
type Options struct {
	// Kinds has the translator of each kind of host.
	Kinds map[code.HostKind]ingest.Open
	// Connections are the hooks, at most MaxConnections, with distinct names.
	Connections []ingest.Connection
	Appender    Appender
	// PartitionOf returns the partition of a key, for events without one of their
	// own. Nil means partition 0.
	PartitionOf func(ctx context.Context, key []byte) (int32, error)
	// Repositories is nil in a process without a catalog (the ingest role alone):
	// then every repository that a delivery identifies counts as registered, or is
	// registered once per process where the connection says so.
	Repositories Repositories
	// Admit refuses repositories that may not be registered, with a reason for
	// the sender. Nil admits all.
	Admit func(ctx context.Context, r code.Repository) error
	// DoubtAccess requests that the permissions of a repository, or of all repositories of
	// the connection if it is zero, are read again from the host. It reports whether
	// permissions of the connection are read at all. Nil: they are not.
	DoubtAccess func(ctx context.Context, connection string, repository code.RepositoryID, at time.Time) (bool, error)
	// Full reports that the backlog is full: the receiver then rejects every
	// delivery, before it reads the body, and the sender retries. It is called for
	// each delivery. Nil means never.
	Full func() bool

	MaxBodyBytes int64
	// MaxInFlightBytes bounds the bodies above a megabyte in memory; at least
	// MaxBodyBytes. Smaller ones have a fourth of it besides.
	MaxInFlightBytes int64
	// RecentDeliveries is how many deliveries are recalled.
	RecentDeliveries int
	ReadTimeout      time.Duration
	AppendTimeout    time.Duration

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// MaxConnections bounds the configured hooks and with them a metric label.
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
