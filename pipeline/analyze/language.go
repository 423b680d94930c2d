package analyze

import (
	"bytes"
	"strings"

	enry "github.com/go-enry/go-enry/v2"
	"github.com/go-enry/go-enry/v2/data"

	"github.com/quarrysearch/quarry/schemas/code"
)

// languageTable determines languages as go-enry does, most of them by name alone. go-enry
// checks, in this order, editor mode lines, file name, "#!" line, extension, XML header,
// manual page name, heuristics on the content, and a classifier; the first check that
// leaves one language wins. The table answers directly if one of the first four does, and
// leaves the rest to go-enry.
type languageTable struct {
	// names and extensions contain those that belong to only one language.
	names      map[string]code.Language
	extensions map[string]code.Language
	// known contains the extensions that several languages share.
	known map[string]bool
}

func newLanguageTable() *languageTable {
	t := &languageTable{
		names:      make(map[string]code.Language, len(data.LanguagesByFilename)),
		extensions: make(map[string]code.Language, len(data.LanguagesByExtension)),
		known:      make(map[string]bool),
	}
	for name, languages := range data.LanguagesByFilename {
		if len(languages) == 1 {
			t.names[name] = code.Language(languages[0])
		}
	}
	for ext, languages := range data.LanguagesByExtension {
		if len(languages) == 1 {
			t.extensions[ext] = code.Language(languages[0])
		} else {
			t.known[ext] = true
		}
	}
	return t
}

// detectLanguage returns the language of a file with the given name and head.
func (t *languageTable) detectLanguage(name pathName, head []byte) code.Language {
	if hasModeLine(head) || bytes.HasPrefix(head, []byte("#!")) {
		return t.askEnry(name, head)
	}
	if l, ok := t.names[name.base]; ok {
		return l
	}
	if _, several := data.LanguagesByFilename[name.base]; several {
		return t.askEnry(name, head)
	}
	ext, l := t.lookupExtension(name)
	switch {
	case l != "":
		return l
	case ext != "":
		if l := quickGuess(ext, head); l != "" {
			return l
		}
		return t.askEnry(name, head)
	case mayBeUnnamed(name, head):
		return t.askEnry(name, head)
	}
	return ""
}

// knowsName reports whether the name of a file, apart from its extension, determines a
// language.
func (t *languageTable) knowsName(base string) bool {
	_, one := t.names[base]
	_, several := data.LanguagesByFilename[base]
	return one || several
}

// lookupExtension returns the longest suffix of the name, starting at a dot, that belongs
// to a language, and the language if there is only one.
func (t *languageTable) lookupExtension(name pathName) (string, code.Language) {
	for i := range len(name.base) {
		if name.base[i] != '.' {
			continue
		}
		suffix := name.ext
		if len(name.base)-i != len(name.ext) {
			suffix = strings.ToLower(name.base[i:])
		}
		if l, ok := t.extensions[suffix]; ok {
			return suffix, l
		}
		if t.known[suffix] {
			return suffix, ""
		}
	}
	return "", ""
}

// askEnry determines the language with go-enry.
func (t *languageTable) askEnry(name pathName, head []byte) code.Language {
	languages := enry.GetLanguages(name.path, head)
	switch {
	case len(languages) == 0:
		return ""
	case len(languages) == 1 || len(head) > tieBytes:
		return code.Language(languages[0])
	}
	return settleTie(languages, head)
}

// go-enry's classifier returns languages with equal scores in random order, which happens
// for texts too short to contain a distinctive token. settle draws tieDraws times and
// takes, of the languages that came first, the first in alphabetical order, so that the
// answer is the same every time except for one case in millions.
const (
	tieBytes = 256
	tieDraws = 40
)

func settleTie(languages []string, head []byte) code.Language {
	best := languages[0]
	for range tieDraws {
		best = min(best, topByClassifier(languages, head))
	}
	return code.Language(best)
}

func topByClassifier(languages []string, head []byte) string {
	if ranked := enry.GetLanguagesByClassifier("", head, languages); len(ranked) > 0 {
		return ranked[0]
	}
	return languages[0]
}

// mayBeUnnamed reports whether a file whose name determines no language may still be
// recognized: by an XML header, or as a manual page (name.1).
func mayBeUnnamed(name pathName, head []byte) bool {
	if bytes.Contains(firstLines(head, 2), []byte("xml version=")) {
		return true
	}
	if data.ContentHeuristics[name.ext] != nil {
		return true
	}
	switch ext := strings.TrimSuffix(strings.ToLower(name.base), ".in"); {
	case len(name.ext) > 1 && (name.ext[1] >= '0' && name.ext[1] <= '9'):
		return true
	case strings.HasSuffix(ext, ".n"), strings.HasSuffix(ext, ".man"), strings.HasSuffix(ext, ".mdoc"):
		return true
	default:
		dot := strings.LastIndexByte(ext, '.')
		return dot >= 0 && dot+1 < len(ext) && ext[dot+1] >= '0' && ext[dot+1] <= '9'
	}
}

// modeLines is the number of lines at the beginning and at the end that may contain a
// mode line.
const modeLines = 5

// hasModeLine reports whether the first or last lines of head may contain an Emacs or Vim
// mode line.
func hasModeLine(head []byte) bool {
	top := firstLines(head, modeLines)
	return modeLineIn(top) || len(top) < len(head) && modeLineIn(lastLines(head[len(top):], modeLines))
}

func modeLineIn(lines []byte) bool {
	if bytes.Contains(lines, []byte("-*-")) {
		return true
	}
	if bytes.IndexByte(lines, '=') < 0 || bytes.IndexByte(lines, ':') < 0 {
		return false
	}
	for _, setting := range []string{"ft", "filetype", "syntax"} {
		if containsFold(lines, setting) {
			return true
		}
	}
	return false
}

// containsFold reports whether b contains the lower-case ASCII word in any case, followed
// by an equals sign.
func containsFold(b []byte, word string) bool {
	for {
		eq := bytes.IndexByte(b, '=')
		if eq < 0 {
			return false
		}
		before := bytes.TrimRight(b[:eq], " \t")
		if n := len(before) - len(word); n >= 0 && strings.EqualFold(string(before[n:]), word) {
			return true
		}
		b = b[eq+1:]
	}
}

// firstLines returns the first n lines of b.
func firstLines(b []byte, n int) []byte {
	end := 0
	for ; n > 0; n-- {
		i := bytes.IndexByte(b[end:], '\n')
		if i < 0 {
			return b
		}
		end += i + 1
	}
	return b[:end]
}

// lastLines returns the last n lines of b.
func lastLines(b []byte, n int) []byte {
	start := len(b)
	for ; n >= 0; n-- { // a final line break starts no line
		i := bytes.LastIndexByte(b[:start], '\n')
		if i < 0 {
			return b
		}
		start = i
	}
	return b[start+1:]
}
