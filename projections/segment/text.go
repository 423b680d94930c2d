package segment

import (
	"bytes"

	"github.com/quarrysearch/quarry/projections/segment/internal/framecache"
)

// A Text reads pieces of a segment's text space. It remembers the last two
// frames, so it is cheap to read on from where one is, and to look a little
// ahead. The two are held in the cache until others take their place or the
// Text's Cursor is closed. It belongs to one goroutine.
type Text struct {
	r      *Reader
	cursor *Cursor
	slots  [2]slot
	recent int    // the slot used last
	group  int    // number of the group in packed, -1 for none
	packed []byte // compressed frames
	joined []byte // a piece that spans frames
	added  int
	loaded int64
}

// A slot has a decompressed frame.
type slot struct {
	n     int // number of the frame, -1 for none
	frame []byte
	held  framecache.Hold // of the frame, if it is in the cache
	own   []byte          // buffer for a frame that is not
}

// drop forgets the frame.
func (s *slot) drop() {
	s.held.Release()
	s.held, s.n, s.frame = framecache.Hold{}, -1, nil
}

// NewText returns a Text of a segment that reads by a cursor.
func NewText(r *Reader, c *Cursor) *Text {
	t := &Text{cursor: c}
	c.texts = append(c.texts, t)
	t.Reset(r)
	return t
}

// Reset makes t read another segment, with its buffers.
func (t *Text) Reset(r *Reader) {
	t.drop()
	t.r, t.group = r, -1
}

// drop lets go of the frames at hand. What Bytes returned is not valid any more.
func (t *Text) drop() {
	for i := range t.slots {
		t.slots[i].drop()
	}
}

// LoadedBytes returns how much text was decompressed.
func (t *Text) LoadedBytes() int64 { return t.loaded }

// Bytes returns the text from lo up to hi. The result is valid until the next
// call of a method or the Close of t's cursor, and must not be changed.
func (t *Text) Bytes(lo, hi int) ([]byte, error) {
	if lo >= hi {
		return nil, nil
	}
	if lo/FrameBytes == (hi-1)/FrameBytes {
		base := lo / FrameBytes * FrameBytes
		frame, err := t.frame(lo / FrameBytes)
		if err != nil {
			return nil, err
		}
		return frame[lo-base : hi-base], nil
	}
	return t.join(lo, hi)
}

// join puts a piece that spans frames together.
func (t *Text) join(lo, hi int) ([]byte, error) {
	if cap(t.joined) < hi-lo {
		t.joined = make([]byte, 0, max(hi-lo, 5*FrameBytes))
	}
	out := t.joined[:hi-lo]
	for at := lo; at < hi; {
		n := at / FrameBytes
		base, end := n*FrameBytes, min(hi, (n+1)*FrameBytes)
		piece := out[at-lo : end-lo]
		if at == base && end == base+t.r.frameSize(n) && !t.adds() && !t.has(n) {
			if err := t.unpack(piece, n); err != nil {
				return nil, err
			}
		} else {
			frame, err := t.frame(n)
			if err != nil {
				return nil, err
			}
			copy(piece, frame[at-base:end-base])
		}
		at = end
	}
	return out, nil
}

// adds reports whether t may add a frame to the cache.
func (t *Text) adds() bool { return t.r.cache != nil && t.added < t.r.cache.framesForOne() }

// has reports whether a frame is at hand without decompression.
func (t *Text) has(n int) bool {
	if t.slots[0].n == n || t.slots[1].n == n {
		return true
	}
	if t.r.cache == nil {
		return false
	}
	held, ok := t.r.cache.frames.Pin(t.r.frameKey(n))
	if ok {
		t.vacate().held = held
		t.use(n, held.Bytes())
	}
	return ok
}

// vacate empties the slot that was not used last.
func (t *Text) vacate() *slot {
	s := &t.slots[1-t.recent]
	s.drop()
	return s
}

// use makes a frame, which is in the slot that was vacated, the one used last.
func (t *Text) use(n int, frame []byte) {
	t.recent = 1 - t.recent
	t.slots[t.recent].n, t.slots[t.recent].frame = n, frame
}

// frame returns a frame.
func (t *Text) frame(n int) ([]byte, error) {
	for i := range t.slots {
		if t.slots[i].n == n {
			t.recent = i
			return t.slots[i].frame, nil
		}
	}
	if t.has(n) {
		return t.slots[t.recent].frame, nil
	}
	s := t.vacate()
	frame := t.room(s, n)
	if err := t.unpack(frame, n); err != nil {
		s.drop()
		return nil, err
	}
	t.use(n, frame)
	if s.held != (framecache.Hold{}) {
		s.held.Publish(t.r.frameKey(n))
	}
	return frame, nil
}

// room returns where frame n is to be put: in the cache, if t may add to it and it
// has a place.
func (t *Text) room(s *slot, n int) []byte {
	if t.adds() {
		if held, ok := t.r.cache.frames.Reserve(t.r.frameKey(n), t.r.frameSize(n)); ok {
			t.added++
			s.held = held
			return held.Bytes()
		}
	}
	if s.own == nil {
		s.own = make([]byte, FrameBytes)
	}
	return s.own[:t.r.frameSize(n)]
}

// unpack decompresses a frame into dst, which has its size.
func (t *Text) unpack(dst []byte, n int) (err error) {
	if g := n / groupFrames; t.group != g {
		t.group = -1
		if t.packed, err = t.r.readGroup(t.cursor, n, t.packed[:0]); err != nil {
			return err
		}
		t.group = g
	}
	t.loaded += int64(len(dst))
	return t.r.unpack(dst, t.packed, n)
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
