package source_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
)

// oddAddresses contain every separator of addresses in their parts.
var oddAddresses = []source.Address{
	{"github.com/meadow/kettle", "", source.PageBlob, "src/boil.go"},
	{"github.com/meadow/kettle", "refs/heads/release/1", source.PageTree, ""},
	{"a", "user@host", source.PageRaw, "x/-/blob/y@z"},
	{"a/-/blob/b@c", "", source.PageTree, "d e/100%/#?&=+;,"},
	{"a/-/blob/b@c", "refs/heads/a@b", source.PageBlob, "-/..;/--x"},
	{"größe/日本", "v1~2^", source.PageBlob, "caf\\xe9.txt"},
	{"a%2Fb", "x%40", source.PageBlob, "a\nb\"<img>"},
	{"x/-", "", source.PageTree, "-"},
	{"-", "-", source.PageBlob, "tree/"},
	{"a", "", source.PageBlob, "x/../y"},
	{"a", "", source.PageBlob, "x//y/./"},
}

func TestAddressIsReadAsItWasWritten(t *testing.T) {
	for _, a := range oddAddresses {
		written := a.String()
		u, err := url.Parse("https://code.example" + written)
		if err != nil {
			t.Errorf("%+v: %v", a, err)
			continue
		}
		if read := source.ReadAddress(u.EscapedPath()); len(read) == 0 || read[0] != a {
			t.Errorf("%s is read as %+v, want %+v", written, read, a)
		}
	}
}

// TestAddressIsReadable checks which slashes of a path are escaped: only those of a path
// that a browser or a proxy would change.
func TestAddressIsReadable(t *testing.T) {
	for path, want := range map[string]string{
		"src/boil.go": "src/boil.go", "a b/c#d.go": "a%20b/c%23d.go", "..;/x": "..%3B/x", ".../x": ".../x", "": "",
		"x/../y": "x%2F..%2Fy", "./x": ".%2Fx", "x//y": "x%2F%2Fy", "x/": "x%2F", "%2F/x": "%252F/x",
	} {
		if have := (source.Address{Repository: "r", Kind: source.PageBlob, Path: path}).String(); have != "/browse/r/-/blob/"+want {
			t.Errorf("%q: %s, want …%s", path, have, want)
		}
	}
}

func TestReadAddress(t *testing.T) {
	// want is the first reading, as REPOSITORY REVISION KIND PATH, or none.
	for escaped, want := range map[string]string{
		"/browse/a/b@main/-/blob/c/d.go":                      "a/b main blob c/d.go",
		"/browse/a%2Fb/-/tree/c%2Fd/":                         "a/b  tree c/d",
		"/browse/a/-/blob/x%2F-%2Ftree%2Fy":                   "a  blob x/-/tree/y",
		"/browse/a":                                           "a  tree ",
		"/browse/a@v1/":                                       "a v1 tree ",
		"/browse/a/-/tree":                                    "a  tree ",
		"/browse/@/-/blob/x":                                  "@  blob x",
		"/browse/a/-/commits/x/":                              "a  commits x",
		"/browse/a@v/-/commits":                               "a v commits ",
		"/browse/a/-/commit/0123abc":                          "a  commit 0123abc",
		"/browse/a/-/compare/b/c...d@e":                       "a  compare b/c...d@e",
		"/browse/a/-/other/x":                                 "a/-/other/x  tree ",
		"/browse/a/-/blob/%zz":                                "",
		"/browse/":                                            "",
		"/elsewhere/a/-/blob/x":                               "",
		"/browse/" + strings.Repeat("a", 1<<20) + "/-/blob/x": "",
	} {
		have := ""
		if read := source.ReadAddress(escaped); len(read) > 0 {
			have = fmt.Sprintf("%s %s %s %s", read[0].Repository, read[0].Revision, read[0].Kind, read[0].Path)
		}
		if have != want {
			t.Errorf("%.100s: have %q, want %q", escaped, have, want)
		}
	}
	// Names that contain separators are found in a later reading.
	if read := source.ReadAddress("/browse/a@b/-/tree/c/-/blob/d"); !slices.Contains(read, source.Address{Repository: "a@b/-/tree/c", Kind: source.PageBlob, Path: "d"}) {
		t.Errorf("readings %+v", read)
	}
	if n := len(source.ReadAddress("/browse/" + strings.Repeat("@/-/blob/", 1000))); n == 0 || n > 64 {
		t.Errorf("%d readings of a hostile address", n)
	}
}

func FuzzAddress(f *testing.F) {
	for _, a := range oddAddresses {
		f.Add(a.Repository, a.Revision, a.Path)
	}
	f.Fuzz(func(t *testing.T, repository, revision, path string) {
		if repository == "" || strings.HasPrefix(repository, "-/") || strings.HasSuffix(repository, "/") {
			return
		}
		a := source.Address{Repository: repository, Revision: revision, Kind: source.PageBlob, Path: path}
		if strings.HasPrefix(revision, "-/") || strings.Contains(revision, "/-/") || strings.HasSuffix(revision, "/-") || strings.HasSuffix(repository, "/-") {
			return // no ref contains such an element
		}
		if read := source.ReadAddress(a.String()); len(read) == 0 || read[0] != a {
			t.Errorf("%s is read as %+v, want %+v", a, read, a)
		}
	})
}
