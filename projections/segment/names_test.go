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
