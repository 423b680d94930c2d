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

// ErrCursor says that a cursor is none that List has made.
var ErrCursor = errors.New("cursor is not valid")

// cursor is where a page ended: for each partition that has more, the offset below
// which to go on, as pairs of uvarints in URL-safe base64. Deliveries that arrive
// meanwhile do not shift the following pages.
type cursor string

// maxCursorBytes bounds a cursor that is read: a thousand partitions.
const maxCursorBytes = 16 << 10

func cursorOf(bounds map[int32]event.Offset) cursor {
	var b []byte
	for _, partition := range slices.Sorted(maps.Keys(bounds)) {
		b = binary.AppendUvarint(b, uint64(partition))
		b = binary.AppendUvarint(b, uint64(bounds[partition]))
	}
	return cursor(base64.RawURLEncoding.EncodeToString(b))
}

// decodeBounds returns what cursorOf was given; nil for the empty cursor.
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
