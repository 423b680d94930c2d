package search

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A renderer fills in the displayed details of hits: lines, columns and symbols.
type renderer struct {
	run        *searchRun
	cursor     segment.Cursor
	text       *segment.Text
	reader     *segment.Reader
	outline    *segment.Outline // symbols of the current file
	symbolText *segment.Text    // reads their names
	// paths are the compiled path patterns of the query. pathRanges shows what they match;
	// its first call compiles them.
	paths     []*regexp.Regexp
	bytesLeft int64 // bytes by which the result may still grow
	// definesMatch means that a match was the whole name of a symbol whose kind weighs at
	// least minDefinedWeight.
	definesMatch bool
}

// JSON sizes of the parts of an answer, without their text.
const (
	fileBytes  = 512
	chunkBytes = 192
	rangeBytes = 128
)

func newRenderer(n *searchRun, maxBytes int64) *renderer {
	return &renderer{run: n, bytesLeft: maxBytes, outline: outlines.Get().(*segment.Outline)}
}

// loadedBytes returns the number of bytes decompressed.
func (r *renderer) loadedBytes() int64 {
	if r.text == nil {
		return 0
	}
	return r.text.LoadedBytes() + r.symbolText.LoadedBytes()
}

func (r *renderer) renderFile(h *hit) (FileMatch, error) {
	seg := r.run.plan.segments[h.segment]
	r.openReader(seg.Reader)
	r.bytesLeft -= fileBytes
	places, sc := seg.Places, r.run.plan.scope
	f := FileMatch{
		Repo: sc.repos[places.Repo[h.place]], Ref: sc.refOf(seg, h.place),
		Path:     strings.ReplaceAll(string(places.Path(h.place)), "\x00", "\n"),
		Language: seg.Reader.Language(h.doc),
		document: DocumentID{seg.Reader.ID(), h.doc},
	}
	if f.Ref != "" { // a repository may have no default branch
		f.Refs = append(f.Refs, f.Ref)
	}
	for _, i := range h.otherPlaces {
		f.Refs = append(f.Refs, sc.refOf(seg, i))
	}
	key, err := seg.Reader.Key(&r.cursor, h.doc)
	if err != nil {
		return f, err
	}
	f.Blob = key.Blob
	if len(h.matches) == 0 && r.run.plan.request.Line > 0 {
		if h.matches, err = r.lineMatch(h, r.run.plan.request.Line); err != nil {
			return f, err
		}
	}
	if len(h.matches) > 0 {
		if err := seg.Reader.Outline(&r.cursor, h.doc, r.outline); err != nil {
			return f, err
		}
		placeSymbols(h, r.outline)
		if f.Chunks, err = r.renderChunks(h); err != nil {
			return f, err
		}
		f.BestLines = r.bestLines(f.Chunks)
		f.Matches, f.MoreMatches = h.count, h.count > r.run.plan.limit
	}
	if len(f.Chunks) == 0 {
		f.PathRanges = r.pathRanges(f.Path)
	}
	if r.run.plan.request.Whole {
		lo, hi := seg.Reader.TextRange(h.doc)
		text, err := r.text.Bytes(lo, hi)
		if err != nil {
			return f, err
		}
		f.Content = slices.Clone(text)
		r.bytesLeft -= int64(len(text))
	}
	r.scoreFile(&f, h, places.Flags[h.place]|seg.Reader.Flags(h.doc))
	return f, nil
}

func (r *renderer) openReader(reader *segment.Reader) {
	switch {
	case r.text == nil:
		r.text, r.symbolText = segment.NewText(reader, &r.cursor), segment.NewText(reader, &r.cursor)
	case r.reader != reader:
		r.text.Reset(reader)
		r.symbolText.Reset(reader)
	}
	r.reader = reader
}

// lineMatch returns a line of a document as a match, without leading and trailing blanks.
// It returns no match if the document has fewer lines or the line is blank.
func (r *renderer) lineMatch(h *hit, number int) ([]match, error) {
	lo, hi := r.reader.TextRange(h.doc)
	text, err := r.text.Bytes(lo, hi)
	if err != nil {
		return nil, err
	}
	start := 0
	for ; number > 1; number-- {
		n := bytes.IndexByte(text[start:], '\n')
		if n < 0 {
			return nil, nil
		}
		start += n + 1
	}
	line, _, _ := bytes.Cut(text[start:], newline)
	start += len(line) - len(bytes.TrimLeft(line, " \t"))
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil, nil
	}
	return []match{{uint32(start), uint32(start + len(line)), -1}}, nil
}

// placeSymbols replaces symbol numbers by the positions of their names. It sorts the
// matches and removes duplicates.
func placeSymbols(h *hit, symbols *segment.Outline) {
	for i := range h.matches {
		if m := &h.matches[i]; m.symbol >= 0 && int(m.symbol) < symbols.Len() {
			m.start, m.end = symbols.Range(int(m.symbol))
		}
	}
	slices.SortStableFunc(h.matches, func(a, b match) int { return cmp.Compare(a.start, b.start) })
	kept := h.matches[:0]
	for _, m := range h.matches {
		if n := len(kept); n == 0 || m.start >= kept[n-1].end {
			kept = append(kept, m)
		}
	}
	h.matches = kept
}

// renderChunks renders the matches of a hit with their lines while there is room, and
// removes the other matches from the hit.
func (r *renderer) renderChunks(h *hit) ([]Chunk, error) {
	var chunks []Chunk
	done := 0
	for done < len(h.matches) && (r.bytesLeft > 0 || done == 0) { // show at least one match of each file shown
		h.matches = h.matches[:min(len(h.matches), done+int(max(r.bytesLeft, 0)/rangeBytes)+1)]
		from, to, n, err := r.chunkExtent(h, h.matches[done:])
		if err != nil {
			return nil, err
		}
		chunk, err := r.renderChunk(h, from, to, h.matches[done:done+n])
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
		done += n
		r.bytesLeft -= chunkBytes + int64(to-from) + int64(n)*rangeBytes
	}
	h.matches = h.matches[:done]
	return chunks, nil
}

// maxJoinedMatches is the number of matches of a chunk from which Request.JoinLines adds no
// others: a file with a match in every fifth line would be one chunk.
const maxJoinedMatches = 10

// chunkExtent returns the whole lines of the first match, together with those of the
// following matches that its context reaches, and the number of these matches. It reads
// each line once, however many matches the line has.
func (r *renderer) chunkExtent(h *hit, matches []match) (from, to, n int, err error) {
	lo, hi := r.reader.TextRange(h.doc)
	if from, to, err = r.lineExtent(lo, hi, lo+int(matches[0].start), lo+int(matches[0].end)); err != nil {
		return 0, 0, 0, err
	}
	for n = 1; n < len(matches); {
		last := n
		for last < len(matches) && lo+int(matches[last].start) < to {
			last++
		}
		if last == n {
			lines := r.run.plan.request.ContextLines
			if n < maxJoinedMatches {
				lines += r.run.plan.request.JoinLines
			}
			before, err := r.lineStart(lo, lo+int(matches[n].start), lines)
			if err != nil || before >= to {
				return from, to, n, err
			}
			last++
		}
		n = last
		if stop := lo + int(matches[n-1].end); stop > to || r.run.plan.request.ContextLines > 0 {
			if to, err = r.lineEnd(hi, stop, r.run.plan.request.ContextLines); err != nil {
				return 0, 0, 0, err
			}
		}
	}
	return from, to, n, nil
}

// lineExtent returns the whole lines around start and end, with context.
func (r *renderer) lineExtent(lo, hi, start, end int) (from, to int, err error) {
	if from, err = r.lineStart(lo, start, r.run.plan.request.ContextLines); err != nil {
		return 0, 0, err
	}
	to, err = r.lineEnd(hi, max(end, start+1), r.run.plan.request.ContextLines)
	return from, to, err
}

// lineStart returns the start of the line that contains at, or of an earlier line if
// lines > 0.
func (r *renderer) lineStart(lo, at, lines int) (int, error) {
	for margin := lineMargin * (lines + 1); ; margin *= 8 {
		from := max(lo, at-margin)
		b, err := r.text.Bytes(from, at)
		if err != nil {
			return 0, err
		}
		left := lines
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != '\n' {
				continue
			}
			if left == 0 {
				return from + i + 1, nil
			}
			left--
		}
		if from == lo {
			return lo, nil
		}
	}
}

// lineEnd returns the end, after the line feed, of the line that contains the byte before
// at, or of a later line if lines > 0.
func (r *renderer) lineEnd(hi, at, lines int) (int, error) {
	for margin := lineMargin * (lines + 1); ; margin *= 8 {
		to := min(hi, at-1+margin)
		b, err := r.text.Bytes(at-1, to)
		if err != nil {
			return 0, err
		}
		left := lines
		for i, c := range b {
			if c != '\n' {
				continue
			}
			if left == 0 {
				return at + i, nil
			}
			left--
		}
		if to == hi {
			return hi, nil
		}
	}
}

// renderChunk renders the lines between from and to with their matches.
func (r *renderer) renderChunk(h *hit, from, to int, matches []match) (Chunk, error) {
	lo, _ := r.reader.TextRange(h.doc)
	line, err := r.text.Lines(h.doc, from)
	if err != nil {
		return Chunk{}, err
	}
	text, err := r.text.Bytes(from, to)
	if err != nil {
		return Chunk{}, err
	}
	c := Chunk{Content: slices.Clone(text), Start: Location{from - lo, line + 1, 1}}
	at := locator{text: c.Content, at: c.Start, base: from - lo}
	defined := false
	for _, m := range matches {
		c.Ranges = append(c.Ranges, Range{at.seek(int(m.start)), at.seek(int(m.end))})
		s, err := r.symbolAt(m)
		if err != nil {
			return c, err
		}
		defined = defined || s != nil
		c.Symbols = append(c.Symbols, s)
	}
	if !defined {
		c.Symbols = nil
	}
	return c, nil
}

// A locator converts ascending offsets into lines and columns.
type locator struct {
	text []byte
	base int // offset of text in the document
	at   Location
}

func (l *locator) seek(offset int) Location {
	piece := l.text[l.at.ByteOffset-l.base : offset-l.base]
	for len(piece) > 0 {
		if piece[0] == '\n' {
			l.at.LineNumber++
			l.at.Column = 0
		}
		size := 1
		if piece[0] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(piece)
		}
		l.at.Column++
		piece = piece[size:]
	}
	l.at.ByteOffset = offset
	return l.at
}

// symbolAt returns the symbol whose name a match overlaps, or nil if there is none.
func (r *renderer) symbolAt(m match) (*code.Symbol, error) {
	i := r.outline.At(m.start, m.end)
	if i < 0 {
		return nil, nil
	}
	s, err := r.outline.Symbol(i, r.symbolText)
	return &s, err
}

// pathRanges returns the parts of a path that the path patterns of the query match, or
// the whole path if no pattern determines a part.
func (r *renderer) pathRanges(path string) []Range {
	if r.paths == nil {
		r.compilePaths()
	}
	var ranges []Range
	text := []byte(strings.ReplaceAll(path, "\n", "\x00")) // as the patterns have it
	for _, re := range r.paths {
		for _, at := range re.FindAllIndex(text, -1) {
			if at[0] < at[1] {
				ranges = append(ranges, pathRange(text, at[0], at[1]))
			}
		}
	}
	if len(ranges) == 0 {
		return []Range{pathRange(text, 0, len(text))}
	}
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Start.ByteOffset, b.Start.ByteOffset) })
	kept := ranges[:1]
	for _, x := range ranges[1:] {
		if x.Start.ByteOffset >= kept[len(kept)-1].End.ByteOffset {
			kept = append(kept, x)
		}
	}
	return kept
}

// compilePaths compiles the path patterns of the query.
func (r *renderer) compilePaths() {
	for _, p := range r.run.plan.scope.c.predicates {
		switch {
		case p.path == nil:
		case p.path.Regexp != nil:
			r.paths = append(r.paths, p.path.Regexp)
		default:
			r.paths = append(r.paths, literalRegexp(p.path))
		}
	}
}

func pathRange(path []byte, start, end int) Range {
	location := func(at int) Location { return Location{at, 1, utf8.RuneCount(path[:at]) + 1} }
	return Range{location(start), location(end)}
}
