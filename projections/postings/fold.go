package postings

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// foldTableRunes bounds the table of folded runes: it covers the Latin, Greek and
// Cyrillic blocks, which contain nearly all letters with case.
const foldTableRunes = 0x600

var (
	foldByte = newFoldByteTable()
	foldRune = newFoldRuneTable()
)

func newFoldByteTable() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] = byte(i) + 'a' - 'A'
		}
	}
	return t
}

func newFoldRuneTable() (t [foldTableRunes]rune) {
	for r := range rune(foldTableRunes) {
		t[r] = foldSlow(r)
	}
	return t
}

// FoldByte returns the fold of an ASCII byte, and any other byte unchanged.
func FoldByte(b byte) byte { return foldByte[b] }

// FoldRune returns the canonical rune among those equal to r under Unicode
// simple case folding.
func FoldRune(r rune) rune {
	if uint32(r) < foldTableRunes {
		return foldRune[r]
	}
	return foldSlow(r)
}

func foldSlow(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least >= 'A' && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

// IndexForeign returns the index of the first non-ASCII byte at or after at, or len(text)
// if there is none.
func IndexForeign(text []byte, at int) int {
	rest := text[at:]
	for len(rest) >= 8 {
		if w := binary.LittleEndian.Uint64(rest) & 0x8080808080808080; w != 0 {
			return len(text) - len(rest) + bits.TrailingZeros64(w)/8
		}
		rest = rest[8:]
	}
	for len(rest) > 0 && rest[0] < utf8.RuneSelf {
		rest = rest[1:]
	}
	return len(text) - len(rest)
}

// AppendFold appends the folded text to dst. The result may be shorter or
// longer than text.
func AppendFold(dst, text []byte) []byte {
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			dst = append(dst, foldByte[c])
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, text[0])
		} else {
			dst = utf8.AppendRune(dst, FoldRune(r))
		}
		text = text[size:]
	}
	return dst
}
