package jsonout

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"
)

const hex = "0123456789abcdef"

// escapes holds the character after the backslash for bytes with a short escape, 'u' for
// other bytes that need one, and 1 for bytes outside ASCII, which must be checked.
var escapes = func() (t [256]byte) {
	for c := range 0x20 {
		t[c] = 'u'
	}
	for c := utf8.RuneSelf; c < len(t); c++ {
		t[c] = 1
	}
	for c, short := range map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'} {
		t[c] = short
	}
	return t
}()

// AppendString appends s as a JSON string, quotes included.
func AppendString(b []byte, s string) []byte {
	// The bytes are only read, and not retained.
	return append(appendText(append(b, '"'), unsafe.Slice(unsafe.StringData(s), len(s))), '"')
}

// wordBytes is the number of bytes checked and copied together.
const wordBytes = 8

// appendText appends s without quotes. In lines of code, every other word contains a byte
// that must be escaped, and no processor predicts where. A branch-free table for the
// bytes of such a word was tried, and was no faster.
func appendText(b, s []byte) []byte {
	for len(s) > 0 {
		b = slices.Grow(b, len(s)+2*wordBytes)
		for len(s) >= wordBytes && cap(b)-len(b) >= 2*wordBytes { // until escapes use up the room
			x, at := binary.LittleEndian.Uint64(s), len(b)
			b = b[:at+wordBytes]
			binary.LittleEndian.PutUint64(b[at:], x)
			odd := oddBytes(x)
			if odd == 0 {
				s = s[wordBytes:]
				continue
			}
			n := bits.TrailingZeros64(odd) / 8
			b, s = appendOdd(b[:at+n], s[n:])
		}
		for len(s) > 0 && len(s) < wordBytes {
			if c := s[0]; escapes[c] == 0 {
				b, s = append(b, c), s[1:]
			} else {
				b, s = appendOdd(b, s)
			}
		}
	}
	return b
}

// oddBytes sets the top bit of the lowest byte of a word that needs escaping, and
// possibly of bytes above it; it returns 0 if there is none. A borrow comes only from a
// lower byte, which then needs escaping, too.
func oddBytes(x uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^ones*'"', x^ones*'\\'
	return (x | (x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
}

// appendOdd appends the beginning of s: one character that must be escaped, or everything
// up to the next ASCII character that must be. It returns the rest.
func appendOdd(b, s []byte) ([]byte, []byte) {
	c := s[0]
	if c >= utf8.RuneSelf {
		return appendRunes(b, s)
	}
	if e := escapes[c]; e != 'u' {
		return append(b, '\\', e), s[1:]
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15]), s[1:]
}

// appendRunes appends the characters outside ASCII at the beginning of s. It returns the
// rest.
func appendRunes(b, s []byte) ([]byte, []byte) {
	for len(s) > 0 && s[0] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(b, `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(b, '\\', 'u', '2', '0', '2', hex[r&15])
		default:
			b = append(b, s[:size]...)
		}
		s = s[size:]
	}
	return b, s
}
