package web

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of a file in the results.
const (
	// openChunks chunks are shown; the rest are folded.
	openChunks = 3
	// maxLineBytes of a line are shown, around its first match. If that match is beyond
	// wideBytes, which most windows do not show, the line is shown from shortly before
	// it.
	maxLineBytes, wideBytes = 400, 100
)

// fileWriter writes the files of a response as HTML. It is the hot path of the page, so
// it appends bytes; text passes through codehtml.AppendText.
type fileWriter struct {
	out       []byte
	assets    *assets
	public    publicurl.URL
	texts     *texts
	filesOnly bool
	capped    bool // the answer does not show all matches
	open      int  // chunks per file that are not folded
	after     int  // the number of the line after the last chunk
	// tokens returns the tokens of a part of a file.
	tokens func(language code.Language, text []byte) []code.Token
}

// newFileWriter returns a writer of files.
func (s *Server) newFileWriter(filesOnly bool) fileWriter {
	return fileWriter{assets: s.assets, public: s.public, texts: s.texts, filesOnly: filesOnly, open: openChunks, tokens: s.readFragment}
}

func (w *fileWriter) raw(s string)  { w.out = append(w.out, s...) }
func (w *fileWriter) text(s string) { w.out = codehtml.AppendText(w.out, []byte(s)) }
func (w *fileWriter) number(n int)  { w.out = strconv.AppendInt(w.out, int64(n), 10) }

// attribute appends an attribute, which requires other escapes than text.
func (w *fileWriter) attribute(name, value string) {
	if name == "href" {
		value = w.public.Resolve(value)
	}
	w.raw(" " + name + `="`)
	w.raw(attributeEscaper.Replace(strings.ToValidUTF8(value, "\uFFFD")))
	w.raw(`"`)
}

var attributeEscaper = strings.NewReplacer("&", "&amp;", `"`, "&#34;", "<", "&lt;", ">", "&gt;", "\x00", "\uFFFD", "\r", "&#13;", "\n", "&#10;")

// writeFile appends a file with its matches.
func (w *fileWriter) writeFile(f *search.FileMatch) {
	address := addressOf(f)
	href := address.String()
	w.raw(`<article class="hit-file"`)
	w.attribute("data-repo", f.Repo.Name)
	w.attribute("data-rev", address.Revision)
	w.attribute("data-path", f.Path)
	w.raw(`><header><h2>`)
	root := address
	root.Kind, root.Path = source.PageTree, ""
	w.raw(`<a class="repo"`)
	w.attribute("href", root.String())
	w.raw(`><bdi>`)
	w.text(displayName(f.Repo))
	w.raw(`</bdi></a><span class="sep" aria-hidden="true">›</span><a class="path"`)
	w.attribute("href", href)
	w.raw(`><bdi>`)
	w.writePath(f)
	w.raw(`</bdi></a></h2>`)
	w.writeAbout(f, &address)
	w.raw("</header>\n")
	if !w.filesOnly {
		w.writeChunks(f, href)
	}
	w.raw("</article>\n")
}

// addressOf returns the page of a file. It does not name a default branch, so that the
// link stays valid if the default branch changes.
func addressOf(f *search.FileMatch) source.Address {
	a := source.Address{Repository: f.Repo.Name, Kind: source.PageBlob, Path: f.Path}
	if f.Ref != f.Repo.DefaultRef() {
		a.Revision = string(f.Ref)
	}
	return a
}

func displayName(r *corpus.Repository) string {
	if r.DisplayName != "" {
		return r.DisplayName
	}
	return r.Name
}

// writePath appends a path with its matches and with the file name highlighted.
func (w *fileWriter) writePath(f *search.FileMatch) {
	name := strings.LastIndexByte(f.Path, '/') + 1
	at := 0
	write := func(to int, mark bool) {
		for at < to {
			end := to
			if at < name && end > name {
				end = name
			}
			if at == name {
				w.raw("<b>")
			}
			if mark {
				w.raw("<mark>")
			}
			w.text(f.Path[at:end])
			if mark {
				w.raw("</mark>")
			}
			at = end
		}
	}
	for _, r := range f.PathRanges {
		write(min(max(r.Start.ByteOffset, at), len(f.Path)), false)
		write(min(r.End.ByteOffset, len(f.Path)), true)
	}
	write(len(f.Path), false)
	if name < len(f.Path) {
		w.raw("</b>")
	}
}

// writeAbout appends the language, the branches and the number of matches.
func (w *fileWriter) writeAbout(f *search.FileMatch, address *source.Address) {
	w.raw(`<p class="about">`)
	if address.Revision != "" {
		for i, ref := range f.Refs {
			if i == 3 {
				w.raw(`<span class="tag">+`)
				w.number(len(f.Refs) - i)
				w.raw(`</span>`)
				break
			}
			w.raw(`<span class="tag"><bdi>`)
			w.text(ref.Short())
			w.raw(`</bdi></span>`)
		}
	}
	if f.Language != "" {
		w.raw(`<span class="language">`)
		w.text(string(f.Language))
		w.raw(`</span>`)
	}
	if f.Matches > 0 {
		key := "resultsMatches"
		if f.MoreMatches {
			key = "resultsMatchesAtLeast"
		}
		w.raw(`<span class="count">`)
		w.text(w.texts.mustFormat(key, "n", f.Matches))
		w.raw(`</span>`)
	}
	w.raw(`</p>`)
}

func countRanges(chunks []search.Chunk) (n int) {
	for i := range chunks {
		n += len(chunks[i].Ranges)
	}
	return n
}

// writeChunks appends the chunks of a file: those with the best lines are open and come first; the
// rest are folded. Both are in the order of the file.
func (w *fileWriter) writeChunks(f *search.FileMatch, href string) {
	if len(f.Chunks) == 0 {
		return
	}
	w.after = 0
	open, rest := w.splitChunks(f)
	w.raw(`<div class="chunks">`)
	for _, c := range open {
		w.writeChunk(f.Language, c, href)
	}
	if len(rest) > 0 {
		w.raw(`<details class="rest"><summary>`)
		folded, hidden := 0, f.Matches-countRanges(f.Chunks)
		for _, c := range rest {
			folded += len(c.Ranges)
		}
		switch {
		case f.MoreMatches:
			w.text(w.texts.mustFormat("resultsRestAtLeast", "n", folded))
		case hidden > 0:
			w.text(w.texts.mustFormat("resultsRestOf", "n", folded, "more", folded+hidden))
		default:
			w.text(w.texts.mustFormat("resultsRest", "n", folded))
		}
		w.raw(`</summary>`)
		w.after = 0
		for _, c := range rest {
			w.writeChunk(f.Language, c, href)
		}
		w.raw(`</details>`)
	}
	w.raw("</div>\n")
}

// splitChunks returns the chunks of a file that are open, and the others: as long as there is room,
// those with the best lines, then the first ones.
func (w *fileWriter) splitChunks(f *search.FileMatch) (open, rest []*search.Chunk) {
	isOpen := make([]bool, len(f.Chunks))
	left := w.open
	for _, line := range f.BestLines {
		onLine := func(r search.Range) bool { return r.Start.LineNumber == line }
		i := slices.IndexFunc(f.Chunks, func(c search.Chunk) bool { return slices.ContainsFunc(c.Ranges, onLine) })
		if i >= 0 && !isOpen[i] && left > 0 {
			isOpen[i] = true
			left--
		}
	}
	for i := range f.Chunks {
		if !isOpen[i] && left > 0 {
			isOpen[i] = true
			left--
		}
		if isOpen[i] {
			open = append(open, &f.Chunks[i])
		} else {
			rest = append(rest, &f.Chunks[i])
		}
	}
	return open, rest
}

// writeChunk appends the lines of a chunk, without blank lines at its edges. Line numbers and
// matches link to their lines.
func (w *fileWriter) writeChunk(language code.Language, c *search.Chunk, href string) {
	c = trimBlankLines(c)
	text := codehtml.New(c.Content, w.tokens(language, c.Content)).NewCursor()
	if c.Start.LineNumber == w.after {
		w.raw(`<div class="chunk joined">`)
	} else {
		w.raw(`<div class="chunk">`)
	}
	number, offset, next := c.Start.LineNumber, c.Start.ByteOffset, 0
	for line := range bytes.Lines(c.Content) {
		size := len(line)
		line = bytes.TrimRight(line, "\r\n")
		var marks []span
		for ; next < len(c.Ranges); next++ {
			r := c.Ranges[next]
			if r.Start.ByteOffset >= offset+size {
				break
			}
			from, to := max(r.Start.ByteOffset-offset, 0), min(r.End.ByteOffset-offset, len(line))
			if from < len(line) || from == to {
				marks = append(marks, span{min(from, len(line)), max(to, min(from, len(line)))})
			}
			if r.End.ByteOffset > offset+size {
				break // it continues in the next line
			}
		}
		w.writeLine(text, offset-c.Start.ByteOffset, line, marks, number, href)
		number, offset = number+1, offset+size
	}
	w.after = number
	w.raw("</div>")
}

// trimBlankLines returns a chunk without the blank lines before its first and after its last
// match.
func trimBlankLines(c *search.Chunk) *search.Chunk {
	trimmed := *c
	if len(c.Ranges) == 0 {
		return c
	}
	first, last := c.Ranges[0].Start.ByteOffset-c.Start.ByteOffset, c.Ranges[len(c.Ranges)-1].End.ByteOffset-c.Start.ByteOffset
	if last < len(c.Content) {
		rest := c.Content[last:]
		kept := last + len(bytes.TrimRight(rest, " \t\r\n"))
		if end := bytes.IndexByte(c.Content[kept:], '\n'); end >= 0 {
			trimmed.Content = c.Content[:kept+end+1]
		}
	}
	for {
		line, _, found := bytes.Cut(trimmed.Content, []byte("\n"))
		if len(line) >= first || !found || len(bytes.TrimSpace(line)) > 0 {
			return &trimmed
		}
		n := len(line) + 1
		trimmed.Content, first = trimmed.Content[n:], first-n
		trimmed.Start.ByteOffset, trimmed.Start.LineNumber = trimmed.Start.ByteOffset+n, trimmed.Start.LineNumber+1
	}
}

// span is a byte range of a line.
type span struct{ from, to int }

// writeLine appends a line that begins at an offset of a text.
func (w *fileWriter) writeLine(text *codehtml.Cursor, start int, line []byte, marks []span, number int, href string) {
	if len(marks) > 0 {
		w.raw(`<div class="line hit">`)
	} else {
		w.raw(`<div class="line">`)
	}
	link := href + "?"
	if len(marks) > 0 && marks[0].to > maxShownLine {
		link += "long=1&" // the page would show the line without the match
	}
	link += "L=" + strconv.Itoa(number) + "#L" + strconv.Itoa(number)
	w.raw(`<a class="n"`)
	w.attribute("href", link)
	w.raw(` aria-label="`)
	w.text(w.texts.mustFormat("resultsLine", "n", strconv.Itoa(number))) // as the link reads: without separators
	w.raw(`">`)
	w.number(number)
	w.raw(`</a><code>`)
	from, to := cutLine(line, marks)
	if from > 0 {
		w.raw(`<span class="cut">…</span>`)
	}
	at := from
	for _, m := range marks {
		m.from, m.to = min(max(m.from, at), to), min(m.to, to)
		if m.from >= m.to {
			continue
		}
		w.out = text.AppendSpan(w.out, start+at, start+m.from)
		w.raw(`<mark>`)
		w.out = text.AppendSpan(w.out, start+m.from, start+m.to)
		w.raw(`</mark>`)
		at = m.to
	}
	w.out = text.AppendSpan(w.out, start+at, start+to)
	if to < len(line) {
		w.raw(`<span class="cut">…</span>`)
	}
	w.raw("</code></div>\n")
}

// cutLine returns which bytes of a long line are shown: those around its first match, in
// whole characters.
func cutLine(line []byte, marks []span) (from, to int) {
	if len(marks) > 0 && marks[0].to > wideBytes {
		from = max(marks[0].from-wideBytes/2, 0)
	}
	to = min(from+maxLineBytes, len(line))
	for i := 0; i < utf8.UTFMax && from > 0 && !utf8.RuneStart(line[from]); i++ {
		from--
	}
	for i := 0; i < utf8.UTFMax && to < len(line) && !utf8.RuneStart(line[to]); i++ {
		to--
	}
	return from, to
}

// collectRepositories adds the first few repositories of files.
func collectRepositories(seen []*corpus.Repository, files []search.FileMatch) []*corpus.Repository {
	for i := range files {
		if len(seen) >= 64 {
			break
		}
		if !slices.Contains(seen, files[i].Repo) {
			seen = append(seen, files[i].Repo)
		}
	}
	return seen
}
