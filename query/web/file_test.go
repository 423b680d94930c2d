package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// commentOutline finds a comment at the beginning of each line.
type commentOutline struct{ Outline }

func (commentOutline) Tokens(_ code.Language, text []byte, most int) (tokens []code.Token, whole bool) {
	at := uint32(0)
	for line := range strings.Lines(string(text)) {
		if len(tokens) == most {
			return tokens, false
		}
		tokens = append(tokens, code.Token{Class: code.TokenComment, Start: at, End: at + 1})
		at += uint32(len(line))
	}
	return tokens, true
}

func (commentOutline) Describe(code.Language, []byte) ([]code.Definition, error) { return nil, nil }

// TestPartsOfAFile checks that each part of a long file has colors, and that its links to
// whole lines stay in the part.
func TestPartsOfAFile(t *testing.T) {
	catalogue, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{texts: catalogue, o: Options{Outline: commentOutline{}}}
	file := &source.File{Text: []byte(strings.Repeat("#\n", maxPartLines) + "#a\n#b" + strings.Repeat("x", maxShownLine) + "\n")}
	for query, want := range map[string]struct{ whole, rest string }{
		"?part=2":     {"?long=1&part=2", "?long=1&amp;part=2&amp;L=150002"},
		"?L=150001":   {"?L=150001&long=1", "?long=1&amp;L=150002"},
		"?L=7&part=2": {"?L=7&long=1&part=2", "?long=1&amp;part=2&amp;L=150002"},
	} {
		p := &codePage{Address: source.Address{Repository: "r", Kind: source.PageBlob, Path: "a.txt"}, repository: &code.Repository{Name: "r"}}
		r, body := httptest.NewRequest("GET", "/"+query, nil), &fileBody{}
		if err := s.fillFile(t.Context(), r, p, &codeData{}, body, file, readFileRequest(r)); err != nil {
			t.Fatal(err)
		}
		if text := string(body.Text); body.Whole != want.whole || !strings.Contains(text, `href="`+want.rest+`"`) || !strings.Contains(text, "<span class=c>#</span>a") {
			t.Errorf("%s: whole lines at %q, want %q and %q:\n%.300s", query, body.Whole, want.whole, want.rest, text)
		}
	}
}
