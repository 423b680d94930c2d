package segment

import "bytes"

// cacheFrames is how many frames one Text adds to the shared cache: what a query
// for a screen of results needs. A scan that reads more decompresses into a
// buffer of its own and leaves the cache to the others.
const cacheFrames = 256

// A Text reads pieces of a segment's text space. It remembers the last frame,
// so it is cheap to read on from where one is. It belongs to one goroutine.
type Text struct {
	r       *Reader
	n       int // number of the current frame, -1 for none
	frame   []byte
	scratch []byte // a frame that is not in the cache
	joined  []byte // a piece that spans frames
	added   int
	loaded  int64
}

// NewText returns a Text of a segment.
func NewText(r *Reader) *Text { return &Text{r: r, n: -1} }

// Reset makes t read another segment, with its buffers.
func (t *Text) Reset(r *Reader) {
	t.r, t.n, t.frame = r, -1, nil
}

// LoadedBytes returns how much text was decompressed.
func (t *Text) LoadedBytes() int64 { return t.loaded }

// Bytes returns the text from lo up to hi. The result is valid until the next
// call of a method and must not be changed.
func (t *Text) Bytes(lo, hi int) ([]byte, error) {
	if lo >= hi {
		return nil, nil
	}
	if lo/FrameBytes == (hi-1)/FrameBytes {
		base := lo / FrameBytes * FrameBytes
		if err := t.load(lo / FrameBytes); err != nil {
			return nil, err
		}
		return t.frame[lo-base : hi-base], nil
	}
	t.joined = t.joined[:0]
	for lo < hi {
		n := lo / FrameBytes
		if err := t.load(n); err != nil {
			return nil, err
		}
		end := min(hi, (n+1)*FrameBytes)
		t.joined = append(t.joined, t.frame[lo-n*FrameBytes:end-n*FrameBytes]...)
		lo = end
	}
	return t.joined, nil
}

// load makes n the current frame.
func (t *Text) load(n int) error {
	if t.n == n {
		return nil
	}
	key := frameKey{t.r.id, uint32(n)}
	cache := t.r.cache
	if cache != nil {
		if frame, ok := cache.get(key); ok {
			t.n, t.frame = n, frame
			return nil
		}
	}
	if cache == nil || t.added >= cacheFrames {
		frame, err := t.r.frame(n, t.scratch)
		if err != nil {
			return err
		}
		t.scratch, t.frame, t.n = frame, frame, n
		t.loaded += int64(len(frame))
		return nil
	}
	frame, err := t.r.frame(n, make([]byte, 0, FrameBytes))
	if err != nil {
		return err
	}
	cache.put(key, frame)
	t.added++
	t.frame, t.n = frame, n
	t.loaded += int64(len(frame))
	return nil
}

// Lines returns the number of line feeds in the document from its start to an
// offset of the text space that lies in it.
func (t *Text) Lines(d DocID, offset int) (int, error) {
	n := offset / FrameBytes
	base := n * FrameBytes
	lines := int(t.r.head.frameLines[n]) - int(t.r.docs.lines[d])
	if start, _ := t.r.TextRange(d); start > base {
		base, lines = start, 0
	}
	b, err := t.Bytes(base, offset)
	return lines + bytes.Count(b, lineFeed), err
}
