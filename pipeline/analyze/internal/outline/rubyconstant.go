package outline

// readConstants records the constants that "A = B = …" or "A, *B = …" assign, given the
// first two tokens. It reads no further than names, because a heredoc must not be read
// twice.
func (p *rubyParser) readConstants(name, next token) {
	var targets [maxTargets]token
	targets[0] = name
	for n := 1; ; next = p.next() {
		p.skipBlanks()
		switch {
		case next.isPunct(',') && n < maxTargets:
			if p.peekByte(0) == '*' {
				p.pos++
			}
			if !isUpper(p.peekByte(0)) {
				return
			}
			targets[n] = p.next()
			n++
			continue
		case !next.isPunct('=') || next.newline || next.end == int32(p.pos) && (p.peekByte(0) == '=' || p.peekByte(0) == '~' || p.peekByte(0) == '>'):
			p.unreadToken(next)
			p.prev = targets[n-1]
			return
		}
		for _, target := range targets[:n] {
			p.defineName(target, "constant")
		}
		if !isUpper(p.peekByte(0)) {
			return
		}
		targets[0], n = p.next(), 1
	}
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
