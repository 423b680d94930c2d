package scip

import (
	"strings"
	"unicode/utf8"
)

// Encoding is the unit of columns, with the numbers of SCIP.
type Encoding uint8

// The units.
const (
	UTF8  Encoding = 1 // bytes
	UTF16 Encoding = 2 // units of UTF-16
	UTF32 Encoding = 3 // characters
)

// defaultEncoding returns the unit of an index whose documents do not name one: that of
// the strings of the language in which its tool is written.
func defaultEncoding(tool string) Encoding {
	switch {
	case strings.Contains(tool, "typescript"), strings.Contains(tool, "python"), strings.Contains(tool, "java"), strings.Contains(tool, "dotnet"), strings.Contains(tool, "dart"):
		return UTF16
	case strings.Contains(tool, "ruby"):
		return UTF32
	}
	return UTF8
}

// byteColumn returns the byte of a line at which a column begins; ok is false if the line
// has no such column.
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
