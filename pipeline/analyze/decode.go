package analyze

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/quarrysearch/quarry/schemas/code"
)

// sniffBytes is the number of bytes of a blob that are checked for binary data, as in
// git.
const sniffBytes = 8000

var (
	bomUTF8    = []byte{0xef, 0xbb, 0xbf}
	bomUTF16LE = []byte{0xff, 0xfe}
	bomUTF16BE = []byte{0xfe, 0xff}
	nulByte    = []byte{0}
)

// decode returns the text of content with its encoding flags, or the reason why it has
// none. The text may be a subslice of content.
func decode(content []byte) ([]byte, code.Flags, code.SkipReason) {
	content = bytes.TrimPrefix(content, bomUTF8)
	if decoder := utf16Decoder(content); decoder != nil {
		return transcodeText(decoder, content)
	}
	if hasNUL(content) || binaryMagic(content) {
		return nil, 0, code.SkipBinary
	}
	if isLFSPointer(content) {
		return nil, 0, code.SkipLFSPointer
	}
	if isASCII(content) {
		return content, code.FlagASCII, ""
	}
	if mostlyUTF8(content) {
		return content, 0, ""
	}
	if !plausibleText(content) {
		return nil, 0, code.SkipUndecodable
	}
	return transcodeText(charmap.Windows1252.NewDecoder(), content)
}

func transcodeText(decoder *encoding.Decoder, content []byte) ([]byte, code.Flags, code.SkipReason) {
	text, err := decoder.Bytes(content)
	if err != nil || !plausibleText(text) {
		return nil, 0, code.SkipUndecodable
	}
	flags := code.FlagTranscoded
	if isASCII(text) {
		flags |= code.FlagASCII
	}
	return text, flags, ""
}

// decodeHead returns the head of a blob in an encoding in which ASCII characters are
// single bytes. A UTF-16 head that was cut loses its last character.
func decodeHead(head []byte) []byte {
	if bytes.HasPrefix(head, bomUTF8) {
		return head[len(bomUTF8):]
	}
	if decoder := utf16Decoder(head); decoder != nil {
		if text, err := decoder.Bytes(head[:len(head)&^1]); err == nil {
			return text
		}
	}
	return head
}

// isASCII reports whether every byte is below 0x80. It checks eight bytes at a time.
func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for ; len(b) >= 32; b = b[32:] {
		x := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if x&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func hasNUL(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), sniffBytes)], 0) >= 0
}

// minUTF16Bytes is the minimum length at which UTF-16 is detected without a byte
// order mark.
const minUTF16Bytes = 16

// utf16Decoder returns a decoder if content is UTF-16: it has a byte order mark, or the
// NUL bytes of its ASCII characters are at nearly all even or nearly all odd offsets.
func utf16Decoder(content []byte) *encoding.Decoder {
	switch {
	case bytes.HasPrefix(content, bomUTF16LE) && !bytes.HasPrefix(content[2:], []byte{0, 0}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	case bytes.HasPrefix(content, bomUTF16BE):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()
	}
	sniffed := content[:min(len(content), sniffBytes)]
	if len(sniffed) < minUTF16Bytes {
		return nil
	}
	if total := bytes.Count(sniffed, nulByte); total*5 < len(sniffed) || total*9 > len(sniffed)*5 {
		return nil // at least 40 % and at most slightly more than half of the bytes are NUL
	}
	even, odd := 0, 0
	for i, c := range sniffed {
		if c == 0 {
			even += 1 - i&1
			odd += i & 1
		}
	}
	switch {
	case odd > 50*even:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case even > 50*odd:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	}
	return nil
}

// badShare is the minimum number of well-formed multi-byte characters for every malformed
// byte in damaged UTF-8, whose bytes are kept. Text with fewer is in another encoding,
// and is decoded. In Latin-1 text, an accented letter hardly ever forms a UTF-8 sequence
// with the next character.
const badShare = 4

// mostlyUTF8 reports whether content is UTF-8 except for a few bytes.
func mostlyUTF8(content []byte) bool {
	if utf8.Valid(content) {
		return true
	}
	good, bad := 0, 0
	for i := 0; i < len(content); {
		if content[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		i += n
	}
	return good >= badShare*bad
}

// plausibleText reports whether at most one byte in a hundred at the beginning is a
// control character that text does not use.
func plausibleText(content []byte) bool {
	sniffed := content[:min(len(content), sniffBytes)]
	odd := 0
	for _, c := range sniffed {
		if c < ' ' && controls&(1<<c) != 0 || c == 0x7f {
			odd++
		}
	}
	return odd*100 <= len(sniffed)
}

// controls are the characters below the space except backspace, tab, line feed, vertical
// tab, form feed, carriage return, end of file (DOS) and escape.
const controls uint32 = 0xffffffff &^ (1<<'\b' | 1<<'\t' | 1<<'\n' | 1<<'\v' | 1<<'\f' | 1<<'\r' | 1<<0x1a | 1<<0x1b)

// binaryMagics are the beginnings of files in binary formats that may lack NUL bytes.
var binaryMagics = [][]byte{
	[]byte("%PDF-"), []byte("\x89PNG"), []byte("GIF87a"), []byte("GIF89a"), []byte("\xff\xd8\xff"), []byte("PK\x03\x04"),
	[]byte("\x1f\x8b\x08"), []byte("BZh9"), []byte("\xfd7zXZ"), []byte("7z\xbc\xaf"), []byte("\x28\xb5\x2f\xfd"),
	[]byte("OggS"), []byte("ID3\x03"), []byte("ID3\x04"), []byte("wOFF"), []byte("wOF2"), []byte("\xca\xfe\xba\xbe"),
}

func binaryMagic(content []byte) bool {
	for _, m := range binaryMagics {
		if bytes.HasPrefix(content, m) {
			return true
		}
	}
	return false
}
