package failure

import (
	"regexp"
	"slices"
	"strings"
)

// maskText replaces a credential.
const maskText = "***"

// patterns match credentials that are recognized by their context. Each pattern is tried
// only if the text contains one of its hints: most text contains none, and matching a
// pattern costs a thousand times as much as finding a hint.
var patterns = []struct {
	pattern *regexp.Regexp
	hints   []string // in lower case
	to      string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*-----.*?(?:-----END [A-Z0-9 ]*-----|$)`), []string{"-----begin "}, maskText},
	// Matches the end of a block whose beginning was truncated.
	{regexp.MustCompile(`(?s)^.*-----END [A-Z0-9 ]*-----`), []string{"-----end "}, maskText},
	// A password may contain an @.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s'"<>]*@`), []string{"://"}, "${1}" + maskText + "@"},
	{regexp.MustCompile(`(?i)((?:authorization|private-token|job-token|x-[a-z-]*(?:key|token)|cookie)["']?\s*[:=]\s*["']?)(?:(?:basic|bearer|token|digest|negotiate)\s+[^\s"',]{4,}|[^\s"',]{8,})`),
		[]string{"authorization", "-token", "-key", "cookie"}, "${1}" + maskText},
	{regexp.MustCompile(`\b(?i:(basic|bearer))\s+[A-Za-z0-9._~+/-]*[0-9A-Z][A-Za-z0-9._~+/-]{7,}=*`), []string{"basic ", "bearer "}, "${1} " + maskText},
	{regexp.MustCompile(`(?i)((?:pass(?:word|wd|phrase)|secret|token|(?:api|access|private)[_-]?key)["']?(?:=|\s*[:=]\s*["']))[^\s"'&,;]{6,}`),
		[]string{"passw", "passphrase", "secret", "token", "key"}, "${1}" + maskText},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_.-]+`), []string{"eyj"}, "eyJ" + maskText},
}

// prefixes begin credentials.
var prefixes = []struct {
	prefix string
	// kept is the number of following hexadecimal digits that remain: six for Quarry's
	// own credentials, because the list of keys shows that many.
	kept int
	// min is the minimum number of letters and digits that follow. word indicates that no
	// other characters follow, and that names of other things may begin with the prefix.
	min  int
	word bool
}{
	{prefix: "qk_", kept: 6, min: 12}, {prefix: "qt_", kept: 6, min: 12}, {prefix: "qs_", kept: 6, min: 12},
	{prefix: "qi_", kept: 6, min: 12}, {prefix: "qo_", kept: 6, min: 12}, {prefix: "qx_", kept: 6, min: 12}, {prefix: "qw_", kept: 6, min: 12},
	{prefix: "sbst_", kept: 6, min: 12}, {prefix: "sbk_", kept: 6, min: 12}, {prefix: "sourcebot-", kept: 6, min: 12},
	{prefix: "ghp_", min: 16}, {prefix: "gho_", min: 16}, {prefix: "ghu_", min: 16}, {prefix: "ghs_", min: 16}, {prefix: "ghr_", min: 16},
	{prefix: "github_pat_", min: 16}, {prefix: "glpat-", min: 16}, {prefix: "gldt-", min: 16}, {prefix: "glrt-", min: 16}, {prefix: "glcbt-", min: 16},
	{prefix: "glptt-", min: 16}, {prefix: "glft-", min: 16}, {prefix: "glsoat-", min: 16}, {prefix: "glsa_", min: 16},
	{prefix: "xoxa-", min: 10}, {prefix: "xoxb-", min: 10}, {prefix: "xoxp-", min: 10}, {prefix: "xoxr-", min: 10}, {prefix: "xoxs-", min: 10},
	{prefix: "ATATT", min: 16}, {prefix: "ATBB", min: 16}, {prefix: "ATCTT", min: 16}, {prefix: "AIza", min: 30},
	{prefix: "AKIA", min: 12, word: true}, {prefix: "ASIA", min: 12, word: true},
	{prefix: "dop_v1_", min: 16}, {prefix: "shpat_", min: 16}, {prefix: "whsec_", min: 16}, {prefix: "lin_api_", min: 16},
	{prefix: "sk_live_", min: 16}, {prefix: "rk_live_", min: 16}, {prefix: "sk_test_", min: 16}, {prefix: "dckr_pat_", min: 16},
	{prefix: "npm_", min: 30, word: true}, {prefix: "hf_", min: 30, word: true}, {prefix: "pypi-", min: 30, word: true}, {prefix: "sk-", min: 30, word: true},
}

// Mask masks everything that looks like a credential. Object names and digests, of 40 or
// 64 hexadecimal digits, remain.
func Mask(text string) string { return maskRuns(MaskKnown(text), false) }

// maskStrictly is a Mask for text in which a long hexadecimal string may be a key.
func maskStrictly(text string) string { return maskRuns(MaskKnown(text), true) }

// MaskKnown masks credentials that are known by their form: a prefix, the name of a
// header or setting, a place in a URL. It keeps strings that are merely long and random.
// It is meant for text that people search.
func MaskKnown(text string) string {
	lower := strings.ToLower(text)
	for i := range patterns {
		p := &patterns[i]
		if slices.ContainsFunc(p.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			text = p.pattern.ReplaceAllString(text, p.to)
		}
	}
	for i := range prefixes {
		p := &prefixes[i]
		text = maskPrefixed(text, p.prefix, p.kept, p.min, p.word)
	}
	return text
}

// maskPrefixed masks every credential with a prefix.
func maskPrefixed(text, prefix string, kept, min int, word bool) string {
	at := strings.Index(text, prefix)
	if at < 0 {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = strings.Index(text, prefix) {
		body := text[at+len(prefix):]
		n := 0
		for n < len(body) && inBody(body[n], kept > 0, word) {
			n++
		}
		begins := at == 0 || !word || kindOf(text[at-1]) == kindOther
		switch {
		case n < min || !begins:
			b.WriteString(text[:at+len(prefix)])
			text = body
		case kept > 0:
			b.WriteString(text[:at+len(prefix)] + body[:kept] + ellipsis)
			text = body[n:]
		default:
			b.WriteString(text[:at+len(prefix)] + maskText)
			text = body[n:]
		}
	}
	return b.String() + text
}

// inBody reports whether c may follow a prefix: a hexadecimal digit, a letter or digit,
// or another character that occurs in tokens.
func inBody(c byte, hex, word bool) bool {
	if hex {
		return isDigit(c) || 'a' <= c && c <= 'f'
	}
	return kindOf(c) != kindOther || !word && strings.IndexByte("_-.=+/", c) >= 0
}

// maskRuns masks strings that are long and look random.
func maskRuns(text string, strict bool) string {
	var b strings.Builder
	done := 0 // text before done has been written to b
	for at := 0; at < len(text); {
		n := 0
		for at+n < len(text) && isRun(text[at+n]) {
			n++
		}
		if n >= minSecretBytes {
			b.WriteString(text[done:at] + maskRun(text[at:at+n], strict))
			done = at + n
		}
		at += n + 1
	}
	return b.String() + text[done:]
}

// isRun reports whether c occurs in one of the variants of base 64.
func isRun(c byte) bool { return kindOf(c) != kindOther || strings.IndexByte("+/_-", c) >= 0 }

const (
	// minSecretBytes is the shortest string that counts as long: 16 random bytes in
	// hexadecimal.
	minSecretBytes = 32
	// keptBytes is the length of the remaining prefix of a shortened string, which
	// identifies it like git's short names.
	keptBytes = 8
)

// maskRun masks a long run of letters and digits if it looks random.
func maskRun(run string, strict bool) string {
	atoms := strings.FieldsFunc(run, func(r rune) bool { return strings.ContainsRune("+/_-", r) })
	out := run
	for _, atom := range atoms {
		if m := maskAtom(atom, strict); m != atom {
			out = strings.Replace(out, atom, m, 1)
		}
	}
	if out == run && isMixed(run) && looksRandom(run, 2, 5) {
		return maskText // base 64
	}
	return out
}

// maskAtom masks a string that contains only letters and digits.
func maskAtom(atom string, strict bool) string {
	switch {
	case len(atom) < minSecretBytes, isHex(atom) && !strict && isObjectName(atom):
		return atom
	case isHex(atom):
		return atom[:keptBytes] + ellipsis
	case (strings.ToLower(atom) == atom || strings.ToUpper(atom) == atom) && looksRandom(atom, 1, 3):
		return maskText // base 32 or 36
	}
	return atom
}

// isObjectName reports whether a hexadecimal string has the length of a git object name
// or a SHA-256 digest, or of the file name of an object whose first two digits are the
// directory.
func isObjectName(hex string) bool {
	switch len(hex) {
	case 38, 40, 62, 64:
		return strings.ToLower(hex) == hex
	}
	return false
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// The kinds of characters in a run.
const (
	kindOther = iota
	kindDigit
	kindLower
	kindUpper
)

func kindOf(c byte) int {
	switch {
	case isDigit(c):
		return kindDigit
	case 'a' <= c && c <= 'z':
		return kindLower
	case 'A' <= c && c <= 'Z':
		return kindUpper
	}
	return kindOther
}

// isMixed reports whether s contains digits, lower and upper case, as nearly every random
// string in base 64 does.
func isMixed(s string) bool {
	var seen [4]bool
	for i := range len(s) {
		seen[kindOf(s[i])] = true
	}
	return seen[kindDigit] && seen[kindLower] && seen[kindUpper]
}

// looksRandom reports whether the kind of character changes at more than num/den of the
// places in s. In random base 64 it changes at six of ten; in a name made of words, in
// camel case or with numbers, at three or fewer.
func looksRandom(s string, num, den int) bool {
	changes := 0
	for i := 1; i < len(s); i++ {
		a, b := kindOf(s[i-1]), kindOf(s[i])
		if a != kindOther && b != kindOther && a != b {
			changes++
		}
	}
	return changes*den > num*(len(s)-1)
}
