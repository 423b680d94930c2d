package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quarrysearch/quarry/schemas/event"
)

// tablesFormat is the format of the tables of rows. Every store of this program or a later
// one ingests it.
const tablesFormat = pebble.FormatColumnarBlocks

// tableBytes is the size at which a table of rows ends, so that a reader fetches and checks
// several of them at once.
const tableBytes = 32 << 20

// ctxCheckRows is the number of rows after which a scan checks its context.
const ctxCheckRows = 1024

// Table is a file with rows, in the order of their keys.
type Table struct {
	Path string
	Rows int64
}

// RowEdit returns the value with which a row is written to a table. It must not retain the
// slices.
type RowEdit func(key, value []byte) ([]byte, error)

// tableWriter writes one table. All of its keys have one family, so that the tables of a
// family stay apart from those of others when a store ingests them.
type tableWriter struct {
	Table
	w      *sstable.Writer
	family byte
}

// Range is the keys from Lo (inclusive) to Hi (exclusive).
type Range struct{ Lo, Hi []byte }

// WriteTables writes the rows of the snapshot with keys in the ranges, which ascend, to tables
// in dir, which no other call uses. It calls done for each table, in order; the file then
// belongs to done.
func (s *Snapshot) WriteTables(ctx context.Context, dir string, ranges []Range, edit RowEdit, done func(Table) error) (err error) {
	it, err := s.Iter(nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var t *tableWriter
	defer func() {
		if t != nil {
			_, _ = t.w.Close(), os.Remove(t.Path) // after an error
		}
	}()
	finish := func() error {
		if t == nil {
			return nil
		}
		ended := t
		t = nil
		if err := ended.w.Close(); err != nil {
			return fmt.Errorf("store: table of rows: %w", errors.Join(err, os.Remove(ended.Path)))
		}
		return done(ended.Table)
	}
	o := &pebble.Options{FormatMajorVersion: tablesFormat}
	o.EnsureDefaults()
	format := o.MakeWriterOptions(6, tablesFormat.MaxTableFormat())
	format.BlockSize, format.FilterPolicy, format.Compression = blockBytes, bloom.FilterPolicy(bloomBitsPerKey), sstable.FastestCompression
	version, n := versionKey(), 0
	writeRow := func(key, value []byte) error {
		if n++; n%ctxCheckRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if string(key) == string(version) {
			return nil // the store that ingests the tables has written its version
		}
		if t != nil && (t.family != key[0] || t.w.Raw().EstimatedSize() >= tableBytes) {
			if err := finish(); err != nil {
				return err
			}
		}
		if t == nil {
			path := filepath.Join(dir, "rows-"+strconv.Itoa(n))
			f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
			if err != nil {
				return fmt.Errorf("store: table of rows: %w", err)
			}
			t = &tableWriter{Table: Table{Path: path}, w: sstable.NewWriter(objstorageprovider.NewFileWritable(f), format), family: key[0]}
		}
		value, err := edit(key, value)
		if err == nil {
			err = t.w.Set(key, value)
		}
		if err != nil {
			return fmt.Errorf("store: table of rows: row %q: %w", key, err)
		}
		t.Rows++
		return nil
	}
	for _, r := range ranges {
		for ok := it.SeekGE(r.Lo); ok && bytes.Compare(it.Key(), r.Hi) < 0; ok = it.Next() {
			if err := writeRow(it.Key(), it.Value()); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(it.Err(), ctx.Err()); err != nil {
		return err
	}
	return finish()
}

// IngestTables adds the tables at the given paths, which must not overlap, and removes the
// files. It is atomic, and durable when it returns. It returns ErrTable if a file is
// damaged.
func (s *Store) IngestTables(ctx context.Context, paths []string) error {
	err := s.db.Ingest(ctx, paths)
	if err != nil && pebble.IsCorruptionError(err) && pebble.ExtractDataCorruptionInfo(err) == nil {
		err = fmt.Errorf("%w: %w", ErrTable, err)
	}
	for _, path := range paths {
		// Pebble removes a file that it linked, but it may have copied it across devices.
		if removed := os.Remove(path); removed != nil && !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	if err != nil {
		return fmt.Errorf("store: ingest %d tables: %w", len(paths), s.explainDamage(err))
	}
	return nil
}

// Families returns the families of which the store has rows, in the order of the keys.
func (s *Store) Families() (found []Family, err error) {
	it, err := s.Iter(nil, nil)
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; {
		family := it.Key()[0]
		found = append(found, Family(family))
		if family == 0xff {
			break
		}
		ok = it.SeekGE([]byte{family + 1})
	}
	return found, it.Close()
}

// Checkpoint is Store.Checkpoint at the time of the snapshot.
func (s *Snapshot) Checkpoint(partition int32) (event.Offset, error) {
	return readCheckpoint(s, event.TopicEvents, partition, s.s.remedy)
}
