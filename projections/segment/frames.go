package segment

import (
	"encoding/binary"
	"fmt"
)

// packGroup appends compressed frames to b as one value: the sizes of all but the last,
// two bytes each, then the frames. A compressed frame is never much larger than FrameBytes,
// so its size fits into two bytes.
func packGroup(b []byte, frames [][]byte) []byte {
	for _, f := range frames[:len(frames)-1] {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(f)))
	}
	for _, f := range frames {
		b = append(b, f...)
	}
	return b
}

// frameInGroup returns frame i of the n frames in a value.
func frameInGroup(group []byte, i, n int) ([]byte, error) {
	at := 2 * (n - 1)
	if at > len(group) {
		return nil, fmt.Errorf("%w: group of frames", ErrCorrupt)
	}
	size := func(k int) int { return int(binary.LittleEndian.Uint16(group[2*k:])) }
	for k := range i {
		at += size(k)
	}
	end := len(group)
	if i < n-1 {
		end = at + size(i)
	}
	if at > end || end > len(group) {
		return nil, fmt.Errorf("%w: group of frames", ErrCorrupt)
	}
	return group[at:end], nil
}

// frameSize returns the uncompressed size of frame n.
func (r *Reader) frameSize(n int) int { return min(FrameBytes, r.SpaceEnd()-n*FrameBytes) }

// readGroup appends the value that contains frame n to buf.
func (r *Reader) readGroup(c *Cursor, n int, buf []byte) ([]byte, error) {
	b, err := c.readNumbered(r, partFrame, uint32(n/groupFrames))
	return append(buf, b...), err
}

// unpackFrame decompresses frame n of a group into dst, whose length must be the size of
// the frame.
func (r *Reader) unpackFrame(dst, group []byte, n int) error {
	first := n / groupFrames * groupFrames
	packed, err := frameInGroup(group, n-first, min(groupFrames, r.head.frameCount()-first))
	if err != nil {
		return err
	}
	if err := unpackPiece(dst, packed); err != nil {
		return fmt.Errorf("frame %d: %w", n, err)
	}
	return nil
}
