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

// incomingDir contains files for IngestSegment. It is in the directory of the store so
// that Pebble can link the files.
const incomingDir = "incoming"

// Incoming returns the path for a file with the given name to pass to IngestSegment. It
// removes a file that a crashed process left there.
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

// HasSegment reports whether the store contains keys from lo to hi.
func (s *Store) HasSegment(lo, hi []byte) (bool, error) {
	it, err := s.Iter(lo, hi)
	if err != nil {
		return false, err
	}
	found := it.First()
	return found, it.Close()
}

// IngestSegment adds the sstable at path, whose keys must all be between lo and hi, and
// removes the file. It is durable when it returns. If the segment already exists, it is
// left unchanged. Concurrent calls for the same segment are not allowed.
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
	// Pebble removes the file if it linked it, but it may have copied it across devices.
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: ingest: remove %s: %w", path, err)
	}
	return nil
}

// ErrTable reports that the file of a segment is damaged and was not ingested.
var ErrTable = errors.New("the file of the segment is damaged")

// ReplaceSegment is an IngestSegment for a segment whose keys in the store, if there are
// any, cannot be read: it atomically replaces them with those of the file. It removes a
// damaged file, returns ErrTable and leaves the store unchanged.
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

// copyIn moves a file from the disk to the file system of a test.
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

// Excise immediately removes all keys from lo to hi, even from snapshots, without writing
// tombstones. The change that dropped the segment must be durable, so Excise syncs first.
func (s *Store) Excise(ctx context.Context, lo, hi []byte) error {
	if err := s.Sync(); err != nil {
		return err
	}
	if err := s.db.Excise(ctx, pebble.KeyRange{Start: lo, End: hi}); err != nil {
		return fmt.Errorf("store: excise %x: %w", lo, err)
	}
	return nil
}
