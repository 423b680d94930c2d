package outline

import "bytes"

// conditional is an open #if. Its branches are alternatives, so their brackets must not be
// added up: #else restores the depth of the #if, and #endif restores the depth at the end
// of the first branch. If the first branch opened or closed a scope or body, the others
// are skipped.
type conditional struct {
	depth   int32 // depth of the skipped group at the #if
	serial  int32 // number of the skipped group; 0 between declarations
	scopes  int32 // number of open scopes at the #if
	first   int32 // depth at the end of the first branch
	hasElse bool
}

// maxConditionals bounds the nesting of #if that is tracked.
const maxConditionals = 256

// scanDirective reads a preprocessor line and records the macro that it defines.
func (s *scanner) scanDirective() token {
	start := s.pos
	if !s.firstOnLine(start) {
		return s.punctToken(1)
	}
	s.pos++
	s.skipBlanks()
	name := s.directiveName()
	switch string(name) {
	case "define":
		s.defineMacro()
		return token{}
	case "if":
		s.openConditional()
	case "ifdef", "ifndef":
		s.pushConditional()
	case "else", "elif":
		s.nextBranch('#')
		return token{}
	case "endif":
		s.closeConditional()
	}
	s.skipDirective()
	return token{}
}

// scanConditional reads a line that begins with a mark and is a directive only if it
// belongs to a conditional, without the continuation and the comments of C.
func (s *scanner) scanConditional() {
	mark := s.src[s.pos]
	s.pos++
	s.skipBlanks()
	switch string(s.directiveName()) {
	case "if", "ifdef", "ifndef":
		s.pushConditional()
	case "else", "elif", "elsif":
		s.nextBranch(mark)
		return
	case "endif":
		s.closeConditional()
	}
	s.skipLine()
}

func (s *scanner) skipBlanks() {
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.pos++
	}
}

func (s *scanner) directiveName() []byte {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= 'a' && s.src[s.pos] <= 'z' {
		s.pos++
	}
	return s.src[start:s.pos]
}

// defineMacro records the following macro and skips its text.
func (s *scanner) defineMacro() {
	s.skipBlanks()
	if s.pos >= len(s.src) || s.lex.class[s.src[s.pos]] != classWord {
		s.skipDirective()
		return
	}
	start := s.pos
	for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] >= classWord {
		s.pos++
	}
	if s.deaf {
		s.skipDirective()
		return
	}
	def := s.rec.add(span{int32(start), int32(s.pos)}, "macro", scope{})
	s.skipDirective()
	s.rec.close(def, s.pos)
}

// skipDirective moves to the line break that ends a directive, which is neither escaped
// nor inside a comment.
func (s *scanner) skipDirective() {
	for s.pos < len(s.src) {
		line := s.src[s.pos:]
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			end = len(line)
		}
		line = line[:end]
		if i := bytes.Index(line, []byte("/*")); i >= 0 {
			if j := bytes.IndexByte(line[:i], '/'); j >= 0 && line[j+1] == '/' {
				s.pos += end // the comment begins with an earlier //
				return
			}
			s.pos += i
			s.skipBlockComment()
			continue
		}
		s.pos += end
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) == 0 || line[len(line)-1] != '\\' {
			return
		}
		s.pos = min(s.pos+1, len(s.src))
	}
}

func (s *scanner) pushConditional() {
	if len(s.conditions) < maxConditionals {
		s.conditions = append(s.conditions, conditional{depth: s.skipDepth, serial: s.skipSerial, scopes: s.openScopes})
	}
}

// openConditional opens an #if. It skips the text of #if 0.
func (s *scanner) openConditional() {
	s.skipBlanks()
	never := s.hasPrefix("0") && (s.pos+1 >= len(s.src) || s.lex.class[s.src[s.pos+1]] < classWord)
	if never && s.skipBranches('#', true) {
		return
	}
	s.pushConditional()
}

// nextBranch handles #else and #elif. The mark begins directives.
func (s *scanner) nextBranch(mark byte) {
	n := len(s.conditions)
	if n == 0 {
		s.skipDirective()
		return
	}
	c := &s.conditions[n-1]
	if c.serial != s.skipSerial || c.scopes != s.openScopes {
		// An earlier branch began or ended a body: this branch repeats it.
		s.conditions = s.conditions[:n-1]
		s.skipDirective()
		s.skipBranches(mark, false)
		return
	}
	if !c.hasElse {
		c.hasElse, c.first = true, s.skipDepth
	}
	s.skipDepth = c.depth
	s.skipDirective()
}

func (s *scanner) closeConditional() {
	n := len(s.conditions)
	if n == 0 {
		return
	}
	c := s.conditions[n-1]
	s.conditions = s.conditions[:n-1]
	if c.hasElse && c.serial == s.skipSerial {
		s.skipDepth = c.first
	}
}

// skipBranches skips lines up to the #endif of the current conditional or, if toElse is
// set, up to its #else, which then opens a new conditional. It reports whether it found
// one. The mark begins directives.
func (s *scanner) skipBranches(mark byte, toElse bool) bool {
	for depth := 0; ; {
		s.skipLine()
		if s.pos >= len(s.src) {
			return true
		}
		s.pos++
		s.skipBlanks()
		if s.peekByte(0) != mark {
			continue
		}
		s.pos++
		s.skipBlanks()
		switch string(s.directiveName()) {
		case "if", "ifdef", "ifndef":
			depth++
		case "endif":
			if depth == 0 {
				s.skipLine()
				return true
			}
			depth--
		case "else", "elif", "elsif":
			if depth == 0 && toElse {
				s.pushConditional()
				s.skipDirective()
				return true
			}
		}
	}
}
