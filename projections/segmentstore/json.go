package segmentstore

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Every first import encodes and decodes megabytes of changes as JSON. This file handles
// the plain case, in which no string needs escaping, ten times as fast as encoding/json,
// and leaves the rest to that package. Both yield the same changes, which a fuzz test
// checks.

// appendChanges appends the JSON array of changes.
func appendChanges(b []byte, changes []event.Change) ([]byte, error) {
	b = append(b, '[')
	for i := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		c := &changes[i]
		if isPlain(c.Path) && isPlain(string(c.Language)) && isPlain(string(c.Skipped)) {
			b = appendChange(b, c)
			continue
		}
		one, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		b = append(b, one...)
	}
	return append(b, ']'), nil
}

// isPlain reports whether s needs no escaping in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(s)
}

func appendChange(b []byte, c *event.Change) []byte {
	b = append(append(append(b, `{"path":"`...), c.Path...), '"')
	if c.Blob != (code.BlobID{}) {
		b = hex.AppendEncode(append(b, `,"blob":"`...), c.Blob[:])
		b = append(b, '"')
	}
	if c.Language != "" {
		b = append(append(append(b, `,"language":"`...), c.Language...), '"')
	}
	if c.Flags != 0 {
		b = strconv.AppendUint(append(b, `,"flags":`...), uint64(c.Flags), 10)
	}
	if c.Skipped != "" {
		b = append(append(append(b, `,"skipped":"`...), c.Skipped...), '"')
	}
	if c.SizeBytes != 0 {
		b = strconv.AppendInt(append(b, `,"sizeBytes":`...), c.SizeBytes, 10)
	}
	return append(b, '}')
}

// parseChanges parses the plain output of appendChanges. It returns false for anything
// else, whether invalid or merely unusual.
func parseChanges(text []byte) ([]event.Change, bool) {
	p := &parser{b: text, names: map[string]string{}}
	changes := make([]event.Change, 0, min(len(text)/96, MaxChanges))
	if !p.skipLiteral("[") {
		return nil, false
	}
	if p.skipLiteral("]") {
		return changes, len(p.b) == 0
	}
	for {
		c, ok := p.parseChange()
		if !ok || len(changes) == MaxChanges {
			return nil, false
		}
		changes = append(changes, c)
		if p.skipLiteral("]") {
			return changes, len(p.b) == 0
		}
		if !p.skipLiteral(",") {
			return nil, false
		}
	}
}

// parser holds the unread rest of the text.
type parser struct {
	b []byte
	// names makes equal languages and reasons share one string.
	names map[string]string
}

func (p *parser) skipLiteral(s string) bool {
	if len(p.b) < len(s) || string(p.b[:len(s)]) != s {
		return false
	}
	p.b = p.b[len(s):]
	return true
}

// parseChange parses one object whose fields are in the order in which they are written.
func (p *parser) parseChange() (c event.Change, ok bool) {
	if !p.skipLiteral(`{"path":"`) {
		return c, false
	}
	path, ok := p.parseText()
	if !ok {
		return c, false
	}
	c.Path = string(path)
	if p.skipLiteral(`,"blob":"`) {
		blob, ok := p.parseText()
		if !ok || len(blob) != 2*len(c.Blob) {
			return c, false
		}
		if _, err := hex.Decode(c.Blob[:], blob); err != nil {
			return c, false
		}
	}
	if p.skipLiteral(`,"language":"`) {
		name, ok := p.parseText()
		if !ok {
			return c, false
		}
		c.Language = code.Language(p.internName(name))
	}
	if p.skipLiteral(`,"flags":`) {
		n, ok := p.parseNumber()
		if !ok || n > 255 {
			return c, false
		}
		c.Flags = code.Flags(n)
	}
	if p.skipLiteral(`,"skipped":"`) {
		name, ok := p.parseText()
		if !ok {
			return c, false
		}
		c.Skipped = code.SkipReason(p.internName(name))
	}
	if p.skipLiteral(`,"sizeBytes":`) {
		if c.SizeBytes, ok = p.parseNumber(); !ok {
			return c, false
		}
	}
	return c, p.skipLiteral("}")
}

// parseText returns the text up to the closing quote.
func (p *parser) parseText() ([]byte, bool) {
	end := bytes.IndexByte(p.b, '"')
	if end < 0 {
		return nil, false
	}
	s := p.b[:end]
	for _, c := range s {
		if c < ' ' || c == '\\' {
			return nil, false
		}
	}
	p.b = p.b[end+1:]
	return s, utf8.Valid(s)
}

func (p *parser) internName(b []byte) string {
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	s := string(b)
	p.names[s] = s
	return s
}

// parseNumber parses a number without a sign, of at most 18 digits.
func (p *parser) parseNumber() (int64, bool) {
	n, i := int64(0), 0
	for i < len(p.b) && i < 18 && p.b[i] >= '0' && p.b[i] <= '9' {
		n, i = 10*n+int64(p.b[i]-'0'), i+1
	}
	if i == 0 || i > 1 && p.b[0] == '0' || i < len(p.b) && p.b[i] >= '0' && p.b[i] <= '9' {
		return 0, false
	}
	p.b = p.b[i:]
	return n, true
}
