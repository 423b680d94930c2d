package reading

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of pasted code.
const (
	minCodeTokens = 4
	minCodeNames  = 1
)

// isCode recognizes pasted code: a few tokens, a name, and punctuation that does not
// occur in queries.
func (p *Paste) isCode(t *queryShape) bool {
	if !t.punctuated {
		return false
	}
	tokens := p.readTokens()
	names, brackets := 0, 0
	for _, token := range tokens {
		switch {
		case len(token.text) > 1 && isWord(token.text):
			names++
		case strings.ContainsAny(token.text, "()[]{};=<>&|*`"):
			brackets++
		}
	}
	if len(tokens) < minCodeTokens || names < minCodeNames || brackets == 0 {
		return false
	}
	p.Sure = p.Sure || t.blanks
	return true
}

// looksLikeMessage reports whether a text with brackets reads as a sentence: it has far
// more words than punctuation, and no sign of code.
func (p *Paste) looksLikeMessage() bool {
	return len(p.Lines) == 1 && len(plainWords.FindAllString(p.Lines[0], -1)) >= minMessageWords && !codeSigns.MatchString(p.Lines[0])
}

var (
	plainWords = regexp.MustCompile(`(?:^|[\s(\["'])[A-Za-z][a-z']+(?:[,.:;)\]"']*(?:\s|$))`)
	// codeSigns match what sentences do not contain: operators, calls, ends of
	// statements, beginnings of blocks.
	codeSigns = regexp.MustCompile(`:=|[!=<>+\-*/|&]=|=>|->|&&|\|\||\w\(|[;{]\s*$|^\s*(?:if|for|while|return|func|def|class|public|private|static|const|let|var|import|fn|pub|else|case|switch|type|struct|elif|try|except|raise|throw|assert|yield|with|from|go|defer|async|await|impl|match|use|export|package)\b.*[(){}=:\[]|^[^"'` + "`" + `]*\s=\s|^\s*[}\])]`)
)

// token is a word or one punctuation character of a line.
type token struct {
	text  string
	space bool // blanks precede it
}

// readTokens returns the tokens of the lines, at most MaxTokens of at most MaxCodeLines lines.
func (p *Paste) readTokens() (all []token) {
	for _, line := range p.Lines[:min(len(p.Lines), MaxCodeLines)] {
		all = append(all, tokensOf(line)...)
		if len(all) >= MaxTokens {
			return all[:MaxTokens]
		}
	}
	return all
}

func tokensOf(line string) (tokens []token) {
	space := false
	for i := 0; i < len(line); {
		c, size := utf8.DecodeRuneInString(line[i:])
		if unicode.IsSpace(c) {
			space = true
			i += size
			continue
		}
		end := i + size
		for isWordRune(c) && end < len(line) {
			next, size := utf8.DecodeRuneInString(line[end:])
			if !isWordRune(next) {
				break
			}
			end += size
		}
		tokens = append(tokens, token{line[i:end], space})
		space, i = false, end
	}
	return tokens
}

func isWordRune(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func isWord(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return isWordRune(c)
}

// Expression returns a regular expression that matches consecutive lines of code with any
// blanks between tokens. It is empty if there are no tokens.
func Expression(lines []string) string {
	var b strings.Builder
	n := 0
	for i, line := range lines[:min(len(lines), MaxCodeLines)] {
		tokens := tokensOf(line)
		if n += len(tokens); n > MaxTokens {
			break
		}
		if i > 0 && b.Len() > 0 {
			b.WriteString(`\s*\n\s*`)
		}
		writeTokens(&b, tokens)
	}
	return b.String()
}

func writeTokens(b *strings.Builder, tokens []token) {
	for i, t := range tokens {
		if t.text == "…" { // something was left out
			if i > 0 && i+1 < len(tokens) {
				b.WriteString(".*")
			}
			continue
		}
		switch {
		case i == 0:
		case t.space && isWord(t.text) && isWord(tokens[i-1].text):
			b.WriteString(`\s+`)
		default:
			b.WriteString(`\s*`)
		}
		b.WriteString(regexp.QuoteMeta(t.text))
	}
}

// pastedLines returns the non-blank lines of a text without the prefixes that tools add:
// line numbers, or the marks of a diff or a quotation.
func pastedLines(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " \t\r"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
		if len(lines) == MaxLines {
			break
		}
	}
	for _, prefix := range []*regexp.Regexp{numberPrefix, markPrefix} {
		if cut := cutPrefixes(lines, prefix); cut != nil {
			return cut
		}
	}
	return lines
}

var (
	numberPrefix = regexp.MustCompile(`^\s*\d+(?::|\s*\||\t)\s*`)
	markPrefix   = regexp.MustCompile(`^[+\->]\s+`)
)

// cutPrefixes removes a prefix from all lines. It returns nil if a line lacks the prefix
// or if nothing remains.
func cutPrefixes(lines []string, prefix *regexp.Regexp) []string {
	cut := make([]string, len(lines))
	for i, line := range lines {
		at := prefix.FindStringIndex(line)
		if at == nil || at[1] == len(line) {
			return nil
		}
		cut[i] = line[at[1]:]
	}
	return cut
}
