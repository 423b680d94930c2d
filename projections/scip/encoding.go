package scip

import (
	"strings"
	"unicode/utf8"
)

// Encoding is the unit of columns. The values are those of SCIP.
type Encoding uint8

// Units of columns.
const (
	UTF8  Encoding = 1 // bytes
	UTF16 Encoding = 2 // UTF-16 code units
	UTF32 Encoding = 3 // code points
)

// defaultEncoding returns the unit of columns in documents that do not name one: that of
// strings in the language in which the indexer is written.
func defaultEncoding(tool string) Encoding {
	switch {
	case strings.Contains(tool, "typescript"), strings.Contains(tool, "python"), strings.Contains(tool, "java"), strings.Contains(tool, "dotnet"), strings.Contains(tool, "dart"):
		return UTF16
	case strings.Contains(tool, "ruby"):
		return UTF32
	}
	return UTF8
}

// byteColumn converts a column of a line to a byte offset; ok is false if the line has no
// such column.
func (e Encoding) byteColumn(line []byte, column int) (offset int, ok bool) {
	if e == UTF8 {
		return column, column <= len(line)
	}
	for ; column > 0 && offset < len(line); column-- {
		r, size := utf8.DecodeRune(line[offset:])
		if e == UTF16 && r >= 0x10000 {
			column--
		}
		offset += size
	}
	return offset, column == 0
}
