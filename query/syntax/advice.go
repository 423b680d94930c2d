package syntax

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/spelling"
)

const adviceEscape = `Put a backslash before characters that are meant as text, or search for the text with regular expressions off.`

// regexpAdvice returns advice on how to fix a broken regular expression.
func regexpAdvice(e *syntax.Error) string {
	switch e.Code {
	case syntax.ErrMissingParen:
		return `Close it with ), or write \( for the character.`
	case syntax.ErrUnexpectedParen:
		return `Open it with (, or write \) for the character.`
	case syntax.ErrMissingBracket:
		return `Close the class with ], or write \[ for the character.`
	case syntax.ErrTrailingBackslash:
		return `Write \\ for a backslash.`
	case syntax.ErrMissingRepeatArgument:
		return fmt.Sprintf(`Write \%.1s for the character, or .* for "anything".`, e.Expr)
	case syntax.ErrInvalidRepeatOp:
		return `Use one repetition, or group the inner one: (a*)*.`
	case syntax.ErrInvalidRepeatSize:
		return `Repeat at most 1000 times, smaller number first.`
	case syntax.ErrInvalidCharRange:
		if strings.HasPrefix(e.Expr, `\p`) || strings.HasPrefix(e.Expr, `\P`) {
			return `Use a Unicode category or script: \pL, \p{Lu}, \p{Greek}.`
		}
		return `Write the lower end first; escape a - that is meant as text, or put it last.`
	case syntax.ErrInvalidEscape:
		return escapeAdvice(e.Expr)
	case syntax.ErrInvalidPerlOp:
		return perlAdvice(e.Expr)
	case syntax.ErrInvalidNamedCapture:
		return perlAdvice(e.Expr)
	case syntax.ErrNestingDepth, syntax.ErrLarge:
		return `Make it smaller, or split it into several terms.`
	}
	return adviceEscape
}

// adviseBlank returns the advice on a broken expression at raw. If it begins with a
// repetition after a word, the blank before it was probably meant to be repeated.
func (p *parser) adviseBlank(raw Span, advice string) string {
	before := raw.Start
	for before > 0 && isBlank(p.text[before-1]) {
		before--
	}
	word := before
	for word > 0 && !isBlank(p.text[word-1]) {
		word--
	}
	if f, _ := p.filterAt(word, before); before == raw.Start || word == before || f != nil || !strings.ContainsRune("*+?", rune(p.text[raw.Start])) {
		return advice
	}
	whole := p.text[word:raw.End]
	if _, fault := regexpSize(whole, MaxRegexpInstructions); fault != nil || strings.Contains(whole, `"`) {
		return advice
	}
	return fmt.Sprintf(`A blank separates terms; to search for one expression with a blank, put it in quotes: %s. `, showOnLine(quoteTerm(whole))) + advice
}

func escapeAdvice(expr string) string {
	if len(expr) > 1 && isDigit(expr[1]) {
		return `Back references are not supported, so that every search takes linear time; write the repeated text out.`
	}
	return `Write \\ for a backslash, or leave it away.`
}

// perlAdvice returns advice on Perl syntax that linear-time engines do not support.
func perlAdvice(expr string) string {
	for _, prefix := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(expr, prefix) {
			return `Look-around is not supported, so that every search takes linear time; use several terms, and - for what must not occur.`
		}
	}
	return `Use (…), (?:…), (?P<name>…) or the flags (?i), (?s), (?U).`
}

// badWord returns the error for a value that a filter does not accept.
func (p *parser) badWord(f *filter, i, v int, word string) *Error {
	key := p.text[i : v-1]
	advice, corrected := wordAdvice(f, key, shortenPattern(word)), ""
	if f == filterType && (word == "commit" || word == "diff") {
		advice = fmt.Sprintf(`A query finds text, not commits: use the history of a repository, quarry log or GET /api/commits, or write "%s:%s" in quotes to search for the text.`, key, word)
	} else if near := nearWords(f, word); near != "" {
		advice = fmt.Sprintf("Did you mean %s:%s? %s", key, near, advice)
		corrected = p.replaceSpan(Span{v, v + len(word)}, near)
	}
	err := p.newError(v, fmt.Sprintf("%s: does not accept the value %s", key, shortenPattern(word)), advice)
	err.corrected = corrected
	return err
}

// wordAdvice lists the values of a filter that accepts only certain words.
func wordAdvice(f *filter, key, value string) string {
	const maxListed = 10
	values := key + ": with one of " + strings.Join(f.words, ", ")
	if len(f.words) <= maxListed {
		values = key + ":" + strings.Join(f.words, ", "+key+":")
	}
	return fmt.Sprintf(`Write %s, or "%s:%s" in quotes to search for the text.`, values, key, value)
}

// nearWords returns the words of a filter that are nearest to a value, or "" if a word of
// the value is near none of them.
func nearWords(f *filter, value string) string {
	words := strings.Split(value, ",")
	for i, word := range words {
		near := spelling.Nearest(word, slices.Values(f.words), 1)
		if len(near) == 0 {
			return ""
		}
		words[i] = near[0]
	}
	if f.value != valueWords && len(words) > 1 {
		return ""
	}
	return strings.Join(words, ",")
}

// nearKeyword returns the keyword that key was likely meant to be, or "". Short keywords have too many neighbours.
func nearKeyword(key string) string {
	const shortest = 4
	lower := strings.ToLower(key)
	if keywords[lower] != nil && lower != key && len(key) >= 2 {
		return lower
	}
	if len(key) < shortest {
		return ""
	}
	best := ""
	for k := range keywords {
		if len(k) >= shortest && spelling.Distance(lower, k, 1) == 1 && (best == "" || k < best) {
			best = k
		}
	}
	return best
}
