package outline

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

var hostileFlag = flag.Int("outline.hostile", 1, "how many megabytes of each hostile text every language reads")

// hostileTexts are designed to slow a reader down: unclosed brackets and literals, one
// long line, deep nesting, heads without bodies.
var hostileTexts = []string{
	"(", "{", "[", "({[", "}", "\"", "'", "`", "/*", "(*", "{-", "#|", "<<A\n", "\"${", "a ", "a(", "a.", "a,", "a=", "f(g{h[", "class A { ", "function a(",
	"begin ", "module a ", "a\n", " a:\n  ", "\\", "$", "<a ", "#", "@a(", "a < b ", "$a$", "x = a'", "-- ", "end ",
}

// TestHostile reads every hostile text in every language, symbols and tokens: the cost
// must grow linearly with the size.
func TestHostile(t *testing.T) {
	t.Parallel()
	for n, language := range append(languages, "Unknown Language") {
		// With small sizes, for every build, each language reads a part of the texts, and
		// its neighbors the rest. TestLinear reads all of them at a fifth of the size.
		step := 1
		if *hostileFlag == 1 {
			step = 6
		}
		for i := n % step; i < len(hostileTexts); i += step {
			clocktest.CheckLinear(t, fmt.Sprintf("%s: bytes of %q", language, hostileTexts[i]), *hostileFlag<<20, func(size int) {
				text := bytes.Repeat([]byte(hostileTexts[i]), size/len(hostileTexts[i]))
				symbols, err := Extract(language, text, time.Time{})
				if err != nil && !errors.Is(err, ErrLimit) || len(symbols) > code.MaxSymbolsPerDocument {
					t.Errorf("%s: %d symbols of %q, %v", language, len(symbols), hostileTexts[i], err)
				}
				tokenizer := NewTokenizer(language, text)
				for tokenizer != nil {
					if _, ok := tokenizer.Next(); !ok {
						break
					}
				}
			})
		}
	}
}

// TestDescribeIsLinear describes names that are close together on one line.
func TestDescribeIsLinear(t *testing.T) {
	t.Parallel()
	for language, pattern := range map[code.Language]string{"Go": "var a = (1; ", "C": "int a(void) { } /* x */ ", "Python": "a = 1; ", "Kotlin": "// x\nfun a(\n"} {
		clocktest.CheckLinear(t, fmt.Sprintf("%s: bytes of %q", language, pattern), 1<<20, func(size int) {
			definitions, err := Describe(language, []byte(strings.Repeat(pattern, size/len(pattern))), time.Time{})
			if err != nil && !errors.Is(err, ErrLimit) {
				t.Errorf("%s: %d definitions, %v", language, len(definitions), err)
			}
		})
	}
}
