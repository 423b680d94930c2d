package embeddedlog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/internal/gather"
	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/pebblelog"
)

// fatalMessage is logged for the operator when Pebble cannot continue.
const fatalMessage = "the event log cannot continue: if its disk is full or fails, free some space or replace it; if its files are damaged, restore them from a backup, see \"Damage\" in the manual of operations"

// ErrLocked means that another process, or another Log in this process, has the directory
// open.
var ErrLocked = errors.New("another process holds the directory")

// MaxTopics bounds the topics of a log.
const MaxTopics = 256

// maxBatchBytes bounds the bytes of one sync, and so how long an urgent append waits for
// the batch that is being written.
const maxBatchBytes = 1 << 20

const (
	memTableBytes = 16 << 20
	// maxMemTables and maxSublevels stop appends only when three flushes, or many
	// compactions, are pending.
	maxMemTables = 4
	maxSublevels = 32
)

// Log is an event log in a directory. It implements eventlog.Log.
type Log struct {
	dir        string
	opts       Options
	partitions int32
	metrics    *metrics
	db         *pebble.DB
	lock       *pebble.Lock
	queue      *gather.Queue[*pendingAppend]
	// closing is closed when Close begins; it ends every wait.
	closing chan struct{}
	// use is locked for reading while db is in use, and for writing to close it.
	use sync.RWMutex
	mu  struct {
		sync.Mutex
		closed bool
		topics map[event.Topic]*topic
		groups map[groupID]*group
	}
}

var _ eventlog.Log = (*Log)(nil)

// topic is the state of a topic's partitions.
type topic struct {
	partitions []*partition
}

// Open opens the log in dir, and creates it if the directory is empty or missing. It
// fails with ErrLocked if another process has it open. The caller must close the log.
func Open(dir string, opts Options) (*Log, error) {
	l, err := open(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("open event log in %s: %w", dir, err)
	}
	return l, nil
}

func open(dir string, opts Options) (*Log, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{dir: dir, opts: opts, closing: make(chan struct{})}
	l.mu.topics = make(map[event.Topic]*topic)
	l.mu.groups = make(map[groupID]*group)
	l.queue = gather.New(maxBatchBytes, opts.MaxWaitingBytes, l.write)
	if opts.ReadOnly {
		if _, err := opts.fs.Stat(dir); err != nil {
			return nil, err
		}
	}
	if l.lock, err = lockDirectory(dir, opts.fs); err != nil {
		return nil, err
	}
	if vfs.Root(opts.fs) == vfs.Default {
		// Otherwise Pebble would open an older state of a damaged log, and delete the
		// later records.
		if err := integrity.CheckRecords(dir); err != nil {
			return nil, errors.Join(l.explainDamage(err), l.lock.Close())
		}
	}
	if l.db, err = l.openPebble(); err != nil {
		return nil, errors.Join(l.explainDamage(err), l.lock.Close())
	}
	if err := l.loadMeta(); err != nil {
		return nil, errors.Join(l.explainDamage(err), l.db.Close(), l.lock.Close())
	}
	// Last, so that a failed Open can be retried with the same registry.
	l.metrics = newMetrics(opts.Registerer)
	registerDiskBytes(opts.Registerer, l)
	return l, nil
}

// directoryMode denies access to other users, because events contain names and addresses.
const directoryMode = 0o700

func lockDirectory(dir string, fs vfs.FS) (*pebble.Lock, error) {
	if err := fs.MkdirAll(dir, directoryMode); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("%w (%w): stop it, or use another data directory", ErrLocked, err)
	}
	return lock, nil
}

func (l *Log) openPebble() (*pebble.DB, error) {
	return pebble.Open(l.dir, &pebble.Options{
		FS:        l.opts.fs,
		Lock:      l.lock,
		CacheSize: l.opts.CacheBytes,
		// Pinned: a new release of Pebble must not make a directory unreadable to the
		// previous release of Quarry.
		FormatMajorVersion: pebble.FormatValueSeparation,
		MemTableSize:       memTableBytes,
		// A disk that is busy with segments and merges flushes late; appends continue in
		// the meantime.
		MemTableStopWritesThreshold: maxMemTables,
		L0StopWritesThreshold:       maxSublevels,
		Logger:                      pebblelog.Logger{Logger: l.opts.Logger, Dir: l.dir, Fatal: fatalMessage},
		ReadOnly:                    l.opts.ReadOnly,
		// Pebble's default listener ends the process, even if no reader needs the damaged
		// record.
		EventListener: &pebble.EventListener{DataCorruption: func(info pebble.DataCorruptionInfo) {
			l.opts.Logger.Error("a file of the event log is damaged", "path", info.Path, "error", l.explainDamage(info.Details))
		}},
	})
}

// loadMeta reads the number of partitions, or stores it in a new log.
func (l *Log) loadMeta() error {
	value, closer, err := l.db.Get(metaKey)
	if errors.Is(err, pebble.ErrNotFound) && l.opts.ReadOnly {
		return errors.New("it holds no event log")
	}
	if errors.Is(err, pebble.ErrNotFound) {
		return l.createMeta()
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if l.partitions, err = decodeMeta(value); err != nil {
		return err
	}
	if want := l.opts.Partitions; want != 0 && want != l.partitions {
		return fmt.Errorf("it has %d partitions, %d are configured: the number is fixed when a log is created", l.partitions, want)
	}
	return nil
}

func (l *Log) createMeta() error {
	l.partitions = l.opts.Partitions
	if l.partitions == 0 {
		l.partitions = DefaultPartitions
	}
	return l.db.Set(metaKey, encodeMeta(l.partitions), pebble.Sync)
}

// Close implements eventlog.Log. It first writes the accepted appends. A second Close
// does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	closed := l.mu.closed
	l.mu.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	close(l.closing)
	l.queue.Close()
	l.use.Lock()
	defer l.use.Unlock()
	if err := errors.Join(l.db.Close(), l.lock.Close()); err != nil {
		return fmt.Errorf("close event log in %s: %w", l.dir, err)
	}
	return nil
}

// acquireDB keeps db open until release is called.
func (l *Log) acquireDB() (release func(), err error) {
	l.use.RLock()
	select {
	case <-l.closing:
		l.use.RUnlock()
		return nil, eventlog.ErrClosed
	default:
		return l.use.RUnlock, nil
	}
}

// Partitions implements eventlog.Log. Every topic has the log's number of partitions,
// except topics that always have one, and exists from its first use.
func (l *Log) Partitions(_ context.Context, name event.Topic) (int32, error) {
	if err := eventlog.CheckName(string(name)); err != nil {
		return 0, fmt.Errorf("partitions of topic: %w", err)
	}
	return l.partitionsOf(name), nil
}

func (l *Log) partitionsOf(name event.Topic) int32 {
	if name.Single() {
		return 1
	}
	return l.partitions
}

// HighWater implements eventlog.Log.
func (l *Log) HighWater(_ context.Context, name event.Topic) ([]event.Offset, error) {
	t, err := l.ensureTopic(name)
	if err != nil {
		return nil, fmt.Errorf("high-water marks of %s: %w", name, err)
	}
	ends := make([]event.Offset, len(t.partitions))
	for i, p := range t.partitions {
		ends[i], _ = p.endOffset()
	}
	return ends, nil
}

// ensureTopic returns the state of a topic; at the first use it reads the ends of its
// partitions.
func (l *Log) ensureTopic(name event.Topic) (*topic, error) {
	release, err := l.acquireDB()
	if err != nil {
		return nil, err
	}
	defer release()
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.mu.topics[name]; t != nil {
		return t, nil
	}
	if err := eventlog.CheckName(string(name)); err != nil {
		return nil, fmt.Errorf("topic: %w", err)
	}
	if len(l.mu.topics) >= MaxTopics {
		return nil, fmt.Errorf("topic %s: the log has %d topics already", name, MaxTopics)
	}
	t := &topic{partitions: make([]*partition, l.partitionsOf(name))}
	for i := range t.partitions {
		if t.partitions[i], err = l.loadPartition(name, int32(i)); err != nil {
			return nil, err
		}
	}
	l.mu.topics[name] = t
	return t, nil
}

// partitionOf returns one partition of a topic.
func (l *Log) partitionOf(name event.Topic, number int32) (*partition, error) {
	t, err := l.ensureTopic(name)
	if err != nil {
		return nil, err
	}
	if err := eventlog.CheckPartition(number, int32(len(t.partitions)), false); err != nil {
		return nil, err
	}
	return t.partitions[number], nil
}
