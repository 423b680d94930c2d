package search

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/match"
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
	// scoresOnly leaves out what does not count for the score of a file, such as the numbers
	// of lines and columns.
	scoresOnly bool
	// definesMatch means that a match was the whole name of a symbol whose kind weighs at
	// least MinDefinedWeight.
	definesMatch bool
}

// JSON sizes of the parts of an answer, without their text.
const (
	fileBytes  = 512
	chunkBytes = 192
	rangeBytes = 128
)

func newRenderer(n *searchRun, maxBytes int64) *renderer {
	return &renderer{run: n, bytesLeft: maxBytes, outline: match.Outlines.Get().(*segment.Outline)}
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
		Repo: sc.Repos[places.Repo[h.Place]], Ref: sc.RefOf(seg, h.Place),
		Path:     strings.ReplaceAll(string(places.Path(h.Place)), "\x00", "\n"),
		Language: seg.Reader.Language(h.Doc),
		document: DocumentID{seg.Reader.ID(), h.Doc},
	}
	if f.Ref != "" { // a repository may have no default branch
		f.Refs = append(f.Refs, f.Ref)
	}
	for _, i := range h.OtherPlaces {
		f.Refs = append(f.Refs, sc.RefOf(seg, i))
	}
	var err error
	if len(h.Matches) == 0 && r.run.plan.request.Line > 0 {
		if h.Matches, err = r.lineMatch(h, r.run.plan.request.Line); err != nil {
			return f, err
		}
	}
	if len(h.Matches) > 0 {
		if err := seg.Reader.Outline(&r.cursor, h.Doc, r.outline); err != nil {
			return f, err
		}
		placeSymbols(h, r.outline)
		if f.Chunks, err = r.renderChunks(h); err != nil {
			return f, err
		}
		f.Matches, f.MoreMatches = h.Count, h.Count > r.run.plan.limit
	}
	r.scoreFile(&f, h, places.Flags[h.Place]|seg.Reader.Flags(h.Doc))
	if r.scoresOnly {
		return f, nil
	}
	key, err := seg.Reader.Key(&r.cursor, h.Doc)
	if err != nil {
		return f, err
	}
	f.Blob = key.Blob
	f.BestLines = r.bestLines(h, f.Chunks)
	if len(f.Chunks) == 0 {
		f.PathRanges = r.pathRanges(f.Path)
	}
	if r.run.plan.request.Whole {
		lo, hi := seg.Reader.TextRange(h.Doc)
		text, err := r.text.Bytes(lo, hi)
		if err != nil {
			return f, err
		}
		f.Content = slices.Clone(text)
		r.bytesLeft -= int64(len(text))
	}
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
func (r *renderer) lineMatch(h *hit, number int) ([]match.Match, error) {
	lo, hi := r.reader.TextRange(h.Doc)
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
	return []match.Match{{Start: uint32(start), End: uint32(start + len(line)), Symbol: -1}}, nil
}

// placeSymbols replaces symbol numbers by the positions of their names. It sorts the
// matches and removes duplicates.
func placeSymbols(h *hit, symbols *segment.Outline) {
	for i := range h.Matches {
		if m := &h.Matches[i]; m.Symbol >= 0 && int(m.Symbol) < symbols.Len() {
			m.Start, m.End = symbols.Range(int(m.Symbol))
		}
	}
	slices.SortStableFunc(h.Matches, func(a, b match.Match) int { return cmp.Compare(a.Start, b.Start) })
	kept := h.Matches[:0]
	for _, m := range h.Matches {
		if n := len(kept); n == 0 || m.Start >= kept[n-1].End {
			kept = append(kept, m)
		}
	}
	h.Matches = kept
}

// renderChunks renders the matches of a hit with their lines while there is room, and
// removes the other matches from the hit.
func (r *renderer) renderChunks(h *hit) ([]Chunk, error) {
	var chunks []Chunk
	done := 0
	for done < len(h.Matches) && (r.bytesLeft > 0 || done == 0) { // show at least one match of each file shown
		h.Matches = h.Matches[:min(len(h.Matches), done+int(max(r.bytesLeft, 0)/rangeBytes)+1)]
		from, to, n, err := r.chunkExtent(h, h.Matches[done:])
		if err != nil {
			return nil, err
		}
		chunk, err := r.renderChunk(h, from, to, h.Matches[done:done+n])
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
		done += n
		r.bytesLeft -= chunkBytes + int64(to-from) + int64(n)*rangeBytes
	}
	h.Matches = h.Matches[:done]
	return chunks, nil
}

// maxJoinedMatches is the number of matches of a chunk from which Request.JoinLines adds no
// others: a file with a match in every fifth line would be one chunk.
const maxJoinedMatches = 10

// chunkExtent returns the whole lines of the first match, together with those of the
// following matches that its context reaches, and the number of these matches. It reads
// each line once, however many matches the line has.
func (r *renderer) chunkExtent(h *hit, matches []match.Match) (from, to, n int, err error) {
	lo, hi := r.reader.TextRange(h.Doc)
	if from, to, err = r.lineExtent(lo, hi, lo+int(matches[0].Start), lo+int(matches[0].End)); err != nil {
		return 0, 0, 0, err
	}
	for n = 1; n < len(matches); {
		last := n
		for last < len(matches) && lo+int(matches[last].Start) < to {
			last++
		}
		if last == n {
			lines := r.run.plan.request.ContextLines
			if n < maxJoinedMatches {
				lines += r.run.plan.request.JoinLines
			}
			before, err := r.lineStart(lo, lo+int(matches[n].Start), lines)
			if err != nil || before >= to {
				return from, to, n, err
			}
			last++
		}
		n = last
		if stop := lo + int(matches[n-1].End); stop > to || r.run.plan.request.ContextLines > 0 {
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
	for margin := match.LineMargin * (lines + 1); ; margin *= 8 {
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
	for margin := match.LineMargin * (lines + 1); ; margin *= 8 {
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
func (r *renderer) renderChunk(h *hit, from, to int, matches []match.Match) (Chunk, error) {
	lo, _ := r.reader.TextRange(h.Doc)
	text, err := r.text.Bytes(from, to)
	if err != nil {
		return Chunk{}, err
	}
	c := Chunk{Content: slices.Clone(text), Start: Location{ByteOffset: from - lo}}
	defined := false
	for _, m := range matches {
		c.Ranges = append(c.Ranges, Range{Location{ByteOffset: int(m.Start)}, Location{ByteOffset: int(m.End)}})
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
	if r.scoresOnly {
		return c, nil
	}
	line, err := r.text.Lines(h.Doc, from)
	c.countLines(line + 1)
	return c, err
}

// countLines sets the lines and columns of a chunk that begins with a line.
func (c *Chunk) countLines(line int) {
	c.Start.LineNumber, c.Start.Column = line, 1
	at := locator{text: c.Content, at: c.Start, base: c.Start.ByteOffset}
	for i := range c.Ranges {
		x := &c.Ranges[i]
		x.Start = at.seek(x.Start.ByteOffset)
		x.End = at.seek(x.End.ByteOffset)
	}
}

var newline = []byte{'\n'}

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
func (r *renderer) symbolAt(m match.Match) (*code.Symbol, error) {
	i := r.outline.At(m.Start, m.End)
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
	for _, p := range r.run.plan.scope.Query.Predicates {
		switch {
		case p.Path == nil:
		case p.Path.Regexp != nil:
			r.paths = append(r.paths, p.Path.Regexp)
		default:
			r.paths = append(r.paths, literalRegexp(p.Path))
		}
	}
}

func pathRange(path []byte, start, end int) Range {
	location := func(at int) Location { return Location{at, 1, utf8.RuneCount(path[:at]) + 1} }
	return Range{location(start), location(end)}
}
