package segment

import (
	"fmt"
	"testing"
)

// TestMayName checks that the filter of names excludes no part of a name, in any case,
// and excludes most words that no name contains.
func TestMayName(t *testing.T) {
	p := &Places{}
	for i := range 2000 {
		path := fmt.Sprintf("some/folder%d/Token%dBucket_naïve.go", i, i)
		p.Paths = append(append(p.Paths, path...), 0)
		p.PathEnd = append(p.PathEnd, uint32(len(p.Paths)))
		p.Doc = append(p.Doc, 0)
	}
	for _, word := range []string{"token", "TOKEN17", "bucket_na", "ïve.go", "tok", "1Bu", "go", "naïve"} {
		if !p.MayName(word) {
			t.Errorf("no name may have %s", word)
		}
	}
	denied := 0
	for i := range 100 {
		if !p.MayName(fmt.Sprintf("bucketOf%dTokens", i)) {
			denied++
		}
	}
	if denied < 95 || p.MayName("zzz") || p.MayName("folder") {
		t.Errorf("%d of 100 words are denied, zzz: %v, a folder: %v", denied, !p.MayName("zzz"), !p.MayName("folder"))
	}
}

// TestMayPath checks that the filter of paths excludes no part of a path, in any case, and
// excludes most literals that no path contains.
func TestMayPath(t *testing.T) {
	b := NewPlacesBuilder(2000)
	for i := range 2000 {
		b.Add(DocID(i), 0, NoRef, 0, fmt.Sprintf("some/folder%d/To\u212aen%dBucket_na\u00efve.go", i, i))
	}
	p := b.Build()
	for _, literal := range []string{"some/folder", "FOLDER17/", "token17", "older1999/token1999b", "na\u00cfve.go", "go", ".go", ""} {
		if !p.MayPath(literal) {
			t.Errorf("no path may have %q", literal)
		}
	}
	for i := range 100 {
		if literal := fmt.Sprintf("folder%d/bucket", i); p.MayPath(literal) {
			t.Errorf("a path may have %q", literal)
		}
	}
}
