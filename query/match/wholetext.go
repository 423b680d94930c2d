package match

import "bytes"

// eachWhole searches the whole document, so a match may span any number of lines.
func (m *patternMatcher) eachWhole(lo, hi int, emit func(start, end int) bool) error {
	text, err := m.text.Bytes(lo, hi)
	m.work.ScannedBytes += int64(len(text))
	if err != nil {
		return err
	}
	if m.literals != nil {
		m.literals.Reset(text)
		if start, _ := m.literals.Next(0); start < 0 {
			return nil
		}
	}
	m.work.RegexpsConsidered++
	if m.pattern.KeepCR || !bytes.Contains(text, crlf) {
		m.eachMatch(text, lo, emit)
		return nil
	}
	m.carriageReturns = m.carriageReturns[:0]
	m.withoutCR = stripCarriageReturns(m.withoutCR[:0], &m.carriageReturns, text)
	m.eachMatch(m.withoutCR, 0, func(start, end int) bool {
		// The end follows the last byte, so that a match that ends a line does not
		// include the carriage return.
		return emit(lo+m.carriageReturns.originalOffset(start), lo+m.carriageReturns.originalOffset(end-1)+1)
	})
	return nil
}

// eachMatch runs the regular expression on a document without carriage returns that do not
// count. It tries only the places where a match may begin, if they are known.
func (m *patternMatcher) eachMatch(text []byte, base int, emit func(start, end int) bool) {
	if m.prefixes == nil {
		m.regexp.Each(text, base, emit)
		return
	}
	m.prefixes.Reset(text)
	m.regexp.EachAt(text, base, func(at int) int {
		start, _ := m.prefixes.Next(at)
		return start
	}, emit)
}

var crlf = []byte("\r\n")

// carriageReturns are the carriage returns removed from a text, in order. Each is the
// offset of the following line feed in the text without carriage returns.
type carriageReturns []int

// stripCarriageReturns appends text to dst without the carriage returns before line
// feeds, and records them in left.
func stripCarriageReturns(dst []byte, left *carriageReturns, text []byte) []byte {
	for {
		n := bytes.Index(text, crlf)
		if n < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:n]...)
		*left = append(*left, len(dst))
		dst = append(dst, '\n')
		text = text[n+len(crlf):]
	}
}

// originalOffset converts an offset in the shortened text into one in the original text.
func (r carriageReturns) originalOffset(i int) int {
	lo, hi := 0, len(r)
	for lo < hi {
		if mid := (lo + hi) / 2; r[mid] <= i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return i + lo
}
