package outline

var (
	css = newCSS("CSS, PostCSS", []comment{slashStar})
	// less is also used for SCSS, whose blocks nest in the same way.
	less = newCSS("SCSS, Less", []comment{slashStar, slashSlash})
)

// newCSS returns the table of a language of style sheets. What a selector names is
// found by readStyles: it may name several things.
func newCSS(languages string, comments []comment) table {
	return table{
		languages: languages,
		lexicon: lexicon{
			letters:  "-",
			escapes:  true,
			comments: comments,
			strings:  []quote{doubleQuoted, singleQuoted},
		},
		flat: "[", descend: true, selectors: true,
		read: readStyles,
	}
}

// readStyles records the classes and ids that a selector names, and what at-rules
// and declarations define.
func readStyles(p *tableParser, end byte) {
	s := p.stmt
	switch {
	case len(s) > 2 && s[0].isPunct('@') && s[1].kind == tokWord && s[2].kind == tokWord && end == '{':
		switch string(p.tokenText(s[1])) {
		case "mixin", "function", "keyframes", "-webkit-keyframes":
			p.rec.add(s[2].toSpan(), "function", scope{})
		}
	case len(s) > 2 && (s[0].isPunct('$') || s[0].isPunct('@')) && s[1].kind == tokWord && s[2].isPunct(':') && end != '{':
		p.rec.add(s[1].toSpan(), "variable", scope{})
	case len(s) > 1 && s[0].kind == tokWord && s[1].isPunct(':') && end != '{' && len(p.tokenText(s[0])) > 2 && string(p.tokenText(s[0])[:2]) == "--":
		p.rec.add(s[0].toSpan(), "variable", scope{})
	case end == '{', end == ',':
		for i := range s[:len(s)-1] {
			if s[i+1].kind != tokWord || s[i+1].start != s[i].end {
				continue
			}
			switch {
			case s[i].isPunct('.'):
				p.rec.add(s[i+1].toSpan(), "class", scope{})
			case s[i].isPunct('#'):
				p.rec.add(s[i+1].toSpan(), "id", scope{})
			case s[i].isPunct('%'):
				p.rec.add(s[i+1].toSpan(), "placeholder", scope{})
			}
		}
	}
}
