package embeddedlog

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configures a Log. The zero value is usable.
type Options struct {
	// Partitions is the number of partitions of every topic of a new log, 1 to
	// MaxPartitions; 0 means DefaultPartitions. For an existing log it must be 0 or the
	// number with which the log was created.
	Partitions int32
	// CacheBytes is the size of Pebble's block cache; 0 means 16 MiB. Tails read recent
	// records from memory, so the cache matters only to a replay.
	CacheBytes int64
	// MinFreeBytes is the free disk space below which Append returns ErrFull for records
	// of event.TopicEvents. For other records and for removals of repositories the limit
	// is half of it, so that user actions can still be recorded when nothing new is
	// indexed. 0 means 256 MiB, which Pebble may need to write its memory tables.
	MinFreeBytes uint64
	// DiskFull is called when a write fails for lack of space; the write is then retried
	// once. Other writes wait in the meantime. DiskFull may free space, or wait until
	// some is free.
	DiskFull func()
	// MaxWaitingBytes bounds the records that wait to be written; 0 means 64 MiB. Above
	// it Append returns ErrFull.
	MaxWaitingBytes int
	// ReadOnly opens an existing log, and changes nothing except its lock file: Append,
	// Trim, Note and commits of groups fail.
	ReadOnly bool
	// Logger receives Pebble's messages; nil discards them.
	Logger *slog.Logger
	// Registerer registers the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer

	// fs replaces the file system in tests.
	fs vfs.FS
}

// Bounds and defaults of Options.
const (
	DefaultPartitions = 1
	MaxPartitions     = 1024

	defaultCacheBytes      = 16 << 20
	defaultMinFreeBytes    = 256 << 20
	defaultMaxWaitingBytes = 64 << 20
)

func (o Options) withDefaults() (Options, error) {
	if o.Partitions < 0 || o.Partitions > MaxPartitions {
		return o, fmt.Errorf("partitions: %d, want 1 to %d", o.Partitions, MaxPartitions)
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = defaultMinFreeBytes
	}
	if o.MaxWaitingBytes <= 0 {
		o.MaxWaitingBytes = defaultMaxWaitingBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	if o.DiskFull != nil {
		o.fs = vfs.OnDiskFull(o.fs, o.DiskFull)
	}
	return o, nil
}
