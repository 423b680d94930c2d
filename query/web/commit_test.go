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
	for _, c := range []struct {
		kind             source.PageKind
		path, only, same string // same is the address of the difference, whose branches may move
		open             int
	}{
		{source.PageCompare, "main...next", "", "compare/a..b", maxOpenFiles}, {source.PageCompare, "main...next", "51.txt", "", len(files)},
		{source.PageCommit, "main", "", "commit/b", maxOpenFiles},
	} {
		p := &codePage{Address: source.Address{Repository: "r", Kind: c.kind, Path: c.path}, repository: &code.Repository{Name: "r"}}
		body := &diffBody{OnlyPath: c.only}
		if err := (&Server{texts: catalogue}).fillDiff(p, &codeData{}, body, files, nil, "a", "b"); err != nil {
			t.Fatal(err)
		}
		for i, f := range body.Files {
			want := ""
			if i >= c.open {
				want = fmt.Sprintf("/browse/r/-/%s?path=%d.txt", c.same, i)
			}
			if f.Later != want || f.Folded != (want != "") || (f.Text == "") != (want != "") {
				t.Errorf("%s, only %q: file %d is folded: %t, leads to %q", c.path, c.only, i, f.Folded, f.Later)
			}
		}
	}
}
