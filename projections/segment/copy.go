package segment

import (
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Iterator iterates over the keys of one segment, those of KeyRange, in order.
// *store.Iterator implements it.
type Iterator interface {
	First() bool
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
}

// Copy writes a segment of a store to a table at path and returns its size. The table is
// identical to the output of Builder.Finish, if this version of the program wrote it. The
// store verifies checksums, so Copy returns an error for a damaged segment.
func Copy(path string, from Iterator) (size int64, err error) {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, fmt.Errorf("copy segment: %w", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), writerOptions())
	keys := 0
	for ok := from.First(); ok && err == nil; ok = from.Next() {
		err = w.Set(from.Key(), from.Value())
		keys++
	}
	if err == nil {
		err = from.Err()
	}
	if err == nil && keys == 0 {
		err = fmt.Errorf("%w: it has no keys", ErrCorrupt)
	}
	if err != nil {
		_ = w.Close()
	} else {
		err = w.Close() // syncs
	}
	if err != nil {
		_ = os.Remove(path)
		return 0, fmt.Errorf("copy segment: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("copy segment: %w", err)
	}
	return info.Size(), nil
}
