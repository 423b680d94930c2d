package postings

import "fmt"

// Trigram is three folded bytes, the first in bits 16 to 23.
type Trigram uint32

// MaxTrigram bounds the values of Trigram.
const MaxTrigram Trigram = 1<<24 - 1

// MakeTrigram returns the trigram of three folded bytes.
func MakeTrigram(a, b, c byte) Trigram {
	return Trigram(a)<<16 | Trigram(b)<<8 | Trigram(c)
}

// String returns the quoted trigram.
func (t Trigram) String() string {
	return fmt.Sprintf("%q", []byte{byte(t >> 16), byte(t >> 8), byte(t)})
}

// AppendTrigrams appends the trigrams of a folded literal to dst, in order, including
// repetitions. It uses only the first OverhangBytes of the literal, because the rest need
// not be in the block in which the literal starts.
func AppendTrigrams(dst []Trigram, folded []byte) []Trigram {
	folded = folded[:min(len(folded), OverhangBytes)]
	for i := 0; i+3 <= len(folded); i++ {
		dst = append(dst, MakeTrigram(folded[i], folded[i+1], folded[i+2]))
	}
	return dst
}

// Bounds of blocks. BlockBytes was determined by measurement (ADR 10): 4 KiB halves the
// postings of 1 KiB, but doubles the text to read for a candidate.
const (
	BlockBytes    = 4 << 10
	OverhangBytes = 64
	// MaxBlocks bounds the blocks of a segment, so that a block number fits into 16 bits
	// while an index is built.
	MaxBlocks = 1 << 16
)

// maxFoldShrink is the maximum number of bytes of text that one folded byte represents:
// the Kelvin sign, three bytes, folds to k.
const maxFoldShrink = 3

// WindowBytes is the length of the text that an extractor needs: a block and the bytes
// after it that its overhang may cover.
const WindowBytes = BlockBytes + OverhangBytes*maxFoldShrink
