package scip

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// eachField calls visit for each field of a message: with field for bytes, and with n for a
// number. It skips fixed-size fields and rejects groups; SCIP uses neither.
func eachField(b []byte, visit func(number protowire.Number, field []byte, n uint64) error) error {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return invalidf("a message has a damaged field")
		}
		b = b[size:]
		var field []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			field, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			_, size = protowire.ConsumeFixed32(b)
		case protowire.Fixed64Type:
			_, size = protowire.ConsumeFixed64(b)
		default:
			return invalidf("field %d has type %d", number, kind)
		}
		if size < 0 {
			return invalidf("field %d is truncated", number)
		}
		b = b[size:]
		if kind == protowire.BytesType || kind == protowire.VarintType {
			if err := visit(number, field, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeMetadata(b []byte) (m Metadata, err error) {
	err = eachField(b, func(number protowire.Number, field []byte, _ uint64) error {
		if number != 2 { // tool_info
			return nil
		}
		return eachField(field, func(number protowire.Number, field []byte, _ uint64) error {
			switch number {
			case 1:
				m.Tool = printableText(field, maxToolBytes)
			case 2:
				m.ToolVersion = printableText(field, maxToolBytes)
			}
			return nil
		})
	})
	return m, err
}

// maxToolBytes bounds the name and version of an indexer.
const maxToolBytes = 100

// printableText returns at most max bytes of valid text on one line.
func printableText(b []byte, max int) string {
	s := cutText(string(b[:min(len(b), max)]), max)
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
}

// cutText returns valid UTF-8 of at most max bytes.
func cutText(s string, max int) string {
	if len(s) > max {
		s = s[:max]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size == 1 {
			s = s[:len(s)-1]
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// symbolName checks the name of a symbol.
func symbolName(b []byte) (string, error) {
	if len(b) > MaxNameBytes {
		return "", tooLargef("a symbol has %d bytes, at most %d", len(b), MaxNameBytes)
	}
	s := string(b)
	if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\r\n") {
		return "", invalidf("symbol %.80q is no text of one line", s)
	}
	return s, nil
}

// documentDecoder decodes one document, field by field.
type documentDecoder struct {
	limits  Limits
	numbers map[string]uint32 // by symbol, in out.names
	memory  int
	entry   []byte // reused for each symbol
	out     Document
}

// What is charged for parts of a document: their own bytes, and those of the encoded form
// that a Builder makes of them.
const (
	occurrenceCost = 64
	nameCost       = 160 // and twice the name
	symbolCost     = 16  // and its encoded form
	lineCost       = 24
)

// charge adds to the memory of the document.
func (d *documentDecoder) charge(bytes int) error {
	if d.memory += bytes; d.memory > d.limits.MaxDocumentMemory {
		return tooLargef("it takes more than %d MiB of memory; exclude the file from the index", d.limits.MaxDocumentMemory>>20)
	}
	return nil
}

// isNeeded reports whether a field of a document with bytes is decoded.
func isNeeded(number protowire.Number) bool { return number >= 1 && number <= 3 }

func (d *documentDecoder) decodeField(number protowire.Number, field []byte, n uint64) error {
	switch number {
	case 1:
		if !utf8.Valid(field) || len(field) > MaxNameBytes {
			return invalidf("its path %.80q is not UTF-8 of at most %d bytes", field, MaxNameBytes)
		}
		d.out.Path = string(field)
	case 2:
		if len(d.out.occurrences) == d.limits.MaxOccurrences {
			return tooLargef("more than %d occurrences; exclude the file from the index", d.limits.MaxOccurrences)
		}
		o, err := d.decodeOccurrence(field)
		if err != nil {
			return err
		}
		if o.Symbol == "" { // an occurrence without a symbol is about syntax or diagnostics
			return nil
		}
		d.out.occurrences = append(d.out.occurrences, packedOccurrence{
			uint32(o.Start.Line), uint32(o.Start.Column), uint32(o.End.Line), uint32(o.End.Column), d.numbers[o.Symbol], o.Roles,
		})
		return d.charge(occurrenceCost)
	case 3:
		if d.out.symbols.entries == maxSymbolsOf {
			return tooLargef("more than %d symbols; exclude the file from the index", maxSymbolsOf)
		}
		i, err := decodeInformation(field)
		if err != nil {
			return err
		}
		return d.addSymbol(&i)
	case 6:
		if n > uint64(UTF32) {
			return invalidf("position encoding %d is unknown", n)
		}
		if n > 0 {
			d.out.Encoding = Encoding(n)
		}
	}
	return nil
}

func (d *documentDecoder) addSymbol(i *Information) error {
	d.entry = i.append(d.entry[:0])
	d.out.symbols.addEntry(d.entry)
	cost := len(d.entry) + symbolCost
	if len(i.Implements) > 0 && !IsLocal(i.Symbol) {
		d.entry = binary.AppendUvarint(appendText(d.entry[:0], i.Symbol), uint64(len(i.Implements)))
		for _, target := range i.Implements {
			d.entry = appendText(d.entry, target)
		}
		d.out.relations.addEntry(d.entry)
		cost += len(d.entry)
	}
	return d.charge(cost)
}

// symbolName returns the name of a symbol that occurs, and gives it a number.
func (d *documentDecoder) symbolName(b []byte) (string, error) {
	if n, ok := d.numbers[string(b)]; ok {
		return d.out.names[n], nil
	}
	s, err := symbolName(b)
	if err != nil || s == "" {
		return s, err
	}
	d.numbers[s] = uint32(len(d.out.names))
	d.out.names = append(d.out.names, s)
	return s, d.charge(nameCost + 2*len(s))
}

func (d *documentDecoder) decodeOccurrence(b []byte) (o Occurrence, err error) {
	var numbers [5]uint64
	count, multi := 0, false
	err = eachField(b, func(number protowire.Number, field []byte, n uint64) (err error) {
		switch number {
		case 1:
			if field == nil { // not packed
				field = protowire.AppendVarint(nil, n)
			}
			for len(field) > 0 && err == nil {
				v, size := protowire.ConsumeVarint(field)
				if size < 0 || count == 4 {
					return invalidf("an occurrence has a damaged range")
				}
				numbers[count] = v
				count, field = count+1, field[size:]
			}
		case 2:
			o.Symbol, err = d.symbolName(field)
		case 3:
			o.Roles = Roles(n & allRoles)
		case 8, 9:
			multi, count = number == 9, int(number)-5
			err = decodeRange(field, numbers[:count])
		}
		return err
	})
	if err != nil {
		return o, err
	}
	switch {
	case count == 3 && !multi:
		numbers = [5]uint64{numbers[0], numbers[1], numbers[0], numbers[2]}
	case count != 4:
		return o, invalidf("an occurrence has a range of %d numbers, want 3 or 4", count)
	}
	for _, n := range numbers[:4] {
		if n > maxCoordinate {
			return o, invalidf("an occurrence is at line or column %d", n)
		}
	}
	o.Start, o.End = Point{int(numbers[0]), int(numbers[1])}, Point{int(numbers[2]), int(numbers[3])}
	if o.Start.Compare(o.End) > 0 {
		return o, invalidf("an occurrence ends before it begins, at line %d", o.Start.Line+1)
	}
	return o, nil
}

// maxCoordinate bounds lines and columns.
const maxCoordinate = 1<<31 - 1

// decodeRange decodes a message of numbers. An absent number is 0.
func decodeRange(b []byte, numbers []uint64) error {
	clear(numbers)
	return eachField(b, func(number protowire.Number, _ []byte, n uint64) error {
		if number >= 1 && int(number) <= len(numbers) {
			numbers[number-1] = n
		}
		return nil
	})
}

// decodeInformation decodes the description of a symbol. If the symbol has no signature and
// the first paragraph of its documentation is a block of code, that block is the signature.
func decodeInformation(b []byte) (i Information, err error) {
	var paragraphs []string
	room := MaxTextBytes
	err = eachField(b, func(number protowire.Number, field []byte, _ uint64) (err error) {
		switch number {
		case 1:
			i.Symbol, err = symbolName(field)
		case 3:
			if room > 0 {
				p := cutText(string(field[:min(len(field), room)]), room)
				room -= len(p) + 2
				paragraphs = append(paragraphs, p)
			}
		case 4:
			if len(i.Implements) == maxRelationships {
				return tooLargef("a symbol has more than %d relationships", maxRelationships)
			}
			var target string
			if target, err = decodeRelationship(field); target != "" {
				i.Implements = append(i.Implements, target)
			}
		case 6:
			i.DisplayName = printableText(field, MaxNameBytes)
		case 7:
			i.Signature, err = decodeSignature(field)
		}
		return err
	})
	if err != nil {
		return i, err
	}
	if i.Symbol == "" {
		return i, invalidf("it describes a symbol without a name")
	}
	if i.Signature == "" && len(paragraphs) > 0 {
		if code, ok := fencedCode(paragraphs[0]); ok {
			i.Signature, paragraphs = code, paragraphs[1:]
		}
	}
	i.Documentation = cutText(strings.TrimSpace(strings.Join(paragraphs, "\n\n")), MaxTextBytes)
	return i, nil
}

// fencedCode returns the text of a paragraph that is one block of code.
func fencedCode(paragraph string) (string, bool) {
	inside, ok := strings.CutPrefix(strings.TrimSpace(paragraph), "```")
	if !ok {
		return "", false
	}
	inside, ok = strings.CutSuffix(inside, "```")
	_, text, found := strings.Cut(inside, "\n")
	return strings.TrimSpace(text), ok && found && !strings.Contains(text, "```")
}

// decodeRelationship returns the implemented symbol; empty for other relationships.
func decodeRelationship(b []byte) (string, error) {
	target, implements := "", false
	err := eachField(b, func(number protowire.Number, field []byte, n uint64) (err error) {
		switch number {
		case 1:
			target, err = symbolName(field)
		case 3:
			implements = n != 0
		}
		return err
	})
	if !implements {
		target = ""
	}
	return target, err
}

func decodeSignature(b []byte) (text string, err error) {
	err = eachField(b, func(number protowire.Number, field []byte, _ uint64) error {
		if number == 5 {
			text = strings.TrimSpace(cutText(string(field[:min(len(field), MaxTextBytes)]), MaxTextBytes))
		}
		return nil
	})
	return text, err
}
