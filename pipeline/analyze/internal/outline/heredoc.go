package outline

import "bytes"

// heredoc is a string whose text begins on the line after the one with its terminator's
// name.
type heredoc struct {
	terminator []byte
	indented   bool // the terminator may be indented
}

// maxHeredocs bounds the heredocs that begin on one line.
const maxHeredocs = 16

func (s *scanner) addHeredoc(terminator []byte, indented bool) {
	if len(terminator) > 0 && len(s.heredocs) < maxHeredocs {
		s.heredocs = append(s.heredocs, heredoc{terminator, indented})
	}
}

// skipHeredocs skips the heredocs that begin at s.pos, the start of a line.
func (s *scanner) skipHeredocs() {
	for _, h := range s.heredocs {
		s.skipHeredoc(h)
	}
	s.heredocs = s.heredocs[:0]
}

func (s *scanner) skipHeredoc(h heredoc) {
	for s.pos < len(s.src) {
		start := s.pos
		s.skipLine()
		line := bytes.TrimSuffix(s.src[start:s.pos], []byte{'\r'})
		s.pos = min(s.pos+1, len(s.src))
		if h.indented {
			line = bytes.TrimLeft(line, " \t")
		}
		if bytes.Equal(line, h.terminator) {
			return
		}
	}
}
