package outline

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

var hostileFlag = flag.Int("outline.hostile", 1, "how many megabytes of each hostile text every language reads")

// hostileTexts are designed to slow a reader down: unclosed brackets and literals, one
// long line, deep nesting, heads without bodies.
var hostileTexts = []string{
	"(", "{", "[", "({[", "}", "\"", "'", "`", "/*", "(*", "{-", "#|", "<<A\n", "\"${", "a ", "a(", "a.", "a,", "a=", "f(g{h[", "class A { ", "function a(",
	"begin ", "module a ", "a\n", " a:\n  ", "\\", "$", "<a ", "#", "@a(", "a < b ", "$a$", "x = a'", "-- ", "end ",
}

// TestHostile reads every hostile text in every language, symbols and tokens. A reader
// that is not linear would take hours.
func TestHostile(t *testing.T) {
	size := *hostileFlag << 20
	limit := time.Duration(*hostileFlag) * 10 * time.Second // a busy machine, with the race detector
	texts := make([][]byte, len(hostileTexts))
	for i, pattern := range hostileTexts {
		texts[i] = bytes.Repeat([]byte(pattern), size/len(pattern))
	}
	for n, language := range append(languages, "Unknown Language") {
		// With small sizes, for every build, each language reads a part of the texts, and
		// its neighbors the rest. TestLinear reads all of them at a fifth of the size.
		step := 1
		if *hostileFlag == 1 {
			step = 6
		}
		for i := n % step; i < len(texts); i += step {
			start := time.Now()
			symbols, err := Extract(language, texts[i], time.Time{})
			if err != nil && !errors.Is(err, ErrLimit) || len(symbols) > code.MaxSymbolsPerDocument {
				t.Errorf("%s: %d symbols of %q, %v", language, len(symbols), hostileTexts[i], err)
			}
			count, tokenizer := 0, NewTokenizer(language, texts[i])
			for tokenizer != nil {
				if _, ok := tokenizer.Next(); !ok {
					break
				}
				count++
			}
			if d := time.Since(start); d > limit {
				t.Errorf("%s: %d MB of %q take %v, %d symbols, %d tokens", language, *hostileFlag, hostileTexts[i], d, len(symbols), count)
			}
		}
	}
}

// TestDescribeIsLinear describes names that are close together on one line.
func TestDescribeIsLinear(t *testing.T) {
	for language, pattern := range map[code.Language]string{"Go": "var a = (1; ", "C": "int a(void) { } /* x */ ", "Python": "a = 1; ", "Kotlin": "// x\nfun a(\n"} {
		start := time.Now()
		definitions, err := Describe(language, []byte(strings.Repeat(pattern, (1<<20)/len(pattern))), time.Time{})
		if d := time.Since(start); err != nil && !errors.Is(err, ErrLimit) || d > 10*time.Second {
			t.Errorf("%s: %d definitions in %v, %v", language, len(definitions), d, err)
		}
	}
}
