package answers

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode"
)

var (
	codeToken  = regexp.MustCompile(`[\pL_][\pL\pN_]*|\pN+|[^\s\pL\pN_]`)
	identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]{2,}$`)
)

// Pasted draws lines of code with changed blanks.
func Pasted(sources Sources) Family {
	return Family{"pasted code", func(r *rand.Rand) (Task, bool) {
		source, file, lines := sources.drawFile(r)
		n := r.IntN(len(lines))
		if !isCodeLine(lines[n]) {
			return Task{}, false
		}
		t := Task{From: fmt.Sprintf("%s:%s:%d", source.Name, file, n+1)}
		wanted := []string{lines[n]}
		switch v := r.IntN(10); {
		case v < 3:
			t.Variant, t.Text = "as it is", strings.TrimSpace(lines[n])
		case v < 6:
			t.Variant, t.Text = "blanks left out", changeBlanks(r, lines[n], 1, 0)
		case v < 8:
			t.Variant, t.Text = "blanks put in", changeBlanks(r, lines[n], 0, 0.5)
		default:
			t.Variant = "several lines"
			last := n
			for last+1 < len(lines) && last-n < 3 && isCodeLine(lines[last+1]) {
				last++
			}
			if last == n {
				return Task{}, false
			}
			wanted = lines[n : last+1]
			t.Text = strings.Join(wanted, "\n")
		}
		right := map[string]bool{}
		for _, w := range wanted[:1] {
			right[withoutBlanks(w)] = true
		}
		t.Right = func(l Line) bool { return right[withoutBlanks(l.Text)] }
		return t, true
	}}
}

// isCodeLine reports whether a line is worth pasting: it has a few tokens, two names, and
// a bracket or an operator.
func isCodeLine(line string) bool {
	text := strings.TrimSpace(line)
	if len(text) < 20 || len(text) > 160 || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "*") || strings.HasPrefix(text, "/*") {
		return false
	}
	names, brackets := map[string]bool{}, 0
	tokens := codeToken.FindAllString(text, -1)
	for _, t := range tokens {
		if identifier.MatchString(t) {
			names[t] = true
		}
		if strings.ContainsAny(t, "()[]{}=<>") {
			brackets++
		}
	}
	return len(tokens) >= 6 && len(names) >= 2 && brackets >= 2
}

// changeBlanks removes optional blanks and adds blanks between tokens, each with the
// given probability.
func changeBlanks(r *rand.Rand, line string, leaveOut, putIn float64) string {
	line = strings.TrimSpace(line)
	var b strings.Builder
	quote := rune(0)
	runes := []rune(line)
	for i, c := range runes {
		if quote == 0 && (c == '"' || c == '\'' || c == '`') {
			quote = c
		} else if c == quote {
			quote = 0
		}
		if i == 0 || quote != 0 {
			b.WriteRune(c)
			continue
		}
		before := runes[i-1]
		if unicode.IsSpace(c) {
			if i+1 < len(runes) && isWord(before) && isWord(runes[i+1]) || r.Float64() >= leaveOut {
				b.WriteRune(c)
			}
			continue
		}
		if !unicode.IsSpace(before) && (strings.ContainsRune("()[]{},", c) || strings.ContainsRune("([{", before)) && r.Float64() < putIn {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func isWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func withoutBlanks(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, s)
}
