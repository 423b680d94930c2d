package outline

import "bytes"

var (
	jsLexis = newLexis("$#", "\"'`/", newWordTable(jsWords...), jsSpecial)
	tsLexis = newLexis("$#", "\"'`/", newWordTable(append([]word{wAbstract, wDeclare, wEnum, wImplements, wInterface,
		wModule, wNamespace, wOverride, wPrivate, wProtected, wPublic, wReadonly, wType}, jsWords...)...), jsSpecial)

	jsWords = []word{wAsync, wAwait, wCase, wCatch, wClass, wConst, wDefault, wDelete, wDo, wElse, wExport, wExtends,
		wFinally, wFor, wFunction, wGet, wIf, wImport, wIn, wInstanceof, wLet, wNew, wOf, wReturn, wSet, wStatic, wSwitch,
		wThrow, wTry, wTypeof, wVar, wVoid, wWhile, wYield}
)

func jsSpecial(s *scanner, c byte) token {
	switch c {
	case '/':
		switch s.peekByte(1) {
		case '/', '*':
			return s.slashComment()
		}
		return s.scanRegexp()
	case '`':
		start := s.pos
		s.pos++
		s.scanTemplate()
		return s.literalToken(start)
	case '\'':
		if s.pos > 0 && s.prev.end == int32(s.pos) && s.prev.isName() {
			return s.punctToken(1) // an apostrophe in the text of JSX
		}
	}
	return s.scanQuoted(c, false)
}

// scanTemplate reads the text of a template literal up to its end, or up to "${", after
// which the grammar reads an expression.
func (s *scanner) scanTemplate() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '`':
			s.pos++
			return
		case c == '\\':
			s.pos = min(s.pos+2, len(s.src))
		case c == '$' && s.peekByte(1) == '{':
			s.pos += 2
			s.templateHole = true
			return
		default:
			s.pos++
		}
	}
}

// maxRegexp bounds a regular-expression literal in bytes. Such a literal also may not
// span lines.
const maxRegexp = 4096

// scanRegexp reads a regular-expression literal where one may occur, or else "/".
func (s *scanner) scanRegexp() token {
	start := s.pos
	if !s.regexpMayBegin() || start < s.noRegexpTil {
		return s.punctToken(1)
	}
	inClass := false
	limit := min(len(s.src), start+maxRegexp)
	for i := start + 1; i < limit; i++ {
		switch c := s.src[i]; {
		case c == '\n':
			s.noRegexpTil = i
			return s.punctToken(1)
		case c == '\\':
			i++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '/' && !inClass:
			s.pos = i + 1
			for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
				s.pos++
			}
			return s.literalToken(start)
		}
	}
	s.noRegexpTil = limit
	return s.punctToken(1)
}

var closingTag = []byte("/>")

// regexpMayBegin decides by the previous token: after a value, "/" divides.
func (s *scanner) regexpMayBegin() bool {
	if bytes.HasPrefix(s.src[s.pos:], closingTag) {
		return false // the end of a JSX element
	}
	switch t := s.prev; t.kind {
	case tokNumber, tokString, tokGroup:
		return false
	case tokWord:
		switch t.word {
		case wReturn, wTypeof, wCase, wIn, wOf, wDelete, wVoid, wThrow, wNew, wElse, wDo, wInstanceof, wAwait, wYield:
			return true
		}
		return false
	case tokPunct:
		switch t.ch {
		case ')', ']', '<':
			return false
		case '}':
			return s.newline
		}
	}
	return true
}
