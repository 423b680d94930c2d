package outline

var (
	css = newCSS("CSS, PostCSS", []comment{slashStar})
	// less is also used for SCSS, whose blocks nest in the same way.
	less = newCSS("SCSS, Less", []comment{slashStar, slashSlash})
)

// newCSS returns the table of a style sheet language. It has no rules: readStyles finds
// the names, because a selector may contain several.
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

// readStyles records the classes, IDs and placeholders in a selector, and the definitions in
// at-rules and declarations.
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
