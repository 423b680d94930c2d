package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

func TestOptionsFor(t *testing.T) {
	if o := optionsFor(100); o.TotalMaxMatchCount != 101 || o.MaxMatchDisplayCount != 100 || o.ShardMaxMatchCount >= 0 {
		t.Errorf("limit 100: %+v", o)
	}
	if o := optionsFor(0); o.MaxMatchDisplayCount != 1 || o.TotalMaxMatchCount < 1<<30 {
		t.Errorf("no limit: %+v", o)
	}
}

func TestRipgrepCounts(t *testing.T) {
	rg, err := OpenRipgrep()
	if err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	tree := filepath.Join(t.TempDir(), "one")
	for path, content := range map[string]string{
		"a.c": "Kmalloc(kmalloc(\nkzalloc(\n", "b/c.c": "kmalloc\n", "nul.bin": "kmalloc(\x00", ".hidden": "x kmalloc(", "crlf": "kmalloc(\r\nkmalloc( \r\n",
	} {
		full := filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		query string
		want  map[Place]int
	}{
		{`"(kmalloc|kzalloc)\\("`, map[Place]int{{"one", "a.c"}: 3, {"one", "nul.bin"}: 1, {"one", ".hidden"}: 1, {"one", "crlf"}: 2}},
		{`case:yes Kmalloc`, map[Place]int{{"one", "a.c"}: 1}},
		{`"kmalloc\\($"`, map[Place]int{{"one", "a.c"}: 1, {"one", ".hidden"}: 1, {"one", "crlf"}: 1}},
		{`nothing`, map[Place]int{}},
	} {
		p, ok := suite.Query{Text: c.query}.Plain()
		if !ok {
			t.Fatalf("%s is not plain", c.query)
		}
		got, _, err := rg.Count(context.Background(), p, map[string]string{"one": tree})
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v %v, want %v", c.query, got, err, c.want)
		}
	}
}

func TestQuarryRequests(t *testing.T) {
	var path, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(data)
		path, body = r.URL.String(), string(data)
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`[{},{}]`))
			return
		}
		_, _ = w.Write([]byte(`{"stats":{"actualMatchCount":7,"fileCount":3},"files":[{"fileName":{"text":"a.c"},"repository":"r","chunks":[{"matchRanges":[{},{}]},{"matchRanges":[{}]}]}]}`))
	}))
	defer server.Close()
	s := &QuarryServer{url: server.URL, client: newHTTPClient()}
	defer s.client.CloseIdleConnections()
	answer, err := s.Search(context.Background(), Request{Text: "x y"})
	if err != nil || answer.Matches != 7 || answer.Files != 3 {
		t.Errorf("search: %+v %v", answer, err)
	}
	want := `{"query":"x y","matches":1000000000,"contextLines":0,"isRegexEnabled":true,"isCaseSensitivityEnabled":false,"display":1}`
	if body != want {
		t.Errorf("body %s, want %s", body, want)
	}
	places, _, err := s.Places(context.Background(), "x")
	if err != nil || !reflect.DeepEqual(places, map[Place]int{{"r", "a.c"}: 3}) {
		t.Errorf("places: %v %v", places, err)
	}
	answer, err = s.Search(context.Background(), Request{Text: "a&b", Repositories: true})
	if err != nil || answer.Matches != 2 || path != "/api/repos?perPage=100&query=a%26b" {
		t.Errorf("repositories: %+v %v at %s", answer, err, path)
	}
}

// TestLists checks that the same places in another order, or with another match, have
// another hash.
func TestLists(t *testing.T) {
	quarry := func(path string, offset int) string {
		return fmt.Sprintf(`{"repository":"r","fileName":{"text":%q},"chunks":[{"matchRanges":[{"start":{"byteOffset":%d}}]}]}`, path, offset)
	}
	zoekt := func(path string, offset int) string {
		return fmt.Sprintf(`{"Repository":"r","FileName":%q,"ChunkMatches":[{"Ranges":[{"Start":{"ByteOffset":%d}}]}]}`, path, offset)
	}
	for _, c := range []struct {
		place func(string, int) string
		hash  func([]byte) (uint64, error)
		reply string
	}{{quarry, quarryList, `[%s]`}, {zoekt, zoektList, `[%s]`}} {
		seen := make(map[uint64]string)
		for _, files := range []string{"", c.place("a", 1), c.place("b", 1), c.place("a", 2), c.place("a", 1) + "," + c.place("b", 1), c.place("b", 1) + "," + c.place("a", 1)} {
			data := fmt.Sprintf(c.reply, files)
			first, err := c.hash([]byte(data))
			second, _ := c.hash([]byte(data))
			if err != nil || first == 0 || first != second || seen[first] != "" {
				t.Errorf("%s: %d and %d, %v; the same as %s", data, first, second, err, seen[first])
			}
			seen[first] = data
		}
	}
}

// TestReadStream checks that the first part is the first frame with files, and that a
// truncated stream is an error.
func TestReadStream(t *testing.T) {
	const (
		life  = ": alive\n\n"
		empty = `data: {"type":"chunk","files":[]}` + "\n\n"
		chunk = `data: {"type":"chunk","files":[{"repository":"r"}]}` + "\n\n"
		final = `data: {"type":"final"}` + "\n\n"
		done  = "data: [DONE]\n\n"
	)
	start := time.Now()
	s, err := readStream(bufio.NewReader(strings.NewReader(life+empty+chunk+chunk+final+done)), start)
	if err != nil || s.Chunks != 2 || s.First <= 0 || s.Whole < s.First {
		t.Errorf("%+v %v, want two parts", s, err)
	}
	for _, broken := range []string{"", chunk + final, empty + final + done, chunk + `data: {"type":"error"}` + "\n\n"} {
		if _, err := readStream(bufio.NewReader(strings.NewReader(broken)), start); !errors.Is(err, ErrStream) {
			t.Errorf("%q: %v, want ErrStream", broken, err)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	m, err := ParseMetrics(strings.NewReader("# HELP a b\na{x=\"1 2\"} 3\na{x=\"2\"} 4\nb 1e+06\n"))
	if err != nil || m["a"] != 7 || m[`a{x="2"}`] != 4 || m["b"] != 1e6 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := ParseMetrics(strings.NewReader("a b\n")); err == nil {
		t.Error("want an error for a value that is no number")
	}
}
