package web

import (
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestLargeDifferencesAreFolded: the files beyond the first ones are links to their lines,
// which a script puts in place when they are opened.
func TestLargeDifferencesAreFolded(t *testing.T) {
	catalogue, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	var files []source.FileDiff
	for i := range maxOpenFiles + 2 {
		path := fmt.Sprintf("%d.txt", i)
		files = append(files, source.FileDiff{Old: path, New: path, Hunks: []source.Hunk{{Old: source.LineSpan{Start: 1, Lines: 1}, New: source.LineSpan{Start: 1, Lines: 1}, Body: "-a\n+b"}}})
	}
	p := &codePage{Address: source.Address{Repository: "r", Kind: source.PageCompare, Path: "a...b"}, repository: &code.Repository{Name: "r"}}
	for only, open := range map[string]int{"": maxOpenFiles, "51.txt": len(files)} {
		body := &diffBody{OnlyPath: only}
		if err := (&Server{texts: catalogue}).fillDiff(p, &codeData{}, body, files, nil, "a", "b"); err != nil {
			t.Fatal(err)
		}
		for i, f := range body.Files {
			want := ""
			if i >= open {
				want = fmt.Sprintf("/browse/r/-/compare/a...b?path=%d.txt", i)
			}
			if f.Later != want || f.Folded != (want != "") || (f.Text == "") != (want != "") {
				t.Errorf("only %q: file %d is folded: %t, leads to %q", only, i, f.Folded, f.Later)
			}
		}
	}
}
