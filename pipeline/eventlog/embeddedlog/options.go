package embeddedlog

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configure a Log. The zero value works.
type Options struct {
	// Partitions is the number of partitions of every topic of a new log, 1 to
	// MaxPartitions; 0 means DefaultPartitions. For a log that exists it must be 0
	// or the number that the log was created with.
	Partitions int32
	// CacheBytes is the size of Pebble's block cache; 0 means 16 MiB. Tails read
	// what was just written from memory, so it matters only to a replay.
	CacheBytes int64
	// MinFreeBytes is the free space below which Append answers ErrFull to records of
	// event.TopicEvents, and to others and to removals of repositories below the half of
	// it: what people do can still be recorded when nothing new is indexed. 0 means 256 MiB, which is what Pebble
	// may need to write out what it holds in memory.
	MinFreeBytes uint64
	// DiskFull is called when a write fails for want of space, which is then tried once
	// more; other writes wait meanwhile. It may free space, or wait until there is some.
	DiskFull func()
	// MaxWaitingBytes bounds the records that wait for the disk; 0 means 64 MiB.
	// Above it Append answers ErrFull.
	MaxWaitingBytes int
	// ReadOnly opens a log that exists, and changes nothing but its lock file: Append,
	// Trim and Note fail, and so do commits of groups.
	ReadOnly bool
	// Logger takes what Pebble reports; nil discards it.
	Logger *slog.Logger
	// Registerer takes the metrics; nil keeps them unregistered.
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
