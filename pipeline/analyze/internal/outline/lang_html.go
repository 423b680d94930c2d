package outline

import "bytes"

var (
	html   = table{languages: "HTML, HTML+ERB, HTML+EEX, HTML+Razor", lexicon: markupLexicon, run: func(s scanner) { readMarkup(s, true) }}
	vue    = table{languages: "Vue", lexicon: markupLexicon, run: func(s scanner) { readMarkup(s, false) }}
	svelte = table{languages: "Svelte", lexicon: markupLexicon, run: func(s scanner) { readMarkup(s, false) }}
)

var markupLexicon = lexicon{
	letters:  "-",
	markup:   true,
	comments: []comment{{open: "<!--", close: "-->"}},
	strings:  []quote{{open: `"`, close: `"`, multiline: true}, {open: "'", close: "'", multiline: true, apart: true}},
}

// readMarkup records the definitions in the scripts of a page and, if page is set, its
// ids and headings.
func readMarkup(s scanner, page bool) {
	for {
		i := bytes.IndexByte(s.src[s.pos:], '<')
		if i < 0 {
			return
		}
		s.pos += i
		s.countStep()
		if s.hasPrefix("<!--") {
			s.scanUntil(s.pos, s.pos+4, "-->")
			continue
		}
		s.pos++
		start := s.pos
		for s.pos < len(s.src) && (isLetter(s.src[s.pos]) || s.src[s.pos] >= '0' && s.src[s.pos] <= '9') {
			s.pos++
		}
		tag := string(bytes.ToLower(s.src[start:s.pos]))
		if tag == "" {
			continue
		}
		s.readAttributes(page, tag)
		switch tag {
		case "script", "style":
			from := s.pos
			end := s.closingTag(tag)
			if tag == "script" {
				inner := s
				inner.src, inner.pos, inner.lex = s.src[:end], from, tsLexis
				runJavaScript(true)(inner)
			}
			s.pos = end
		case "h1", "h2", "h3", "h4", "h5", "h6":
			if page {
				s.recordHeading(tag)
			}
		}
	}
}

// closingTag returns the end of the text of an element that contains no markup.
func (s *scanner) closingTag(tag string) int {
	for from := s.pos; ; {
		i := bytes.Index(s.src[from:], []byte("</"))
		if i < 0 {
			return len(s.src)
		}
		from += i
		if name := from + 2; len(s.src) >= name+len(tag) && bytes.EqualFold(s.src[name:name+len(tag)], []byte(tag)) {
			return from
		}
		from += 2
	}
}

// readAttributes moves past the ">" that ends a tag.
func (s *scanner) readAttributes(page bool, tag string) {
	name := span{}
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '>':
			s.pos++
			return
		case c == '"' || c == '\'':
			start := s.pos
			s.scanUntil(start, start+1, string(rune(c)))
			value := span{int32(start + 1), int32(s.pos - 1)}
			if page && s.pos > start+1 && s.src[s.pos-1] == c {
				switch n := string(bytes.ToLower(s.src[name.start:name.end])); {
				case n == "id":
					s.rec.add(value, "id", scope{})
				case n == "name" && tag == "a":
					s.rec.add(value, "anchor", scope{})
				}
			}
			name = span{}
		case isLetter(c):
			start := s.pos
			for s.pos < len(s.src) && (isLetter(s.src[s.pos]) || s.src[s.pos] == '-' || s.src[s.pos] == ':' || s.src[s.pos] == '_') {
				s.pos++
			}
			name = span{int32(start), int32(s.pos)}
		default:
			s.pos++
		}
	}
}

// maxHeading bounds the text of a heading, in bytes.
const maxHeading = 200

// recordHeading records the text of a heading without markup.
func (s *scanner) recordHeading(tag string) {
	limit := min(len(s.src), s.pos+maxHeading)
	i := bytes.IndexByte(s.src[s.pos:limit], '<')
	if i < 0 {
		return
	}
	from, to := s.pos, s.pos+i
	for from < to && isBlank(s.src[from]) {
		from++
	}
	for from < to && isBlank(s.src[to-1]) {
		to--
	}
	s.rec.add(span{int32(from), int32(to)}, "heading", scope{})
}
