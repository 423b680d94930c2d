package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// externalPage returns the page of a file on its code host, for GitHub and Azure DevOps.
func externalPage(r *corpus.Repository, ref code.Ref, path string) string {
	elements := strings.Split(path, "/")
	for i := range elements {
		elements[i] = url.PathEscape(elements[i])
	}
	branch := "HEAD"
	if ref != "" {
		branch = ref.Short()
	}
	switch {
	case r.WebURL == "":
		return ""
	case r.Kind == code.GitHub:
		return r.WebURL + "/blob/" + strings.ReplaceAll(url.PathEscape(branch), "%2F", "/") + "/" + strings.Join(elements, "/")
	}
	version := "GB" + branch
	if ref.IsTag() {
		version = "GT" + branch
	}
	// Like url.QueryEscape, except for slashes and blanks.
	escape := strings.NewReplacer("%2F", "/", "+", "%20").Replace
	link := r.WebURL + "?path=/" + escape(url.QueryEscape(path))
	if ref != "" {
		link += "&version=" + escape(url.QueryEscape(version))
	}
	return link
}

// words are the parts of texts and names: code, characters that JSON escapes, characters
// that URLs escape, and bytes that are not UTF-8.
var words = []string{
	"func", " ", "\n", "\t", `"`, `\`, "<a&b>", "\x00", "\x1b", "\x7f", "é", "世界", "\u2028", "\u2029", "\xff", "\xe2\x82", "\ufffd", "/", "#", "?", "%", "a b", "+", "..", "😀",
}

func randomPhrase(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

func randomRanges(r *rand.Rand, most int) (ranges []search.Range) {
	for range r.IntN(most + 1) {
		at := func() search.Location {
			return search.Location{ByteOffset: r.IntN(1 << 30), LineNumber: r.IntN(9), Column: r.IntN(100)}
		}
		ranges = append(ranges, search.Range{Start: at(), End: at()})
	}
	return ranges
}

func randomFile(r *rand.Rand) search.FileMatch {
	repo := &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(r.Uint64() >> 11), Name: "host/" + randomPhrase(r, 2)}}
	switch r.IntN(3) {
	case 0:
		repo.Kind, repo.WebURL = code.GitHub, "https://github.com/o/"+url.PathEscape(randomPhrase(r, 1))+"x"
	case 1:
		repo.Kind, repo.WebURL = code.AzureDevOps, "https://dev.azure.com/o/r"
	}
	m := search.FileMatch{Repo: repo, Path: randomPhrase(r, 6), PathRanges: randomRanges(r, 2), Language: code.Language(randomPhrase(r, 1)), Content: []byte(randomPhrase(r, 40))}
	if r.IntN(4) > 0 {
		m.Ref = code.Ref("refs/heads/" + randomPhrase(r, 3))
	}
	for range r.IntN(3) {
		m.Refs = append(m.Refs, code.Ref("refs/tags/"+randomPhrase(r, 3)))
	}
	for range r.IntN(4) {
		c := search.Chunk{Content: []byte(randomPhrase(r, 30)), Ranges: randomRanges(r, 2*rangesAtOnce+1)}
		for range r.IntN(3) {
			s := &code.Symbol{Name: randomPhrase(r, 2), Kind: code.SymbolKind(randomPhrase(r, 1)), Parent: randomPhrase(r, 1), ParentKind: "class"}
			if r.IntN(3) == 0 {
				s = nil
			}
			c.Symbols = append(c.Symbols, s)
		}
		m.Chunks = append(m.Chunks, c)
	}
	return m
}

// encodeBothWays returns files as writeFiles writes them, and as encoding/json does.
func encodeBothWays(t testing.TB, files []search.FileMatch) (got, want string) {
	t.Helper()
	s := &Server{o: Options{Numbers: cutNumbers{}, PublicURL: "https://code.example.com"}}
	var b bytes.Buffer
	out := jsonout.New(&b)
	defer out.Free()
	others := map[string]any{"stats": 1, "isSearchExhaustive": true}
	if err := s.writeFiles(out, files, others); err != nil {
		t.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	objects := make([]*wire.SearchFile, len(files))
	for i := range files {
		file, ref := s.newSearchFile(&files[i]), files[i].Ref
		if len(files[i].Refs) > 0 {
			ref = files[i].Refs[0]
		}
		file.WebURL, file.ExternalWebURL = s.fileURL(file.Repository, ref, files[i].Path), externalPage(files[i].Repo, ref, files[i].Path)
		objects[i] = &file
	}
	list, err := encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := encode(others)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), fmt.Sprintf(`{"files":%s,%s`, bytes.TrimSpace(list), bytes.TrimSpace(rest[1:]))
}

// TestFilesAreThoseOfEncodingJSON checks that the output is that of encoding/json for any
// text.
func TestFilesAreThoseOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(seedtest.ChooseSeed(t), 0))
	for range 300 {
		var files []search.FileMatch
		for range r.IntN(4) {
			f := randomFile(r)
			files = append(files, f)
			if r.IntN(2) == 0 {
				f.Path = randomPhrase(r, 3) // of the same repository and ref
				files = append(files, f)
			}
		}
		if got, want := encodeBothWays(t, files); got != want || !json.Valid([]byte(got)) {
			t.Fatalf("%s\nwant %s", got, want)
		}
	}
}

func BenchmarkFiles(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	line := strings.Repeat("\tif err := foo(a, \"b\"); err != nil {\n", 3)
	var files []search.FileMatch
	repo := &corpus.Repository{Repository: code.Repository{ID: 1, Name: "linux"}}
	for range 50 {
		m := search.FileMatch{Repo: repo, Ref: "refs/heads/main", Path: "drivers/gpu/drm/amd/display/dc.c", Language: "C"}
		for range 2 {
			m.Chunks = append(m.Chunks, search.Chunk{Content: []byte(line), Ranges: randomRanges(r, 2)})
		}
		files = append(files, m)
	}
	s := &Server{o: Options{Numbers: cutNumbers{}, PublicURL: "https://code.example.com"}}
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out := jsonout.New(discard{})
			_ = s.writeFiles(out, files, struct{}{})
			_ = out.Flush()
			out.Free()
		}
	})
	b.Run("encoding", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := json.NewEncoder(discard{})
			e.SetEscapeHTML(false)
			for i := range files {
				_ = e.Encode(s.newSearchFile(&files[i]))
			}
		}
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// cutNumbers numbers repositories by the low bits of their IDs.
type cutNumbers struct{ Numbers }

func (cutNumbers) OfRepository(id code.RepositoryID) code.RepositoryNumber {
	return code.RepositoryNumber(id & code.MaxNumber)
}
