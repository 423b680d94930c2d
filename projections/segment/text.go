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
	n      int // number of the frame, -1 for none
	frame  []byte
	hold   framecache.Hold // of the frame, if it is in the cache
	buffer []byte          // buffer for a frame that is not
}

// dropFrame forgets the frame.
func (s *slot) dropFrame() {
	s.hold.Release()
	s.hold, s.n, s.frame = framecache.Hold{}, -1, nil
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
	t.dropFrames()
	t.r, t.group = r, -1
}

// dropFrames lets go of the frames at hand. What Bytes returned is not valid any more.
func (t *Text) dropFrames() {
	for i := range t.slots {
		t.slots[i].dropFrame()
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
		frame, err := t.readFrame(lo / FrameBytes)
		if err != nil {
			return nil, err
		}
		return frame[lo-base : hi-base], nil
	}
	return t.joinFrames(lo, hi)
}

// joinFrames puts a piece that spans frames together.
func (t *Text) joinFrames(lo, hi int) ([]byte, error) {
	if cap(t.joined) < hi-lo {
		t.joined = make([]byte, 0, max(hi-lo, 5*FrameBytes))
	}
	out := t.joined[:hi-lo]
	for at := lo; at < hi; {
		n := at / FrameBytes
		base, end := n*FrameBytes, min(hi, (n+1)*FrameBytes)
		piece := out[at-lo : end-lo]
		if at == base && end == base+t.r.frameSize(n) && !t.mayAddFrame() && !t.hasFrame(n) {
			if err := t.unpackFrame(piece, n); err != nil {
				return nil, err
			}
		} else {
			frame, err := t.readFrame(n)
			if err != nil {
				return nil, err
			}
			copy(piece, frame[at-base:end-base])
		}
		at = end
	}
	return out, nil
}

// mayAddFrame reports whether t may add a frame to the cache.
func (t *Text) mayAddFrame() bool { return t.r.cache != nil && t.added < t.r.cache.framesForOne() }

// hasFrame reports whether a frame is at hand without decompression.
func (t *Text) hasFrame(n int) bool {
	if t.slots[0].n == n || t.slots[1].n == n {
		return true
	}
	if t.r.cache == nil {
		return false
	}
	held, ok := t.r.cache.frames.Pin(t.r.frameKey(n))
	if ok {
		t.vacateSlot().hold = held
		t.useFrame(n, held.Bytes())
	}
	return ok
}

// vacateSlot empties the slot that was not used last.
func (t *Text) vacateSlot() *slot {
	s := &t.slots[1-t.recent]
	s.dropFrame()
	return s
}

// useFrame makes a frame, which is in the slot that was vacated, the one used last.
func (t *Text) useFrame(n int, frame []byte) {
	t.recent = 1 - t.recent
	t.slots[t.recent].n, t.slots[t.recent].frame = n, frame
}

// readFrame returns a frame.
func (t *Text) readFrame(n int) ([]byte, error) {
	for i := range t.slots {
		if t.slots[i].n == n {
			t.recent = i
			return t.slots[i].frame, nil
		}
	}
	if t.hasFrame(n) {
		return t.slots[t.recent].frame, nil
	}
	s := t.vacateSlot()
	frame := t.frameBuffer(s, n)
	if err := t.unpackFrame(frame, n); err != nil {
		s.dropFrame()
		return nil, err
	}
	t.useFrame(n, frame)
	if s.hold != (framecache.Hold{}) {
		s.hold.Publish(t.r.frameKey(n))
	}
	return frame, nil
}

// frameBuffer returns where frame n is to be put: in the cache, if t may add to it and it
// has a place.
func (t *Text) frameBuffer(s *slot, n int) []byte {
	if t.mayAddFrame() {
		if held, ok := t.r.cache.frames.Reserve(t.r.frameKey(n), t.r.frameSize(n)); ok {
			t.added++
			s.hold = held
			return held.Bytes()
		}
	}
	if s.buffer == nil {
		s.buffer = make([]byte, FrameBytes)
	}
	return s.buffer[:t.r.frameSize(n)]
}

// unpackFrame decompresses a frame into dst, which has its size.
func (t *Text) unpackFrame(dst []byte, n int) (err error) {
	if g := n / groupFrames; t.group != g {
		t.group = -1
		if t.packed, err = t.r.readGroup(t.cursor, n, t.packed[:0]); err != nil {
			return err
		}
		t.group = g
	}
	t.loaded += int64(len(dst))
	return t.r.unpackFrame(dst, t.packed, n)
}

// Lines returns the number of line feeds in the document from its start to an
// offset of the text space inside it.
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
