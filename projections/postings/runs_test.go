package postings

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"testing"
)

func TestNextRun(t *testing.T) {
	var digits [256]bool
	for c := '0'; c <= '9'; c++ {
		digits[c] = true
	}
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		text := make([]byte, rng.IntN(60))
		for i := range text {
			text[i] = "0123x"[rng.IntN(5)]
		}
		n, from := 1+rng.IntN(9), rng.IntN(8)
		want := -1
		for i := from; i+n <= len(text) && want < 0; i++ {
			if bytes.IndexByte(text[i:i+n], 'x') < 0 {
				want = i
			}
		}
		if got := NextRun(text, from, n, &digits); got != want {
			t.Fatalf("seed %d: run of %d in %q from %d: got %d, want %d", seed, n, text, from, got, want)
		}
	}
}

// TestRunClasses compares the bytes of each class with their names.
func TestRunClasses(t *testing.T) {
	for class, pattern := range map[RunClass]string{
		RunForeign: `[\x80-\xff]`, RunDigit: `[0-9]`, RunHex: `[0-9a-fA-F]`, RunUpper: `[A-Z0-9_]`,
		RunWord: `[A-Za-z0-9_\x80-\xff]`, RunBase64: `[A-Za-z0-9_\-+/=]`,
	} {
		expression := regexp.MustCompile(pattern)
		for b, got := range runTable[class] {
			if want := expression.MatchString(string(rune(b))); got != want { // a rune below 256 stands for its byte
				t.Errorf("class %d has %#x: %v, want %v", class, b, got, want)
			}
		}
	}
}

// TestRunsAreNeverTooNarrow compares the levels of blocks with a byte-by-byte search: a
// block in which a run starts must be among those found for it.
func TestRunsAreNeverTooNarrow(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		text := randomRuns(rng, 1+rng.IntN(5*BlockBytes))
		var columns [RunClasses][]byte
		blocks := 0
		for at := 0; at < len(text); at += BlockBytes {
			for c, level := range longestRunsOf(text[at:], min(BlockBytes, len(text)-at)) {
				columns[c] = AppendRunLevel(columns[c], blocks, level)
			}
			blocks++
		}
		for c := range RunClasses {
			n := runMinimum[c] + rng.IntN(100)
			q, ok := FindRun(&runTable[c], n)
			if !ok {
				t.Fatalf("no class for a run of %d of class %d", n, c)
			}
			found := q.Blocks(columns[q.Class], blocks)
			for i := NextRun(text, 0, n, &runTable[c]); i >= 0; i = NextRun(text, i+1, n, &runTable[c]) {
				if b := i / BlockBytes; found.Next(b) != b {
					t.Fatalf("seed %d: a run of %d bytes of class %d starts in block %d, which is not found", seed, n, c, b)
				}
			}
			if q.level > 0 && found.Len() == blocks && NextRun(text, 0, runLevels[q.level], &runTable[q.Class]) < 0 {
				t.Fatalf("seed %d: all blocks are found for a run that does not occur", seed)
			}
		}
	}
}

// longestRunsOf returns the levels of a block, the first bytes of window.
func longestRunsOf(window []byte, block int) [RunClasses]byte {
	c := &byteClasses{}
	c.classify(bytes.Repeat([]byte{'A'}, BlockBytes)) // what an earlier block leaves
	c.classify(window[:min(len(window), block+MaxRun)])
	return c.longestRuns(block)
}

// TestRunsAreExact compares the levels of blocks with those of runs that are counted byte by byte.
func TestRunsAreExact(t *testing.T) {
	seen := map[byte]bool{}
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 10))
		text := randomRuns(rng, 1+rng.IntN(2*BlockBytes))
		if seed%2 == 0 {
			for i := range text {
				text[i] = byte(rng.IntN(1 + rng.IntN(256)))
			}
		}
		block := min(BlockBytes, 1+rng.IntN(len(text)))
		window := text[:min(len(text), block+MaxRun)]
		for c, got := range longestRunsOf(text, block) {
			longest, run := 0, 0
			for i := len(window) - 1; i >= 0; i-- {
				if run++; !runTable[c][window[i]] {
					run = 0
				}
				if i < block && run >= runMinimum[c] {
					longest = max(longest, run)
				}
			}
			if want := runLevel(longest); got != want {
				t.Fatalf("seed %d, class %d of %d bytes: level %d, want %d for %d", seed, c, block, got, want, longest)
			}
			seen[got] = true
		}
	}
	if len(seen) != len(runLevels) {
		t.Errorf("only the levels %v occur", seen)
	}
}

// randomRuns returns pieces of different classes, some of them long.
func randomRuns(rng *rand.Rand, n int) []byte {
	pieces := []string{"0", "f", "G", "_", "ü", "+", " ", "\n", "x", "."}
	var text []byte
	for len(text) < n {
		length := 1 + rng.IntN(12)
		if rng.IntN(20) == 0 {
			length = rng.IntN(150)
		}
		text = append(text, bytes.Repeat([]byte(pieces[rng.IntN(len(pieces))]), length)...)
	}
	return text[:n]
}

func TestFindRun(t *testing.T) {
	class := func(s string) *[256]bool {
		var c [256]bool
		for i := range len(s) {
			c[s[i]] = true
		}
		return &c
	}
	for _, test := range []struct {
		of   string
		n    int
		want RunClass
		ok   bool
	}{
		{"0123456789", 16, RunDigit, true},
		{"0123456789", 7, 0, false},
		{"0123456789abcdef", 40, RunHex, true},
		{"abc_", 24, RunWord, true},
		{"abc_", 23, 0, false},
		{"ABC_", 12, RunUpper, true},
		{"a+/", 33, RunBase64, true},
		{"a b", 60, 0, false},
		{"\xc3\xbc", 4, RunForeign, true},
	} {
		if q, ok := FindRun(class(test.of), test.n); ok != test.ok || ok && q.Class != test.want {
			t.Errorf("%q, %d: class %d, %v, want %d, %v", test.of, test.n, q.Class, ok, test.want, test.ok)
		}
	}
}

func BenchmarkRuns(b *testing.B) {
	text := bytes.Repeat([]byte("\tif (ret < 0 && !IS_ERR_OR_NULL(dev->priv)) {\n\t\tdev_err(dev, \"failed: %d\\n\", ret);\n"), 60)
	b.SetBytes(BlockBytes)
	c := &byteClasses{}
	for b.Loop() {
		c.classify(text[:BlockBytes+MaxRun])
		c.longestRuns(BlockBytes)
	}
}
