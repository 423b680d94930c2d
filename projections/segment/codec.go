package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// packDepth is the number of earlier positions that are tried for a match. A higher
// number hardly reduces the size of frames.
const packDepth = 8

// packer compresses pieces of at most about 64 KiB as LZ4 blocks, by far the fastest to
// decode of the codecs that were tried (docs/adr/0013). A piece that does not shrink is
// stored uncompressed, which readers detect by its size.
type packer struct {
	lz4 lz4.CompressorHC
	buf []byte
}

// packPiece appends a piece to dst.
func (p *packer) packPiece(dst, piece []byte) ([]byte, error) {
	p.lz4.Level = packDepth
	if n := lz4.CompressBlockBound(len(piece)); len(p.buf) < n {
		p.buf = make([]byte, n)
	}
	n, err := p.lz4.CompressBlock(piece, p.buf)
	if err != nil {
		return nil, fmt.Errorf("compress %d bytes: %w", len(piece), err)
	}
	if n == 0 || n >= len(piece) {
		return append(dst, piece...), nil
	}
	return append(dst, p.buf[:n]...), nil
}

// unpackPiece decompresses a piece into dst, whose length must be the size of the piece.
func unpackPiece(dst, packed []byte) error {
	if len(packed) == len(dst) {
		copy(dst, packed)
		return nil
	}
	n, err := lz4.UncompressBlock(packed, dst)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if n != len(dst) {
		return fmt.Errorf("%w: %d bytes unpacked, want %d", ErrCorrupt, n, len(dst))
	}
	return nil
}

// packSized appends a piece preceded by its size.
func (p *packer) packSized(dst, piece []byte) ([]byte, error) {
	return p.packPiece(binary.AppendUvarint(dst, uint64(len(piece))), piece)
}

// unpackSized returns a piece from packSized. It may use buf.
func unpackSized(buf, b []byte) ([]byte, error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > maxExpansion*uint64(len(b)) {
		return nil, fmt.Errorf("%w: size of a piece", ErrCorrupt)
	}
	if uint64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	return buf[:size], unpackPiece(buf[:size], b[n:])
}

// maxExpansion bounds the expansion of an LZ4 block, in which a byte yields at most 255
// bytes.
const maxExpansion = 256
