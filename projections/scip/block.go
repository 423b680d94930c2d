package scip

import (
	"encoding/binary"
	"fmt"

	"github.com/minio/minlz"
	"github.com/zeebo/xxh3"
)

// blockWriter compresses a block and writes it to the object while the caller adds to it. It
// implements io.Writer.
type blockWriter struct {
	b      *Builder
	sum    *xxh3.Hasher
	ref    blockRef
	left   uint64 // bytes that are still to be added
	piece  []byte // of the content, not yet compressed
	packed []byte // reused
	err    error
}

// beginBlock begins a block of the given size.
func (w *blockWriter) beginBlock(size uint64) {
	if w.sum == nil {
		w.sum = xxh3.New()
	}
	w.sum.Reset()
	w.ref, w.left, w.piece, w.err = blockRef{offset: w.b.written}, size, w.piece[:0], nil
	if size > maxBlockBytes {
		w.err = tooLargef("a part takes %d bytes, at most %d", size, maxBlockBytes)
		return
	}
	w.writeBytes(binary.AppendUvarint(nil, size))
}

// addBytes adds to the content. endBlock returns its errors.
func (w *blockWriter) addBytes(p []byte) {
	for len(p) > 0 && w.err == nil {
		n := min(len(p), compressedBytes-len(w.piece))
		w.piece = append(w.piece, p[:n]...)
		if p = p[n:]; len(w.piece) == compressedBytes {
			w.compressPiece()
		}
	}
}

// Write implements io.Writer.
func (w *blockWriter) Write(p []byte) (int, error) {
	w.addBytes(p)
	return len(p), w.err
}

func (w *blockWriter) compressPiece() {
	packed, err := minlz.Encode(w.packed[:0], w.piece, minlz.LevelBalanced)
	if err != nil {
		w.err = fmt.Errorf("compress a block: %w", err)
		return
	}
	w.left -= uint64(len(w.piece))
	w.packed, w.piece = packed, w.piece[:0]
	w.writeBytes(binary.AppendUvarint(nil, uint64(len(packed))))
	w.writeBytes(packed)
}

func (w *blockWriter) writeBytes(p []byte) {
	if w.err == nil {
		_, _ = w.sum.Write(p) // never fails
		w.ref.size += uint64(len(p))
		w.err = w.b.write(p)
	}
}

// endBlock ends the block, which must have the size that beginBlock got.
func (w *blockWriter) endBlock() (blockRef, error) {
	if len(w.piece) > 0 && w.err == nil {
		w.compressPiece()
	}
	if w.err == nil && w.left != 0 {
		panic(fmt.Sprintf("a block of a precise index lacks %d bytes", w.left))
	}
	w.ref.sum = w.sum.Sum64()
	return w.ref, w.err
}

// writeBlock writes a block.
func (b *Builder) writeBlock(block []byte) (blockRef, error) {
	b.block.beginBlock(uint64(len(block)))
	b.block.addBytes(block)
	return b.block.endBlock()
}
