package gitmodules

import (
	"errors"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Path is the path of the file in a tree.
const Path = ".gitmodules"

// Bounds of a file.
const (
	// MaxBytes is the size above which callers treat the file as missing.
	MaxBytes      = 1 << 20
	maxSubmodules = 10_000
)

// ErrInvalid means that git would reject the file, or that it has more than 10,000
// submodules.
var ErrInvalid = errors.New("invalid .gitmodules file, or too many submodules")

// Parse returns the URLs of the submodules in a .gitmodules file, as written, by path in
// the spelling of code.SpellPath. The last value of a key counts. Paths and URLs that
// begin with a dash are left out, because git refuses them. It fails with ErrInvalid.
func Parse(text string) (map[string]string, error) {
	p := &configParser{rest: strings.TrimPrefix(text, "\ufeff")}
	type module struct{ path, url string }
	modules, names := map[string]*module{}, []string{}
	for p.next() {
		if p.section != "submodule" || p.name == "" || p.key != "path" && p.key != "url" {
			continue
		}
		m := modules[p.name]
		if m == nil {
			if len(modules) == maxSubmodules {
				return nil, ErrInvalid
			}
			m = &module{}
			modules[p.name], names = m, append(names, p.name)
		}
		if p.key == "path" {
			m.path = strings.TrimSuffix(p.value, "/")
		} else {
			m.url = p.value
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	urls := make(map[string]string, len(names))
	for _, name := range names {
		if m := modules[name]; m.path != "" && m.url != "" && m.path[0] != '-' && m.url[0] != '-' {
			urls[code.SpellPath(m.path)] = m.url
		}
	}
	return urls, nil
}

// configParser parses the format of git-config(1), one variable at a time.
type configParser struct {
	rest string
	// section and key are in lower case; name is the subsection's name as written.
	section, name, key, value string
	err                       error
}

// next reads the next variable. It returns false at the end and on an error, which it
// stores in err.
func (p *configParser) next() bool {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r\n")
		switch {
		case p.rest == "":
			return false
		case p.rest[0] == '#' || p.rest[0] == ';':
			_, p.rest, _ = strings.Cut(p.rest, "\n")
		case p.rest[0] == '[':
			p.readSection()
		default:
			p.readVariable()
			return p.err == nil
		}
		if p.err != nil {
			return false
		}
	}
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

// readSection reads [section], [section.name] or [section "name"].
func (p *configParser) readSection() {
	p.rest = p.rest[1:]
	n := 0
	for n < len(p.rest) && (isKeyByte(p.rest[n]) || p.rest[n] == '.') {
		n++
	}
	p.section, p.name, _ = strings.Cut(strings.ToLower(p.rest[:n]), ".")
	empty := n == 0
	p.rest = p.rest[n:]
	if trimmed := strings.TrimLeft(p.rest, " \t\r"); len(trimmed) < len(p.rest) {
		if p.rest = trimmed; !strings.HasPrefix(p.rest, `"`) {
			p.err = ErrInvalid
			return
		}
		p.readSubsection()
		empty = false
	}
	if empty || p.err != nil || !strings.HasPrefix(p.rest, "]") {
		p.err = ErrInvalid
		return
	}
	p.rest = p.rest[1:]
}

// readSubsection reads a quoted name, in which a backslash escapes the next byte.
func (p *configParser) readSubsection() {
	var name strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.name, p.rest = name.String(), p.rest[i+1:]
			return
		case c == '\n':
			p.err = ErrInvalid
			return
		case c == '\\':
			if i++; i == len(p.rest) || p.rest[i] == '\n' {
				p.err = ErrInvalid
				return
			}
			name.WriteByte(p.rest[i])
		default:
			name.WriteByte(c)
		}
	}
	p.err = ErrInvalid
}

// readVariable reads a key and, after an equals sign, its value.
func (p *configParser) readVariable() {
	n := 0
	for n < len(p.rest) && isKeyByte(p.rest[n]) {
		n++
	}
	if n == 0 || '0' <= p.rest[0] && p.rest[0] <= '9' || p.rest[0] == '-' {
		p.err = ErrInvalid
		return
	}
	p.key, p.value = strings.ToLower(p.rest[:n]), ""
	p.rest = strings.TrimLeft(p.rest[n:], " \t")
	p.rest = strings.TrimPrefix(p.rest, "\r")
	switch {
	case p.rest == "" || p.rest[0] == '\n': // a key without a value
	case p.rest[0] == '=':
		p.rest = p.rest[1:]
		p.readValue()
	default:
		p.err = ErrInvalid
	}
}

// readValue reads to the end of the line: quotes preserve spaces and comment characters,
// and a backslash begins an escape or continues the line.
func (p *configParser) readValue() {
	var value strings.Builder
	quoted, kept := false, 0 // kept is the length without trailing spaces
	i := 0
	for ; i < len(p.rest); i++ {
		c := p.rest[i]
		if c == '\r' && strings.HasPrefix(p.rest[i:], "\r\n") {
			continue
		}
		if c == '\n' {
			break
		}
		switch {
		case !quoted && (c == '#' || c == ';'):
			if end := strings.IndexByte(p.rest[i:], '\n'); end >= 0 {
				i += end - 1
			} else {
				i = len(p.rest) - 1
			}
			continue
		case !quoted && strings.IndexByte(" \t\r", c) >= 0:
			if value.Len() > 0 {
				value.WriteByte(c)
			}
			continue
		case c == '"':
			quoted = !quoted
			kept = value.Len()
			continue
		case c == '\\':
			if strings.HasPrefix(p.rest[i+1:], "\r\n") {
				i++
			}
			if i++; i == len(p.rest) { // git reads a line feed there
				continue
			}
			switch p.rest[i] {
			case '\n':
				continue
			case 'n':
				value.WriteByte('\n')
			case 't':
				value.WriteByte('\t')
			case 'b':
				value.WriteByte('\b')
			case '\\', '"':
				value.WriteByte(p.rest[i])
			default:
				p.err = ErrInvalid
				return
			}
		default:
			value.WriteByte(c)
		}
		kept = value.Len()
	}
	if quoted {
		p.err = ErrInvalid
		return
	}
	p.value, p.rest = value.String()[:kept], p.rest[min(i, len(p.rest)):]
}
