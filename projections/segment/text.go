package segment

import (
	"bytes"
	"sync"

	"github.com/quarrysearch/quarry/projections/segment/internal/framecache"
)

// Text reads pieces of a segment's text space. It keeps the last two frames, so it is
// cheap to continue at the current position and to look a little ahead. The two frames
// are held in the cache until other frames replace them or the Text's Cursor is closed.
// It is not safe for concurrent use.
type Text struct {
	r      *Reader
	cursor *Cursor
	slots  [2]slot
	recent int // the last used slot
	group  int // number of the group in buffers.packed, or -1
	// buffers are those of the pool until the cursor is closed, nil if not needed yet.
	buffers *textBuffers
	added   int
	loaded  int64
}

// textBuffers are the buffers of a Text.
type textBuffers struct {
	packed []byte    // compressed frames
	joined []byte    // a piece that spans frames
	frames [2][]byte // of the slots, for frames that are not in the cache
}

// textPool holds textBuffers between the lives of Texts. Allocating and clearing them
// costs a short search more than reading its text.
var textPool = sync.Pool{New: func() any { return new(textBuffers) }}

// maxPooledJoined bounds the joined pieces in the pool.
const maxPooledJoined = 16 * FrameBytes

// slot holds a decompressed frame.
type slot struct {
	n     int // number of the frame, or -1
	frame []byte
	hold  framecache.Hold // of the frame, if it is in the cache
}

// dropFrame releases the frame.
func (s *slot) dropFrame() {
	s.hold.Release()
	s.hold, s.n, s.frame = framecache.Hold{}, -1, nil
}

// NewText returns a Text for a segment that reads through a cursor.
func NewText(r *Reader, c *Cursor) *Text {
	t := &Text{cursor: c}
	c.texts = append(c.texts, t)
	t.Reset(r)
	return t
}

// Reset makes t read another segment with the same buffers.
func (t *Text) Reset(r *Reader) {
	t.dropFrames()
	t.r, t.group = r, -1
}

// dropFrames releases the held frames, which invalidates the results of Bytes.
func (t *Text) dropFrames() {
	for i := range t.slots {
		t.slots[i].dropFrame()
	}
}

// ownBuffers returns the buffers of t, which it takes from the pool if necessary.
func (t *Text) ownBuffers() *textBuffers {
	if t.buffers == nil {
		t.buffers = textPool.Get().(*textBuffers)
	}
	return t.buffers
}

// releaseBuffers returns the buffers to the pool.
func (t *Text) releaseBuffers() {
	t.dropFrames()
	t.group = -1
	if b := t.buffers; b != nil && cap(b.joined) <= maxPooledJoined {
		textPool.Put(b)
	}
	t.buffers = nil
}

// LoadedBytes returns the amount of decompressed text.
func (t *Text) LoadedBytes() int64 { return t.loaded }

// Bytes returns the text from lo up to hi. The result is valid until the next method call
// or the Close of t's cursor, and must not be modified.
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

// joinFrames assembles a piece that spans frames.
func (t *Text) joinFrames(lo, hi int) ([]byte, error) {
	b := t.ownBuffers()
	if cap(b.joined) < hi-lo {
		b.joined = make([]byte, 0, max(hi-lo, 5*FrameBytes))
	}
	out := b.joined[:hi-lo]
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

// hasFrame reports whether a frame is available without decompression.
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

// vacateSlot empties the less recently used slot.
func (t *Text) vacateSlot() *slot {
	s := &t.slots[1-t.recent]
	s.dropFrame()
	return s
}

// useFrame marks a frame, which is in the slot from vacateSlot, as the last used one.
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

// frameBuffer returns the buffer for frame n, which is in the cache if t may add frames
// and the cache has room.
func (t *Text) frameBuffer(s *slot, n int) []byte {
	if t.mayAddFrame() {
		if held, ok := t.r.cache.frames.Reserve(t.r.frameKey(n), t.r.frameSize(n)); ok {
			t.added++
			s.hold = held
			return held.Bytes()
		}
	}
	buffer := &t.ownBuffers().frames[1-t.recent] // s is the vacated slot
	if *buffer == nil {
		*buffer = make([]byte, FrameBytes)
	}
	return (*buffer)[:t.r.frameSize(n)]
}

// unpackFrame decompresses a frame into dst, whose length must be the size of the frame.
func (t *Text) unpackFrame(dst []byte, n int) (err error) {
	if g := n / groupFrames; t.group != g {
		t.group = -1
		b := t.ownBuffers()
		if b.packed, err = t.r.readGroup(t.cursor, n, b.packed[:0]); err != nil {
			return err
		}
		t.group = g
	}
	t.loaded += int64(len(dst))
	return t.r.noteCorrupt(t.r.unpackFrame(dst, t.buffers.packed, n))
}

// Lines returns the number of line feeds in the document between its start and an offset
// of the text space within it.
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
