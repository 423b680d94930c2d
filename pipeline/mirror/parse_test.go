package mirror

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Any output of git is parsed without a panic, and the results stay within the input.
func FuzzParseDiff(f *testing.F) {
	f.Add([]byte(":100644 100644 aa bb M\x00a\x00\x00diff --git a/a b/a\nindex aa..bb 100644\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@ f()\n-x\n\\ No newline at end of file\n+y\n+z\n"))
	f.Add([]byte(":100644 100644 aa bb R100\x00a\x00b\x00\x00diff --git a/a b/b\n"))
	f.Add([]byte(":100644 120000 aa bb T\x00a\x00\x00diff --git a/a b/a\ndiff --git a/a b/a\n@@ -0,0 +1 @@\n+@@ -1 +1 @@\n"))
	f.Add([]byte("@@ -9999999999999999999 +1 @@"))
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := parseDiff(b)
		if err != nil {
			return
		}
		for _, file := range files {
			for _, h := range file.Hunks {
				if !bytes.Contains(b, []byte(h.Body)) {
					t.Errorf("a hunk that is not there: %q", h.Body)
				}
			}
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00"+strings.Repeat("i", 20)+"40000 b\x00"+strings.Repeat("j", 20)), 20)
	f.Add([]byte("100644 a\x00short"), 32)
	f.Fuzz(func(t *testing.T, b []byte, idLen int) {
		if idLen != 20 && idLen != 32 {
			return
		}
		size := 0
		names, err := parseTree(b, idLen)
		for _, n := range names {
			size += len(n.Raw) + idLen
		}
		if err == nil && size > len(b) {
			t.Errorf("%d bytes of names in %d", size, len(b))
		}
	})
}

func FuzzBlame(f *testing.F) {
	f.Add("0123456789012345678901234567890123456789 1 1 3\nauthor A\nauthor-mail <a@b>\nauthor-time 12\nsummary s\nprevious 0123456789012345678901234567890123456789 \"a\\tb\"\nfilename \"\\303\\244\"\n")
	f.Add("filename x\n")
	f.Fuzz(func(t *testing.T, s string) {
		p := blameParser{blame: Blame{Commits: map[code.CommitID]*BlameCommit{}}}
		if p.read(strings.NewReader(s)) == nil {
			before := countLines(&p.blame)
			p.blame.mergeRanges()
			if after := countLines(&p.blame); after != before {
				t.Errorf("%d lines before the ranges are joined, %d after", before, after)
			}
		}
		for _, r := range p.blame.Ranges {
			if p.blame.Commits[r.Commit] == nil {
				t.Errorf("a range of %q, which is no commit", r.Commit)
			}
		}
	})
}

func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{
		`plain`: "plain", `"tab\tquote\" back\\ \303\244"`: "tab\tquote\" back\\ ä", `"`: `"`, `"\`: `"\`, `"\""`: `"`, `"\7"`: "\a", `"\999"`: "999",
	} {
		if got := unquotePath(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func countLines(b *Blame) (n int) {
	for _, r := range b.Ranges {
		n += r.Lines
	}
	return n
}

// TestMergeRanges joins the groups of git, which arrive in any order, so that every line
// has one range.
func TestMergeRanges(t *testing.T) {
	b := Blame{Ranges: []BlameRange{
		{"aa", "f", 8, 2}, {"aa", "f", 1, 3}, {"bb", "f", 6, 1}, {"aa", "f", 4, 2}, {"bb", "g", 7, 1}, {"aa", "f", 10, 5},
	}}
	b.mergeRanges()
	want := []BlameRange{{"aa", "f", 1, 5}, {"bb", "f", 6, 1}, {"bb", "g", 7, 1}, {"aa", "f", 8, 7}}
	if !slices.Equal(b.Ranges, want) {
		t.Errorf("ranges %v, want %v", b.Ranges, want)
	}
}
