package deliveries

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrCursor reports that a cursor does not come from List.
var ErrCursor = errors.New("cursor is not valid")

// cursor is the end of a page: for each partition with more deliveries, the offset below
// which to continue, as pairs of uvarints in URL-safe base64. New deliveries do not shift
// the following pages.
type cursor string

// maxCursorBytes bounds the cursors that are parsed. It allows a thousand partitions.
const maxCursorBytes = 16 << 10

func cursorOf(bounds map[int32]event.Offset) cursor {
	var b []byte
	for _, partition := range slices.Sorted(maps.Keys(bounds)) {
		b = binary.AppendUvarint(b, uint64(partition))
		b = binary.AppendUvarint(b, uint64(bounds[partition]))
	}
	return cursor(base64.RawURLEncoding.EncodeToString(b))
}

// decodeBounds returns the arguments of cursorOf, or nil for the empty cursor.
func (c cursor) decodeBounds() (map[int32]event.Offset, error) {
	if c == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(c) > maxCursorBytes {
		return nil, fmt.Errorf("%w: %.40q", ErrCursor, string(c))
	}
	bounds := map[int32]event.Offset{}
	for len(b) > 0 {
		partition, n := binary.Uvarint(b)
		offset, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 || partition > 1<<31-1 || offset > 1<<63-1 {
			return nil, fmt.Errorf("%w: %.40q", ErrCursor, string(c))
		}
		bounds[int32(partition)] = event.Offset(offset)
		b = b[n+m:]
	}
	return bounds, nil
}
