package store

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/pebblelog"
)

// FormatVersion is the version of the layout of keys and values outside the projections'
// own rows. Stores with a newer version are refused.
const FormatVersion = 1

// Defaults and bounds of Options.
const (
	DefaultCacheBytes = 128 << 20
	MinCacheBytes     = 8 << 20
	// memTableBytes bounds the data that a flush writes and that a start replays from the
	// write-ahead log. The rows of a push take a few kilobytes, so 16 MiB holds minutes
	// of pushes; a first import bypasses it as one large batch.
	memTableBytes = 16 << 20
	// maxMemTables stops writers only when three flushes are pending.
	maxMemTables = 4
	// maxOpenFiles covers the hundreds of segments of a large store, because opening a
	// table requires reading its footer and index.
	maxOpenFiles = 4096
	// blockBytes is the block size of rows, which are short and read by seeks.
	blockBytes = 8 << 10
	// bloomBitsPerKey avoids disk reads for absent documents.
	bloomBitsPerKey = 10
	maxCompactions  = 2
	walBytesPerSync = 1 << 20
)

// Options configure a Store. The zero value works.
type Options struct {
	// CacheBytes bounds Pebble's block cache: rows and the compressed values of segments.
	// The default is 128 MiB; Pebble's default of 8 MiB would retain no posting lists or
	// frames.
	CacheBytes int64
	// Cache is a block cache that several stores share, in place of one of CacheBytes.
	// The cache metrics then cover all of them.
	Cache *Cache
	// FileSystem replaces the disk, as in tests. Nil means the disk.
	FileSystem FileSystem
	// ReadOnly opens a store without writing to it, to read as much as possible although
	// its files may be damaged.
	ReadOnly bool
	// Remedy ends the message of an error about damaged files with an instruction, as an
	// imperative. The default is to rebuild with quarry replay.
	Remedy string
	// OnDamage is called when a read or a compaction finds a damaged file, possibly
	// several times for the same file. It must not block or use the store. The default
	// logs the damage.
	OnDamage func(*DamageError)
	// DiskFull is called when a write fails because the disk is full. It may free space,
	// or wait until there is some. Then the write is retried once; other writes wait
	// until then.
	DiskFull func()
	// Logger logs Pebble's messages at levels above info; optional.
	Logger *slog.Logger
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Validate returns an error if the options cannot work.
func (o Options) Validate() error {
	if o.CacheBytes != 0 && o.CacheBytes < MinCacheBytes {
		return fmt.Errorf("store: cache of %d bytes: want at least %d", o.CacheBytes, int64(MinCacheBytes))
	}
	return nil
}

func (o *Options) ensureDefaults() {
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Remedy == "" {
		o.Remedy = "rebuild them from the log with quarry replay"
	}
	if o.OnDamage == nil {
		o.OnDamage = func(d *DamageError) { o.Logger.Error("a file of the store is damaged", "error", d) }
	}
}

// FileSystem holds the files of a store.
type FileSystem = vfs.FS

func (o *Options) fileSystem() vfs.FS {
	fs := vfs.FS(noRecycleFS{vfs.Default})
	if o.FileSystem != nil {
		fs = o.FileSystem
	}
	if o.DiskFull != nil {
		fs = vfs.OnDiskFull(fs, o.DiskFull)
	}
	return fs
}

// noRecycleFS is a file system in which a reused file of the write-ahead log is empty at
// first, because its old content would include deleted rows.
type noRecycleFS struct{ vfs.FS }

// ReuseForWrite implements vfs.FS.
func (fs noRecycleFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.Remove(old); err != nil {
		return nil, err
	}
	return fs.Create(name, category)
}

// pebbleOptions converts the options to Pebble's.
func (o *Options) pebbleOptions(dir string, fs vfs.FS, lock *pebble.Lock) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		Lock:                        lock,
		Cache:                       o.Cache.pebbleCache(),
		CacheSize:                   o.CacheBytes,
		FormatMajorVersion:          pebble.FormatValueSeparation,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: maxMemTables,
		MaxOpenFiles:                maxOpenFiles,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       32,
		WALBytesPerSync:             walBytesPerSync,
		CompactionConcurrencyRange:  func() (int, int) { return 1, maxCompactions },
		Logger: pebblelog.Logger{
			Logger: o.Logger, Dir: dir,
			Fatal: "the store cannot continue: if its disk is full or fails, free some space or replace it; if its files are damaged, " + o.Remedy,
		},
		ReadOnly:          o.ReadOnly,
		DisableTableStats: o.ReadOnly,
	}
	// Pebble's default listener exits the process.
	p.EventListener = &pebble.EventListener{DataCorruption: func(info pebble.DataCorruptionInfo) {
		o.OnDamage(newDamageError(&info, o.Remedy))
	}}
	for i := range p.Levels {
		p.Levels[i].BlockSize = blockBytes
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
		p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
	}
	return p
}
