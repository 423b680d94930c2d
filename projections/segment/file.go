package segment

import (
	"context"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quarrysearch/quarry/schemas/code"
)

// File is a sealed segment outside a store.
type File struct {
	*Reader
	table *sstable.Reader
}

// OpenFile opens the table at path. Frames are cached in c, or not at all if c is nil.
func OpenFile(path string, c *Cache) (*File, error) {
	f, err := vfs.Default.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	size, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open segment %s: %w", path, err)
	}
	readable, err := objstorageprovider.NewFileReadable(f, vfs.Default, objstorageprovider.NewReadaheadConfig(), path)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open segment %s: %w", path, err)
	}
	table, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return nil, fmt.Errorf("open segment %s: %w", path, err)
	}
	file, err := openTable(table, c)
	if err != nil {
		_ = table.Close()
		return nil, fmt.Errorf("open segment %s: %w", path, err)
	}
	file.size = size.Size()
	return file, nil
}

func openTable(table *sstable.Reader, c *Cache) (*File, error) {
	it, err := table.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, err
	}
	defer func() { _ = it.Close() }()
	kv := it.First()
	if kv == nil {
		return nil, fmt.Errorf("%w: empty table", ErrCorrupt)
	}
	id, ok := IDOfKey(kv.K.UserKey)
	if !ok {
		return nil, fmt.Errorf("%w: key %q", ErrCorrupt, kv.K.UserKey)
	}
	r, err := Open(tableSource{table}, id, c)
	return &File{Reader: r, table: table}, err
}

// Close closes the file. Cached frames remain.
func (f *File) Close() error { return f.table.Close() }

// tableSource reads keys of a table, with a new iterator for each.
type tableSource struct{ table *sstable.Reader }

func (s tableSource) Get(key []byte) ([]byte, io.Closer, error) {
	value, closer, err := s.get(key)
	if err != nil && pebble.IsCorruptionError(err) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return value, closer, err
}

func (s tableSource) get(key []byte) ([]byte, io.Closer, error) {
	it, err := s.table.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, nil, err
	}
	kv := it.SeekGE(key, 0)
	if kv == nil || string(kv.K.UserKey) != string(key) {
		err := it.Error()
		_ = it.Close()
		if err == nil {
			err = fmt.Errorf("key %q: %w", key, code.ErrNotFound)
		}
		return nil, nil, err
	}
	value, _, err := kv.Value(nil)
	if err != nil {
		_ = it.Close()
		return nil, nil, err
	}
	return value, it, nil
}

var _ Source = (*pebble.DB)(nil)
