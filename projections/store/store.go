package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors of Open.
var (
	// ErrLocked reports that another process, or another Store in this process, has the
	// directory open.
	ErrLocked = errors.New("directory is in use")
	// ErrFormat reports that a newer version of Quarry wrote the directory.
	ErrFormat = errors.New("format is not supported")
	// ErrNoKey is the error of Get for a key that does not exist.
	ErrNoKey = pebble.ErrNotFound
)

// ownerFile contains the process ID of the store's owner. It is only used for the message
// of ErrLocked.
const ownerFile = "OWNER"

// Reader reads rows. It is a Store, a Snapshot, or a Batch, which reads the store as it
// was before the batch.
type Reader interface {
	// Read returns the value of key, and reports whether there is one. The caller may
	// modify the value.
	Read(key []byte) (value []byte, ok bool, err error)
	// Iter returns an iterator over the keys from lo (inclusive) to hi (exclusive; nil
	// for no bound). The caller must close it.
	Iter(lo, hi []byte) (*Iterator, error)
}

// Store is an open directory of projections.
type Store struct {
	dir     string
	fs      vfs.FS
	onDisk  bool
	db      *pebble.DB
	lock    *pebble.Lock
	metrics *metrics
	// remedy ends the message of an error about damaged files.
	remedy string
}

var _ Reader = (*Store)(nil)

// Open opens the store in dir, and creates it if it does not exist. It returns ErrLocked
// if another process has the store open, and ErrFormat if a newer version wrote it. The
// caller must close the store.
func Open(dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.ensureDefaults()
	s := &Store{dir: dir, fs: o.fileSystem(), onDisk: o.FileSystem == nil, remedy: o.Remedy}
	if err := s.fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: create %s: %w", dir, err)
	}
	if err := s.lockDirectory(); err != nil {
		return nil, err
	}
	if err := s.open(&o); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

func (s *Store) open(o *Options) error {
	// A read-only store must not delete files.
	if s.onDisk && !o.ReadOnly {
		if err := integrity.CheckRecords(s.dir); err != nil {
			return fmt.Errorf("store: open: %w; %s", err, s.remedy)
		}
	}
	db, err := pebble.Open(s.dir, o.pebbleOptions(s.dir, s.fs, s.lock))
	switch {
	case isMachineError(err):
		return fmt.Errorf("store: open %s: %w", s.dir, err)
	case err != nil:
		// Treat any other failure to read the rows as damage.
		return fmt.Errorf("store: open %s: %w: %w; %s", s.dir, integrity.ErrDamaged, err, s.remedy)
	}
	s.db = db
	if err := s.checkFormat(); err != nil {
		return errors.Join(err, db.Close())
	}
	s.metrics = newMetrics(o.Registerer, s)
	return nil
}

// isMachineError reports whether an error is caused by the machine rather than the files
// of the store.
func isMachineError(err error) bool {
	return errors.Is(err, fs.ErrPermission) || slices.ContainsFunc(
		[]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM},
		func(e error) bool { return errors.Is(err, e) })
}

// lockDirectory locks the directory and writes this process's ID next to the lock.
func (s *Store) lockDirectory() error {
	lock, err := pebble.LockDirectory(s.dir, s.fs)
	if err != nil {
		return fmt.Errorf("store: another quarry process%s holds %s; stop it, or choose another data directory: %w (%w)",
			s.ownerSuffix(), s.dir, ErrLocked, err)
	}
	s.lock = lock
	if s.onDisk {
		// Ignore errors: the file only improves a message.
		_ = os.WriteFile(filepath.Join(s.dir, ownerFile), []byte(strconv.Itoa(os.Getpid())), 0o600)
	}
	return nil
}

// ownerSuffix returns " (pid N)" if the process that holds the lock wrote its ID.
func (s *Store) ownerSuffix() string {
	if !s.onDisk {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(s.dir, ownerFile))
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || convErr != nil || pid <= 0 {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// checkFormat writes the format version to a new store, and refuses a store of a newer
// version.
func (s *Store) checkFormat() error {
	value, ok, err := s.Read(versionKey())
	if err != nil {
		return err
	}
	if !ok {
		stamp := binary.BigEndian.AppendUint32(nil, FormatVersion)
		return s.db.Set(versionKey(), stamp, pebble.Sync)
	}
	if len(value) != 4 {
		return fmt.Errorf("store: %s: format version of %d bytes: %w", s.dir, len(value), ErrFormat)
	}
	if v := binary.BigEndian.Uint32(value); v != FormatVersion {
		return fmt.Errorf("store: %s has format version %d and this program knows %d; use the program that wrote it, or %s: %w",
			s.dir, v, FormatVersion, s.remedy, ErrFormat)
	}
	return nil
}

// Close flushes only what Pebble must flush, and releases the directory. All iterators
// and snapshots must be closed first.
func (s *Store) Close() error {
	s.metrics.group.Close()
	err := s.db.Close()
	if s.onDisk {
		_ = os.Remove(filepath.Join(s.dir, ownerFile))
	}
	return errors.Join(err, s.lock.Close())
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// Get returns the value of key without copying it; the caller must close closer when done
// with the value. Segments are read through it. If the key does not exist, it returns
// Pebble's error.
func (s *Store) Get(key []byte) (value []byte, closer io.Closer, err error) {
	value, closer, err = s.db.Get(key)
	return value, closer, s.explainDamage(err)
}

// Read implements Reader.
func (s *Store) Read(key []byte) ([]byte, bool, error) { return s.read(s.db, key) }

// Iter implements Reader.
func (s *Store) Iter(lo, hi []byte) (*Iterator, error) { return s.newIterator(s.db, lo, hi) }

// Sync returns when every batch committed so far is durable.
func (s *Store) Sync() error {
	if err := s.db.LogData(nil, pebble.Sync); err != nil {
		return fmt.Errorf("store: sync: %w", err)
	}
	return nil
}

// Checkpoint returns the offset of the next record of a partition of event.TopicEvents to
// apply; 0 if none is applied.
func (s *Store) Checkpoint(partition int32) (event.Offset, error) {
	return s.TopicCheckpoint(event.TopicEvents, partition)
}

// TopicCheckpoint is a Checkpoint for any topic.
func (s *Store) TopicCheckpoint(topic event.Topic, partition int32) (event.Offset, error) {
	return readCheckpoint(s, topic, partition, s.remedy)
}

func readCheckpoint(r Reader, topic event.Topic, partition int32, remedy string) (event.Offset, error) {
	value, ok, err := r.Read(checkpointKey(topic, partition))
	if err != nil || !ok {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("store: checkpoint of %s/%d has %d bytes, want 8; %s", topic, partition, len(value), remedy)
	}
	return event.Offset(binary.BigEndian.Uint64(value)), nil
}

// Schema returns the schema version of the projection's rows in the store; 0 if there are
// none.
func (s *Store) Schema(projection string) (int, error) {
	value, ok, err := s.Read(schemaKey(projection))
	if err != nil || !ok {
		return 0, err
	}
	if len(value) != 4 {
		return 0, fmt.Errorf("store: schema version of %s has %d bytes, want 4; %s", projection, len(value), s.remedy)
	}
	return int(binary.BigEndian.Uint32(value)), nil
}

// Snapshots returns the number of open snapshots.
func (s *Store) Snapshots() int { return s.db.Metrics().Snapshots.Count }

// CompactRows rewrites the rows without those that are deleted or replaced and that no
// snapshot sees, and starts a new write-ahead log. It does not touch segments.
func (s *Store) CompactRows(ctx context.Context) error {
	// Pebble keeps files of the write-ahead log for reuse, one for each flush.
	for range maxMemTables + 2 {
		if err := s.db.Flush(); err != nil {
			return fmt.Errorf("store: flush: %w", s.explainDamage(err))
		}
	}
	if err := s.db.Compact(ctx, []byte{0}, []byte{byte(FamilySegments)}, false); err != nil {
		return fmt.Errorf("store: compact rows: %w", s.explainDamage(err))
	}
	return nil
}

// Backup writes a copy of the current store to the directory dest, which must not exist.
// It links files if possible, which takes milliseconds and no space.
func (s *Store) Backup(dest string) error {
	if err := s.db.Checkpoint(dest, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("store: backup of %s to %s: %w", s.dir, dest, err)
	}
	return nil
}

// getter is the common interface of Pebble's databases and snapshots.
type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
	NewIter(o *pebble.IterOptions) (*pebble.Iterator, error)
}

func (s *Store) read(g getter, key []byte) ([]byte, bool, error) {
	value, closer, err := g.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("store: read %q: %w", key, s.explainDamage(err))
	}
	own := append([]byte(nil), value...)
	return own, true, closer.Close()
}

// Remove deletes the store in dir. It returns ErrLocked if the store is open. It is not
// an error if the store does not exist.
func Remove(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	s := &Store{dir: dir, fs: vfs.Default}
	if err := s.lockDirectory(); err != nil {
		return err
	}
	err := os.RemoveAll(dir)
	return errors.Join(err, s.lock.Close())
}
