package answers

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
)

var (
	// reporting matches a line that reports something to people.
	reporting = regexp.MustCompile(`(?i)err|fail|fatal|panic|log|raise|throw|warn|invalid|print`)
	// literal matches a string literal on one line.
	literal = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	// otherLiteral matches one in languages with other quotes.
	otherLiteral = regexp.MustCompile("'((?:[^'\\\\]|\\\\.){15,})'|`([^`]{15,})`")
	// placeholder matches the parts of a format string that values replace.
	placeholder = regexp.MustCompile(`[#$]\{[^{}]*\}|\{\$[^{}]*\}|\$[a-z]\w*|%[-+# 0]*[0-9]*(?:\.[0-9]+)?(?:l|ll|z|h)?[sdqvwxiufgXp]|%\([a-z_]+\)[sd]|\$?\{[A-Za-z0-9_.]*(?::\?)?\}`)
	constWord   = regexp.MustCompile(`[A-Za-z]{2,}`)
)

// Messages draws error messages: format strings with values filled in, some inside the
// message of another error, some after the prefix of a log. For a message inside another
// one, both format strings are right.
func Messages(sources Sources) Family {
	return Family{"error message", func(r *rand.Rand) (Task, bool) {
		format, from, ok := drawFormat(r, sources)
		if !ok {
			return Task{}, false
		}
		right := []string{format}
		text := fillPlaceholders(r, format)
		variant := "one message"
		if strings.HasPrefix(format, "%") {
			return Task{}, false
		}
		switch r.IntN(6) {
		case 0:
			outer, _, ok := drawFormat(r, sources)
			if !ok {
				return Task{}, false
			}
			right = append(right, outer)
			if i := strings.IndexAny(outer, "%{$"); i > 0 && strings.TrimSpace(outer[:i]) != "" {
				outer = fillPlaceholders(r, outer)
			}
			text, variant = strings.TrimRight(outer, ".:!\n ")+": "+text, "wrapped"
		case 1:
			text = []string{
				fmt.Sprintf("2026-%02d-%02dT%02d:%02d:09.%03dZ ERROR [main] ", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(1000)),
				fmt.Sprintf("E%02d%02d %02d:%02d:%02d.%06d %d server.go:%d] ", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6), r.IntN(9000), r.IntN(900)),
				"error: ", "panic: ", "fatal error: ",
			}[r.IntN(5)] + text
			variant = "with a prefix"
		}
		file := strings.TrimRight(from, "0123456789")
		t := Task{Text: text, Variant: variant, From: from, Language: languages[path.Ext(strings.TrimSuffix(file, ":"))]}
		t.Right = func(l Line) bool {
			for _, f := range right {
				if strings.Contains(l.Text, f) {
					return true
				}
			}
			return false
		}
		return t, true
	}}
}

// hasOtherQuotes are the extensions of languages with literals in single quotes.
var hasOtherQuotes = map[string]bool{".py": true, ".js": true, ".ts": true, ".rb": true, ".php": true}

// drawFormat returns the text of a format string in a source, without escapes except for
// \n at the end.
func drawFormat(r *rand.Rand, sources Sources) (format, from string, ok bool) {
	source, file, lines := sources.drawFile(r)
	first := r.IntN(len(lines))
	for i := range min(len(lines), 200) {
		n := (first + i) % len(lines)
		if !reporting.MatchString(lines[n]) || len(lines[n]) > 240 {
			continue
		}
		found := literal.FindAllStringSubmatch(lines[n], -1)
		if hasOtherQuotes[path.Ext(file)] {
			found = append(found, otherLiteral.FindAllStringSubmatch(lines[n], -1)...)
		}
		for _, m := range found {
			format := strings.TrimSuffix(m[len(m)-1], `\n`)
			if format == "" {
				format = m[1]
			}
			if strings.Contains(format, `\`) || strings.HasPrefix(strings.TrimSpace(format), "'") || strings.Contains(format, "</") || strings.ContainsAny(format[:min(1, len(format))], ".,;:)]}\"") || !placeholder.MatchString(format) || strings.Contains(strings.ReplaceAll(format, "%%", ""), "%!") {
				continue
			}
			constant := placeholder.ReplaceAllString(format, " ")
			if strings.ContainsAny(constant, "%{}$") || len(constWord.FindAllString(constant, -1)) < 3 || len(constant) < 15 {
				continue
			}
			return format, fmt.Sprintf("%s:%s:%d", source.Name, file, n+1), true
		}
	}
	return "", "", false
}

// fillPlaceholders replaces the placeholders of a format string with typical values.
func fillPlaceholders(r *rand.Rand, format string) string {
	return placeholder.ReplaceAllStringFunc(format, func(p string) string {
		switch p[len(p)-1] {
		case 'd', 'i', 'u':
			return fmt.Sprint(r.IntN(1 << (1 + r.IntN(30))))
		case 'x', 'X', 'p':
			return fmt.Sprintf("%x", r.Uint64()>>r.IntN(40))
		case 'f', 'g':
			return fmt.Sprintf("%.2f", r.Float64()*1000)
		case 'q':
			return fmt.Sprintf("%q", randomName(r))
		case 'w':
			return randomCause(r)
		}
		return randomValue(r)
	})
}

func pickWord(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func randomName(r *rand.Rand) string {
	return pickWord(r, "default", "worker", "alpha", "node", "users", "main", "primary", "orders", "kv", "tmp") +
		pickWord(r, "", "-1", "-7f9c", "_backup", "2", ".local", "Service")
}

func randomCause(r *rand.Rand) string {
	return pickWord(r, "no such file or directory", "permission denied", "connection refused", "EOF", "unexpected end of input", "i/o timeout",
		"context deadline exceeded", "invalid syntax", "open /var/lib/"+randomName(r)+".db: permission denied", "dial tcp 10.0.3.17:5432: connect: connection refused")
}

func randomValue(r *rand.Rand) string {
	switch r.IntN(9) {
	case 0:
		return fmt.Sprint(r.IntN(100000))
	case 1:
		return fmt.Sprintf("%016x", r.Uint64())
	case 2:
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Int64N(1<<48))
	case 3:
		return "/" + pickWord(r, "var/lib", "etc", "home/ci/src", "tmp") + "/" + randomName(r) + pickWord(r, ".yaml", ".sock", "", ".go")
	case 4:
		return fmt.Sprintf("10.%d.%d.%d:%d", r.IntN(256), r.IntN(256), r.IntN(256), 1024+r.IntN(60000))
	case 5:
		return fmt.Sprintf("%d.%ds", r.IntN(60), r.IntN(1000))
	case 6:
		return randomCause(r)
	}
	return randomName(r)
}
