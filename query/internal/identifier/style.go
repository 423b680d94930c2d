package identifier

import (
	"regexp"
	"slices"
	"strings"
)

const (
	// maxStyles bounds the spellings of a name of several words in an expression,
	// maxMixedStyles the spellings with underscores in some places.
	maxStyles      = 24
	maxMixedStyles = 32
	// maxAccented bounds the accented forms of a word in an expression.
	maxAccented = 24
)

// LowerStyles returns the words of a name joined in each other style, in lower case:
// memtable_size, memtable-size, memtablesize. A name of one word has no other styles.
func LowerStyles(name string) []string {
	words := Words(name)
	if len(words) < 2 {
		return nil
	}
	lower := strings.ToLower(name)
	var styles []string
	for _, between := range []string{"", "_", "-", ".", " "} {
		if style := strings.Join(words, between); style != lower {
			styles = append(styles, style)
		}
	}
	return styles
}

// StyleExpression returns an expression that matches a name in other styles: its words
// joined by nothing, an underscore, a hyphen, a dot or a blank; with one pair of words
// joined; or with underscores between some words only, as in TestReader_ReadAt. The
// alternatives are literals, which the index finds faster than an expression with optional
// characters. The result is empty for a name of one word.
func StyleExpression(name string) string {
	words := Words(name)
	if len(words) < 2 {
		return ""
	}
	var styles []string
	add := func(style string) {
		style = regexp.QuoteMeta(style)
		if len(styles) < maxStyles && !strings.EqualFold(style, regexp.QuoteMeta(name)) && !slices.Contains(styles, style) { // the answer already has the name as written
			styles = append(styles, style)
		}
	}
	for _, between := range []string{"", "_", "-", ".", " "} {
		add(strings.Join(words, between))
	}
	for i := 1; i < len(words); i++ {
		head, tail := words[:i], words[i:]
		add(strings.Join(head, "") + "_" + strings.Join(tail, ""))
		joined := append(slices.Clone(head[:i-1]), head[i-1]+tail[0])
		for _, between := range []string{"_", "-"} {
			add(strings.Join(append(joined, tail[1:]...), between))
		}
	}
	for at := range min(1<<(len(words)-1), maxMixedStyles) { // each bit is an underscore after a word
		mixed := words[0]
		for i, word := range words[1:] {
			if at>>i&1 == 1 {
				mixed += "_"
			}
			mixed += word
		}
		add(mixed)
	}
	return joinAlternatives(styles)
}

// accents maps a letter to its accented forms, most frequent first.
var accents = map[rune][]rune{
	'a': []rune("äáàâåã"), 'c': []rune("çčć"), 'e': []rune("éèêë"), 'i': []rune("íïîì"), 'n': []rune("ñ"), 'o': []rune("öóôøòõ"),
	's': []rune("š"), 'u': []rune("üúûù"), 'y': []rune("ý"), 'z': []rune("ž"),
}

// plainLetters maps an accented letter to the letter without the accent.
var plainLetters = func() map[rune]rune {
	plain := map[rune]rune{}
	for letter, all := range accents {
		for _, accented := range all {
			plain[accented] = letter
		}
	}
	return plain
}()

// Minimum and maximum length in letters of a word that may have accents.
const minAccentWord, maxAccentWord = 4, 24

// AccentExpression returns an expression that matches a word with other accents. It is empty
// if there are none: the text must be one word of 4 to 24 letters from a to z or their
// accented forms.
func AccentExpression(word string) string { return joinAlternatives(accentVariants(word)) }

// joinAlternatives returns an expression that matches any of the words, or "" if there are none.
func joinAlternatives(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "(?:" + strings.Join(words, "|") + ")"
}

// accentVariants returns the forms of a word with an accent on one letter, or with the same
// accent on each occurrence of a letter; for an accented word, the form without accents.
// It returns none for a text that is not a single word.
func accentVariants(word string) (forms []string) {
	letters := []rune(strings.ToLower(word))
	if len(letters) < minAccentWord || len(letters) > maxAccentWord || len(Words(word)) > 1 {
		return nil
	}
	plain := slices.Clone(letters)
	for i, r := range letters {
		if p, ok := plainLetters[r]; ok {
			plain[i] = p
		} else if !isLowerASCII(r) {
			return nil
		}
	}
	if !slices.Equal(plain, letters) {
		return []string{string(plain)}
	}
	// The first accents of all letters come before the second ones.
	for n := range 6 {
		for i, r := range letters {
			if n >= len(accents[r]) {
				continue
			}
			one := slices.Clone(letters)
			if one[i] = accents[r][n]; slices.Index(letters, r) == i && slices.Contains(letters[i+1:], r) {
				forms = append(forms, strings.ReplaceAll(string(letters), string(r), string(accents[r][n])))
			}
			forms = append(forms, string(one))
		}
	}
	return forms[:min(len(forms), maxAccented)]
}

// EqualIgnoringStyle reports whether two names have the same letters and digits in the same
// order, in any letter case.
func EqualIgnoringStyle(a, b string) bool {
	strip := func(r rune) rune {
		if !IsWordRune(r) || r == '_' {
			return -1
		}
		return r
	}
	return strings.EqualFold(strings.Map(strip, a), strings.Map(strip, b))
}
