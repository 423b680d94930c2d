package web_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestColorsOfCodeAreReadable checks the contrast of each color of code with each color on which
// code stands, in each theme.
func TestColorsOfCodeAreReadable(t *testing.T) {
	tokens, err := os.ReadFile("styles/10-tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := strings.SplitAfter(string(tokens), "\n}")
	checked := 0
	for _, theme := range themes {
		pairs := map[string][]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(theme, -1) {
			pairs[m[1]] = m[2:]
		}
		if pairs["match"] == nil {
			continue
		}
		checked++
		for _, ground := range []string{"card", "match", "add", "del", "accent-soft"} {
			for _, text := range []string{"ink", "tk", "ts", "tn", "soft", "td"} {
				for i, scheme := range []string{"light", "dark"} {
					if got := contrastOf(pairs[ground][i], pairs[text][i]); got < 4.5 {
						t.Errorf("%s on %s has a contrast of %.2f in %s, want 4.5", text, ground, got, scheme)
					}
				}
			}
		}
	}
	if checked != 3 {
		t.Errorf("%d themes, want that of most readers and two of high contrast", checked)
	}
}

// contrastOf returns the contrast of two colors as WCAG defines it.
func contrastOf(a, b string) float64 {
	luminance := func(color string) (sum float64) {
		for i, share := range []float64{0.2126, 0.7152, 0.0722} {
			n, _ := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += share * v
		}
		return sum
	}
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return math.Max(x/y, y/x)
}
