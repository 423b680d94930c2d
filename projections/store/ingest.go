package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// incomingDir holds files on their way to IngestSegment, in the directory of
// the store so that Pebble can link them.
const incomingDir = "incoming"

// Incoming returns the path for a file with the given name that IngestSegment
// will take. A file that a dead process left there is removed.
func (s *Store) Incoming(name string) (string, error) {
	dir := filepath.Join(os.TempDir(), "quarry-"+strconv.Itoa(os.Getpid()))
	if s.onDisk {
		dir = filepath.Join(s.dir, incomingDir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("store: %w", err)
	}
	return path, nil
}

// HasSegment reports whether the store holds keys from lo to hi.
func (s *Store) HasSegment(lo, hi []byte) (bool, error) {
	it, err := s.Iter(lo, hi)
	if err != nil {
		return false, err
	}
	found := it.First()
	return found, it.Close()
}

// IngestSegment adds the sstable in the file path, whose keys all lie between
// lo and hi, and removes the file. It is durable when it returns. A segment
// that is there already is left as it is. Two calls for one segment must not
// run at once.
func (s *Store) IngestSegment(ctx context.Context, lo, hi []byte, path string) error {
	found, err := s.HasSegment(lo, hi)
	if err != nil {
		return err
	}
	if found {
		return os.Remove(path)
	}
	if !s.onDisk {
		if path, err = s.copyIn(path); err != nil {
			return err
		}
	}
	if err := s.db.Ingest(ctx, []string{path}); err != nil {
		if pebble.IsCorruptionError(err) && pebble.ExtractDataCorruptionInfo(err) == nil {
			return errors.Join(fmt.Errorf("store: ingest %s: %w: %w", path, ErrTable, err), os.Remove(path))
		}
		return fmt.Errorf("store: ingest %s: %w", path, s.explainDamage(err))
	}
	// Pebble removes the file it has linked; it may have copied it across devices.
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: ingest: remove %s: %w", path, err)
	}
	return nil
}

// ErrTable says that the file of a segment is damaged and was not taken.
var ErrTable = errors.New("the file of the segment is damaged")

// ReplaceSegment is IngestSegment for a segment whose keys in the store, if there are
// any, cannot be read: those go and the file's come as one. A file that is damaged is
// removed: ErrTable, and the store is as it was.
func (s *Store) ReplaceSegment(ctx context.Context, lo, hi []byte, path string) (err error) {
	if !s.onDisk {
		if path, err = s.copyIn(path); err != nil {
			return err
		}
	}
	_, err = s.db.IngestAndExcise(ctx, []string{path}, nil, nil, pebble.KeyRange{Start: lo, End: hi})
	if removed := s.fs.Remove(path); removed != nil && !errors.Is(removed, os.ErrNotExist) && err == nil {
		err = removed
	}
	if err != nil && pebble.IsCorruptionError(err) && pebble.ExtractDataCorruptionInfo(err) == nil {
		return fmt.Errorf("store: ingest %s: %w: %w", path, ErrTable, err)
	}
	if err != nil {
		return fmt.Errorf("store: ingest %s: %w", path, s.explainDamage(err))
	}
	return nil
}

// copyIn moves a file of the disk into the file system of a test.
func (s *Store) copyIn(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	name := s.fs.PathJoin(s.dir, "ingest-"+s.fs.PathBase(path))
	out, err := s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	return name, errors.Join(err, out.Sync(), out.Close(), os.Remove(path))
}

// Excise removes everything from lo to hi at once, from snapshots too, without
// writing tombstones. What dropped the segment must be durable: Excise syncs
// before.
func (s *Store) Excise(ctx context.Context, lo, hi []byte) error {
	if err := s.Sync(); err != nil {
		return err
	}
	if err := s.db.Excise(ctx, pebble.KeyRange{Start: lo, End: hi}); err != nil {
		return fmt.Errorf("store: excise %x: %w", lo, err)
	}
	return nil
}
