package code

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

const lowerDigits = "0123456789abcdef"

// SpellPath returns a path of git, which is a byte string, as text: a byte that is not
// UTF-8 becomes \xHH, as git itself quotes it. A path in UTF-8 remains unchanged.
func SpellPath(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for len(path) > 0 {
		r, n := utf8.DecodeRuneInString(path)
		if r == utf8.RuneError && n == 1 {
			writeEscape(&b, path[0])
		} else {
			b.WriteString(path[:n])
		}
		path = path[n:]
	}
	return b.String()
}

func writeEscape(b *strings.Builder, c byte) {
	b.Write([]byte{'\\', 'x', lowerDigits[c>>4], lowerDigits[c&15]})
}

// pathHashBytes is the length of the hash prefix that ends the name of a path that is too
// long.
const pathHashBytes = 8

// NamePath returns a path of git as text that ValidatePath accepts. valid reports whether
// SpellPath yields such text. If it does not, NamePath spells the dots of an element that
// is "." or ".." as \xHH and an empty element as an escaped slash, and replaces the end
// of a path that is too long with an ellipsis and a part of its hash. The same path
// always gets the same name.
func NamePath(raw string) (name string, valid bool) {
	spelled := SpellPath(raw)
	if ValidatePath(spelled) == nil {
		return spelled, true
	}
	return cutPath(spellElements(spelled), raw), false
}

// spellElements spells out those elements of a path that ValidatePath rejects.
func spellElements(path string) string {
	elements := strings.Split(path, "/")
	for i, element := range elements {
		switch element {
		case "":
			elements[i] = `\x2f`
		case ".":
			elements[i] = `\x2e`
		case "..":
			elements[i] = `\x2e\x2e`
		default:
			elements[i] = strings.ReplaceAll(element, "\x00", `\x00`)
		}
	}
	return strings.Join(elements, "/")
}

// cutPath truncates a path that is too long. It ends with a hash, because files with the
// same beginning would otherwise get the same name.
func cutPath(path, raw string) string {
	if len(path) <= MaxPathBytes {
		return path
	}
	sum := sha256.Sum256([]byte(raw))
	end := "…" + hex.EncodeToString(sum[:pathHashBytes])
	n := MaxPathBytes - len(end)
	for !utf8.RuneStart(path[n]) {
		n--
	}
	return path[:n] + end
}
