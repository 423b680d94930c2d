package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// fakeSearches returns the results that a test sets, to bring pages into every state.
type fakeSearches struct {
	empty     bool  // no repository is registered
	importing int   // and then so many are, whose first import runs
	unlisted  error // repositories cannot be listed
	files     []search.FileMatch
	result    search.Result
	reason    string
	err       error
	pause     chan struct{} // the search waits for it before its second part
	pausesFor string        // part of the queries that wait; empty: all
	breaksFor string        // part of the queries whose connection breaks after the files; empty: none
	freshness indexing.Summary
	asOf      string
	request   search.Request // the last one
	counted   search.Stats   // of the first part
	cutFor    string         // part of the queries whose answers are cut; empty: none
	canceled  chan struct{}  // gets a value for each search whose caller has disconnected
}

func (f *fakeSearches) RunSearch(ctx context.Context, r search.Request, emit search.Emit, finish func(*search.Result, string) error) error {
	f.request = r
	for i := range f.files {
		counted := search.Stats{}
		isCut := f.cutFor != "" && strings.Contains(r.Query.Text, f.cutFor)
		if i == 0 && isCut {
			counted.Matches = r.Display + 1
		} else if i == 0 {
			counted = f.counted
		}
		if err := emit(f.files[i:i+1], counted); err != nil {
			return err
		}
		breaks := f.breaksFor != "" && strings.Contains(r.Query.Text, f.breaksFor)
		if i == 0 && f.pause != nil && (breaks || strings.Contains(r.Query.Text, f.pausesFor)) {
			select {
			case <-f.pause:
			case <-ctx.Done():
				select {
				case f.canceled <- struct{}{}:
				default: // the test does not wait for it
				}
				return ctx.Err()
			}
		}
	}
	if f.breaksFor != "" && strings.Contains(r.Query.Text, f.breaksFor) {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	if f.err != nil {
		return f.err
	}
	result := f.result
	if f.cutFor != "" && strings.Contains(r.Query.Text, f.cutFor) {
		result.Notices = nil // the notice about the cut is the only one
		return finish(&result, "display limit")
	}
	return finish(&result, f.reason)
}

func (f *fakeSearches) SearchableRepositories(context.Context) ([]*corpus.Repository, error) {
	switch {
	case f.unlisted != nil:
		return nil, f.unlisted
	case f.importing > 0:
		all := []*corpus.Repository{{Repository: known[0].Repository}}
		for id := code.RepositoryID(100); len(all) < f.importing; id++ {
			all = append(all, &corpus.Repository{Repository: code.Repository{ID: id, Name: fmt.Sprintf("example.com/%d", id)}})
		}
		return all, nil
	case f.empty:
		return nil, nil
	}
	return known[:1], nil
}

func (f *fakeSearches) Freshness(context.Context, []code.RepositoryID) (indexing.Summary, error) {
	return f.freshness, nil
}

func (f *fakeSearches) AsOf() string { return f.asOf }

// newFile returns a file with n matches of a word, one per line.
func newFile(path string, n int) search.FileMatch {
	f := search.FileMatch{Repo: known[0], Path: path, Language: "Go", Matches: n}
	for i := range n {
		line := fmt.Sprintf("\tkettle := newKettle(%d)\n", i)
		f.Chunks = append(f.Chunks, search.Chunk{
			Content: []byte(line), Start: search.Location{ByteOffset: 100 * i, LineNumber: 10*i + 1, Column: 1},
			Ranges: []search.Range{{Start: search.Location{ByteOffset: 100*i + 1, LineNumber: 10*i + 1, Column: 2}, End: search.Location{ByteOffset: 100*i + 7, LineNumber: 10*i + 1, Column: 8}}},
		})
	}
	return f
}

// searchOf returns a world whose searches find the given number of files.
func searchOf(t *testing.T, files int, set func(*fakeSearches)) *world {
	f := &fakeSearches{canceled: make(chan struct{}, 1)}
	for i := range files {
		f.files = append(f.files, newFile(fmt.Sprintf("src/kettle%d.go", i), 4))
	}
	f.result = search.Result{Exhaustive: true, Stats: search.Stats{Matches: 4 * files, Files: files, Displayed: 4 * files}}
	if set != nil {
		set(f)
	}
	return newSearchWorld(t, f, nil)
}

// TestSearchStates brings the page of results into each of its states.
func TestSearchStates(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name   string
		files  int
		set    func(*fakeSearches)
		path   string
		status int
		says   []string
		not    []string
	}{
		{"found", 2, nil, "/search?q=kettle", 200, []string{"8 matches in 2 files", "all of them", "1 more match in this file", `href="/browse/example.com/open/-/blob/src/kettle0.go?L=1#L1"`, "<mark>kettle</mark> := newKettle(0)"}, []string{"No match"}},
		{"one", 1, func(f *fakeSearches) {
			f.files = []search.FileMatch{newFile("a.go", 1)}
			f.result.Stats = search.Stats{Matches: 1, Files: 1, Displayed: 1}
		}, "/search?q=kettle", 200, []string{"1 match in 1 file"}, nil},
		{"other names", 1, nil, "/search?query=a.b&isRegexEnabled=true&isCaseSensitivityEnabled=true", 200, []string{`name="re" value="1" checked`, `name="case" value="1" checked`, `value="a.b"`}, nil},
		{"none", 0, nil, "/search?q=Kettle[a]&case=1", 200, []string{"No match", "ignoring case", "as a regular expression", "search all branches", "rev%3A%2A"}, []string{"all of them"}},
		{"refused", 0, nil, "/search?q=foo+%28bar&re=1", 400, []string{"Invalid query", "foo <mark>(</mark>bar", "Column 5", `value="foo (bar"`}, nil},
		{"not UTF-8", 0, nil, "/search?q=%ff", 400, []string{"<title>\uFFFD · Quarry</title>"}, nil},
		{"empty", 0, nil, "/search?q=+", 303, nil, nil},
		{"display limit", 2, func(f *fakeSearches) { f.reason, f.result.Stats.Matches = "display limit", 4312 }, "/search?q=kettle", 200, []string{"4,312 matches", "the first 8", "Show 10,000", "n=10000"}, []string{"all of them"}},
		{"match limit", 2, func(f *fakeSearches) { f.reason, f.result.Stats.Matches = "match limit", 100_001 }, "/search?q=kettle", 200, []string{"More than 100,000 matches", "Narrow the query:"}, nil},
		{"server match limit", 2, func(f *fakeSearches) { f.reason = "server match limit" }, "/search?q=kettle", 200, []string{"More than 7 matches", "Narrow the query:"}, []string{"Show 10,000"}},
		{"time limit", 2, func(f *fakeSearches) { f.reason, f.result.Stats.Duration = "time limit", 10*time.Second }, "/search?q=kettle", 200, []string{"stopped after 10.0 s", "three consecutive letters"}, nil},
		{"scan limit", 2, func(f *fakeSearches) { f.reason = "scan limit" }, "/search?q=kettle", 200, []string{"three consecutive letters"}, nil},
		{"byte limit", 2, func(f *fakeSearches) { f.reason = "byte limit" }, "/search?q=kettle", 200, []string{"64 MiB of results are shown; the count is exact"}, nil},
		{"missing", 2, func(f *fakeSearches) { f.reason = "missing documents" }, "/search?q=kettle", 200, []string{"being restored"}, nil},
		{"behind", 2, func(f *fakeSearches) { f.reason = "behind the log" }, "/search?q=kettle", 200, []string{"incomplete", "pushed recently may be missing"}, []string{"all of them"}},
		{"lost shards", 2, func(f *fakeSearches) { f.reason = "lost partitions" }, "/search?q=kettle", 200, []string{"incomplete", "cannot be reached now"}, []string{"all of them"}},
		{"notice", 0, func(f *fakeSearches) {
			f.result.Notices = []syntax.Notice{{Code: syntax.TermFindsNothing, Message: "kettel has no match.", Suggestions: []string{"kettle"}, Queries: []string{"kettle lang:go"}}}
		}, "/search?q=kettel", 200, []string{"kettel has no match.", `href="/search?q=kettle&#43;lang%3Ago"`}, nil},
		{"files alone", 2, nil, "/search?q=kettle&view=files", 200, []string{"kettle1.go", `class="results paths"`}, []string{`class="line`}},
		{"more files", 3, nil, "/search?q=kettle&files=2", 200, []string{"Show 1 more file", "files=502"}, []string{"kettle2.go"}},
		{"repositories", 0, func(f *fakeSearches) { f.result.Repositories = known[:1]; f.result.Stats.Matches = 1 }, "/search?q=type:repo+open", 200, []string{"1 repository", `href="/browse/example.com/open/-/tree/"`}, []string{"No match"}},
		{"failure", 2, func(f *fakeSearches) { f.err = errors.New("disk 7 is on fire") }, "/search?q=kettle", 200, []string{"kettle1.go", "The search did not finish.", "request-1", "Search again"}, []string{"disk 7"}},
		{"busy", 0, func(f *fakeSearches) { f.err = search.ErrBusy }, "/search?q=kettle", 200, []string{"Too many searches are running", `data-wait="2"`}, nil},
		{"context", 0, func(f *fakeSearches) { f.err = code.ErrNotFound }, "/search?q=kettle", 200, []string{"no search context with this name"}, nil},
		{"unknown context", 1, nil, "/search?q=kettle+context:opn", 400, []string{"Invalid query", "kettle <mark>c</mark>ontext:opn", "Column 8", "There is no search context “opn”. Did you mean open?", `value="kettle context:opn"`}, []string{"kettle0.go"}},
		{"hidden context", 1, nil, "/search?q=é+-context:closed", 400, []string{"Column 4", "There is no search context “closed”. "}, []string{"kettle0.go"}},
		{"known context", 1, nil, "/search?q=kettle+context:open", 200, []string{"kettle0.go"}, []string{"Invalid query"}},
		{"waiting", 1, func(f *fakeSearches) {
			f.freshness = indexing.Summary{Waiting: 2, OldestAt: now.Add(-90 * time.Second)}
		}, "/search?q=kettle", 200, []string{`class="fresh warn">2 pushes waiting, the oldest for 1 min`}, nil},
		{"stale", 1, func(f *fakeSearches) {
			f.freshness = indexing.Summary{Waiting: 1, OldestAt: now.Add(-20 * time.Minute)}
		}, "/search?q=kettle", 200, []string{`class="fresh bad">1 push waiting for 20 min`}, nil},
		{"importing", 1, func(f *fakeSearches) {
			f.freshness = indexing.Summary{Importing: "example.com/open", Files: 312_000, FilesTotal: 1_100_000}
		}, "/search?q=kettle", 200, []string{"312,000 of 1,100,000 files, results are partial"}, nil},
		{"as of", 1, func(f *fakeSearches) { f.asOf = "2026-03-04T03:06:00Z" }, "/search?q=kettle", 200, []string{"This server shows the index as of 2026-03-04T03:06:00Z"}, nil},
		{"explained", 1, func(f *fakeSearches) {
			f.result.Explain = &search.Explain{Query: "kettle!", Atoms: []string{"ket AND ttl"}, Stages: search.Stages{VerifyMicros: 1234}}
		}, "/search?q=kettle&explain=1", 200, []string{"ket AND ttl", "1,234 µs"}, nil},
		{"related", 0, func(f *fakeSearches) {
			f.result.Related = []search.Related{{Reason: "spelling", Query: "kettle", Files: []search.FileMatch{newFile("near.go", 1)}}}
		}, "/search?q=kettel", 200, []string{"Similar spelling:", "near.go"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := searchOf(t, c.files, c.set)
			b := w.browser.get(c.path)
			if b.status != c.status {
				t.Fatalf("%d, want %d:\n%s", b.status, c.status, b.page)
			}
			for _, text := range c.says {
				if !strings.Contains(b.page, text) {
					t.Errorf("the page lacks %q:\n%s", text, b.page)
				}
			}
			for _, text := range append(c.not, "ZgotmplZ", "%!") {
				if strings.Contains(b.page, text) {
					t.Errorf("the page has %q", text)
				}
			}
			if c.status == http.StatusOK {
				checkLabels(t, c.path, b.page)
			}
			if c.status != http.StatusSeeOther && (len(w.notes.records) != 1) {
				t.Errorf("%d entries of the audit log", len(w.notes.records))
			}
		})
	}
}

// TestSearchIsRefused checks the pages for callers who may not search, or search too
// often.
func TestSearchIsRefused(t *testing.T) {
	w := searchOf(t, 1, nil)
	w.refuse = fmt.Errorf("no: %w", auth.ErrForbidden)
	w.browser.get("/search?q=kettle").expectPage(http.StatusForbidden)
	w.browser.get("/").expectPage(http.StatusOK, "Become the owner")
	w.setUp()
	w.newBrowser().get("/").expectPage(http.StatusOK, "Accounts are by invitation")
	w.refuse = auth.ErrUnauthenticated
	if b := w.browser.get("/search?q=kettle"); b.status != http.StatusUnauthorized {
		t.Errorf("a program: %d", b.status)
	}
	w.refuse = search.ErrBusy
	w.browser.get("/search?q=kettle").expectPage(http.StatusServiceUnavailable, "Too many searches")
}

// TestResultsStream reads the head, then a file, while the search is still running.
func TestResultsStream(t *testing.T) {
	w := searchOf(t, 3, func(f *fakeSearches) { f.pause = make(chan struct{}) })
	response, err := http.Get(w.server.URL + "/search?q=kettle")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page bytes.Buffer
	read := func(until string) {
		t.Helper()
		for b := make([]byte, 4096); !strings.Contains(page.String(), until); {
			n, err := response.Body.Read(b)
			page.Write(b[:n])
			if err != nil && !strings.Contains(page.String(), until) {
				t.Fatalf("the page ends before %q: %v\n%s", until, err, page.String())
			}
		}
	}
	read("src/<b>kettle0.go")
	if strings.Contains(page.String(), "kettle1.go") || strings.Contains(page.String(), `id="status"`) || !strings.Contains(page.String(), `value="kettle"`) {
		t.Errorf("before the search goes on: %s", page.String())
	}
	close(w.searches.pause)
	read("</html>")
	for _, text := range []string{"kettle2.go", `id="status"`} {
		if !strings.Contains(page.String(), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// TestReaderWhoLeavesEndsTheSearch closes the connection in the middle of the results.
func TestReaderWhoLeavesEndsTheSearch(t *testing.T) {
	w := searchOf(t, 3, func(f *fakeSearches) { f.pause = make(chan struct{}) })
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/search?q=kettle", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = response.Body.Read(make([]byte, 1))
	cancel()
	_ = response.Body.Close()
	<-w.searches.canceled
}

// TestHostileResults shows names and lines that try to be markup or other text.
func TestHostileResults(t *testing.T) {
	const bad = "<img src=x onerror=alert(1)>"
	repository := &corpus.Repository{Repository: code.Repository{ID: 9, Name: "host/" + bad + `"@/-/x`, DefaultBranch: "main"}}
	w := searchOf(t, 0, func(f *fakeSearches) {
		for _, path := range []string{bad, `a"b/c'd.go`, "a\u202Eog.b", "\xff\xfe/x", "a/-/blob/b@c%2Fd", strings.Repeat("long/", 800) + "x", "tab\tnew\nline"} {
			line := append([]byte(bad+" \u202E kettle \x1e \xff "), bytes.Repeat([]byte("é"), 3000)...)
			at := bytes.Index(line, []byte("kettle"))
			f.files = append(f.files, search.FileMatch{Repo: repository, Ref: "refs/heads/" + bad, Path: path, Language: bad, Chunks: []search.Chunk{{
				Content: line, Start: search.Location{LineNumber: 1, Column: 1},
				Ranges: []search.Range{{Start: search.Location{ByteOffset: at}, End: search.Location{ByteOffset: at + 6}}},
			}}})
		}
		f.result.Facets = []search.Facet{{Name: search.FacetDirectory, Values: []search.FacetValue{{Value: bad, Filter: `file:"` + bad + `"`, Matches: 1, Files: 1}}}}
		f.result.Notices = []syntax.Notice{{Code: syntax.AmbiguousQuery, Message: bad, Suggestions: []string{bad}}}
		f.result.Stats = search.Stats{Matches: 7, Files: 7, Displayed: 7}
	})
	for _, path := range []string{"/search?q=kettle", "/search?q=kettle&fragment=1", "/search?q=" + url.QueryEscape(`"`+bad+`"`), "/search?q=" + url.QueryEscape("("+bad) + "&re=1"} {
		b := w.browser.get(path)
		page := scriptTag.ReplaceAllString(b.page, "")
		page = regexp.MustCompile(`<span class=u data-u=[^>]*>[^<]*</span>| data-path="[^"]*"`).ReplaceAllString(page, "") // named, and harmless
		for _, tag := range []string{"<img src=x", "<script", "onerror=alert(1)>\"", "\u202E", "\xff"} {
			if strings.Contains(page, tag) {
				t.Errorf("%s has %q", path, tag)
			}
		}
		for _, element := range regexp.MustCompile(`<[a-z][^<>]*>`).FindAllString(page, -1) {
			if strings.Contains(element, " onerror=") && !strings.Contains(element, "&lt;img") {
				t.Errorf("%s: %s", path, element)
			}
		}
	}
	if parts := strings.Split(w.browser.get("/search?q=kettle&fragment=1&sort=rank").page, "\x1e"); len(parts) != 5+1 {
		t.Errorf("%d parts, want status, notices, files, aside and after: text of a file ends one", len(parts))
	}
}

// TestResultsFitTheirBudget compresses a page of 50 files with 200 matches.
func TestResultsFitTheirBudget(t *testing.T) {
	w := searchOf(t, 50, nil)
	page := w.browser.get("/search?q=kettle").page
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(page))
	_ = z.Close()
	if packed.Len() > 15<<10 {
		t.Errorf("%d bytes, compressed %d, want at most 15 KiB", len(page), packed.Len())
	}
}

// TestTypingIsCheap checks what a page requests while the query is typed.
func TestTypingIsCheap(t *testing.T) {
	w := searchOf(t, 1, nil)
	w.browser.get("/search?q=kettle&fragment=1&typing=1&n=5000")
	if r := w.searches.request; r.Display != 50 || r.Matches != 5000 || !r.Facets {
		t.Errorf("%+v", r)
	}
	w.browser.get("/search?q=kettle&n=99999999&ctx=9999&files=-1")
	if r := w.searches.request; r.Display != 10_000 || r.ContextLines != 20 {
		t.Errorf("%+v", r)
	}
}

// TestHomePage checks the examples, the repositories and the state.
func TestHomePage(t *testing.T) {
	w := searchOf(t, 0, func(f *fakeSearches) {
		f.result.Facets = []search.Facet{{Name: search.FacetLanguage, Values: []search.FacetValue{{Value: "Go", Filter: "lang:Go"}}}}
	})
	b := w.browser.get("/")
	for _, text := range []string{"1 repository to search", "TODO lang:Go", `href="/browse/example.com/open/-/tree/"`, `action="/search"`, `autofocus`, "/opensearch.xml"} {
		if !strings.Contains(b.page, text) {
			t.Errorf("the page lacks %q:\n%s", text, b.page)
		}
	}
	if strings.Count(b.page, `role="search"`) != 1 {
		t.Error("want one search box")
	}
	for _, path := range []string{"/syntax", "/shortcuts", "/preferences", "/sign-in"} {
		if page := w.browser.get(path).page; strings.Count(page, `role="search"`) != 1 {
			t.Errorf("%s: want one search box", path)
		}
	}
	if b := w.browser.get("/opensearch.xml"); b.header.Get("Content-Type") != "application/opensearchdescription+xml" || !strings.Contains(b.page, w.server.URL+"/search?q={searchTerms}") {
		t.Errorf("%v\n%s", b.header, b.page)
	}
}

// TestSyntaxExamples parses every example of the page about the syntax.
func TestSyntaxExamples(t *testing.T) {
	w := searchOf(t, 0, nil)
	page := w.browser.get("/syntax").page
	links := regexp.MustCompile(`<dt><a href="(/search\?[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 15 {
		t.Fatalf("%d examples", len(links))
	}
	for _, link := range links {
		if b := w.browser.get(unescapeHTML(link[1])); b.status != http.StatusOK {
			t.Errorf("%s: %d", link[1], b.status)
		}
	}
}

// TestLongLinesShowTheirMatch cuts lines around the first match, in whole characters.
func TestLongLinesShowTheirMatch(t *testing.T) {
	for _, before := range []int{0, 90, 120, 5000} {
		w := searchOf(t, 0, func(f *fakeSearches) {
			line := []byte(strings.Repeat("é", before) + "kettle" + strings.Repeat("ü", 5000))
			f.files = []search.FileMatch{{Repo: known[0], Path: "min.js", Chunks: []search.Chunk{{Content: line, Start: search.Location{LineNumber: 1, Column: 1},
				Ranges: []search.Range{{Start: search.Location{ByteOffset: 2 * before}, End: search.Location{ByteOffset: 2*before + 6}}}}}}}
		})
		page := w.browser.get("/search?q=kettle").page
		if !strings.Contains(page, "<mark>kettle</mark>") || strings.Contains(page, "\uFFFD") || len(page) > 20_000 {
			t.Errorf("%d characters before the match: a page of %d bytes", before, len(page))
		}
	}
}

// TestFarMatchesLeadToWholeLines: the page of a file shows the beginning of a long line.
func TestFarMatchesLeadToWholeLines(t *testing.T) {
	for at, want := range map[int]string{100: "?L=1#L1", 5001: "?long=1&amp;L=1#L1"} {
		w := searchOf(t, 0, func(f *fakeSearches) {
			f.files = []search.FileMatch{{Repo: known[0], Path: "a.js", Chunks: []search.Chunk{{Content: []byte(strings.Repeat("x", at) + "kettle"), Start: search.Location{LineNumber: 1, Column: 1},
				Ranges: []search.Range{{Start: search.Location{ByteOffset: at}, End: search.Location{ByteOffset: at + 6}}}}}}}
		})
		if page := w.browser.get("/search?q=kettle").page; !strings.Contains(page, `/-/blob/a.js`+want+`"`) {
			t.Errorf("a match at %d: no link with %s", at, want)
		}
	}
}

// TestChunksHaveNoBlankEdges omits blank lines before the first and after the last match.
func TestChunksHaveNoBlankEdges(t *testing.T) {
	for content, want := range map[string]string{
		"\n\t\r\na\n\nkettle\n\n\n": "3 4 5", "kettle": "1", "\nkettle\nb\n": "2 3", "\n\nkettle\n \nb": "3 4 5", "kettle\n\n": "1",
	} {
		w := searchOf(t, 0, func(f *fakeSearches) {
			at := strings.Index(content, "kettle")
			f.files = []search.FileMatch{{Repo: known[0], Path: "a.txt", Chunks: []search.Chunk{{Content: []byte(content), Start: search.Location{LineNumber: 1, Column: 1},
				Ranges: []search.Range{{Start: search.Location{ByteOffset: at}, End: search.Location{ByteOffset: at + 6}}}}}}}
		})
		page := w.browser.get("/search?q=kettle").page
		var numbers []string
		for _, m := range regexp.MustCompile(`aria-label="Line (\d+)"`).FindAllStringSubmatch(page, -1) {
			numbers = append(numbers, m[1])
		}
		if got := strings.Join(numbers, " "); got != want || !strings.Contains(page, "<mark>kettle</mark>") {
			t.Errorf("%q: lines %s, want %s", content, got, want)
		}
	}
}

// TestBestLinesAreOpen checks that a file shows the lines that are its best ones, in the order of
// the file, and folds others.
func TestBestLinesAreOpen(t *testing.T) {
	w := searchOf(t, 0, func(f *fakeSearches) {
		f.files = []search.FileMatch{newFile("a.go", 6)}
		f.files[0].BestLines = []int{51, 21, 41}
	})
	w.browser.get("/search?q=kettle").expectPage(http.StatusOK)
	open, rest, _ := strings.Cut(w.browser.page, "<details")
	shown := func(part string) (numbers []string) {
		for _, m := range regexp.MustCompile(`newKettle\((\d)\)`).FindAllStringSubmatch(part, -1) {
			numbers = append(numbers, m[1])
		}
		return numbers
	}
	if got := [2]string{strings.Join(shown(open), ""), strings.Join(shown(rest), "")}; got != [2]string{"245", "013"} {
		t.Errorf("open and folded matches are %q, want 245 and 013", got)
	}
}

// TestContextNames lists search contexts for the search box: those with a repository that
// exists for the caller.
func TestContextNames(t *testing.T) {
	w := searchOf(t, 1, nil)
	for path, want := range map[string]string{"": `["Opera","open"]`, "?name=OPEN": `["open"]`, "?name=closed": `[]`, "?name=%00": `[]`} {
		w.browser.get("/search/contexts" + path).expectPage(http.StatusOK)
		if w.browser.page != want || w.browser.header.Get("Content-Type") != "application/json" {
			t.Errorf("contexts%s: %s, want %s", path, w.browser.page, want)
		}
	}
	for _, page := range []string{"/", "/search", "/search/contexts"} {
		w.browser.postForm(page, nil).expectPage(http.StatusMethodNotAllowed)
	}
}

// TestFirstSteps checks the home page of a server without repositories: before it has an
// owner, for its owner and for others then, and while repositories are being imported.
func TestFirstSteps(t *testing.T) {
	searches := &fakeSearches{empty: true}
	w := newAPIWorld(t, http.NotFoundHandler(), searches, nil)
	const register = `href="/admin/register"`
	if b := w.browser.get("/").expectPage(http.StatusOK, "Become the owner", "setup.link", "quarry index"); strings.Contains(b.page, register) || strings.Contains(b.page, ">done<") {
		t.Errorf("without an owner, the page is\n%s", b.pageText())
	}
	owner := w.setUp()
	if owner.expectPage(http.StatusOK, "You are the owner", "done", "quarry index"); !strings.Contains(owner.page, register) || strings.Contains(owner.page, "setup.link") {
		t.Errorf("the owner's page is\n%s", owner.pageText())
	}
	if b := w.newBrowser().get("/").expectPage(http.StatusOK, "Add repositories"); strings.Contains(b.page, register) {
		t.Errorf("a visitor can add repositories:\n%s", b.pageText())
	}
	searches.importing = 1
	owner.get("/").expectPage(http.StatusOK, "0 repositories to search", "Being imported", known[0].Name, "waiting", "One repository is registered")
	if strings.Contains(owner.page, "Recently changed") || strings.Contains(owner.page, "/browse/") {
		t.Errorf("the page leads to the code of a repository that has none yet:\n%s", owner.pageText())
	}
	searches.unlisted = errors.New("the projections are being rebuilt")
	if b := w.newBrowser().get("/").expectPage(http.StatusOK); strings.Contains(b.page, "Add repositories") {
		t.Errorf("a server that cannot list its repositories looks like an empty one:\n%s", b.pageText())
	}
}

// TestQueryForCommits checks that a query with filters on commits leads to the histories of the
// repositories that it selects, with these filters.
func TestQueryForCommits(t *testing.T) {
	var searches *fakeSearches
	w := searchOf(t, 1, func(f *fakeSearches) {
		searches, f.result.Repositories = f, nil
		f.result.Notices = []syntax.Notice{{Code: syntax.TermFindsNothing, Message: "author:ada has no match."}, {Code: syntax.FilterSelectsNothing, Message: "lang:none selects nothing."}}
	})
	for query, want := range map[string]string{
		"type:commit author:ada fix repo:open":         "author=ada&q=fix",
		"type:diff repo:open before:2026-01-31 fix":    "until=2026-01-31",
		`author:"Ada L" after:2026-01-01 repo:open`:    "author=Ada+L&since=2026-01-01",
		"since:2026-01-01 until:2026-01-31 repo:open":  "since=2026-01-01&until=2026-01-31",
		`author:ada after:the "a message:b" repo:open`: "author=ada&q=a+message%3Ab",
	} {
		searches.result.Repositories = known[:1]
		address := "/browse/" + known[0].Name + "/-/commits/?" + want
		if b := w.browser.get("/search?" + url.Values{"q": {query}}.Encode()); !strings.Contains(html.UnescapeString(b.page), `href="`+address+`"`) {
			t.Errorf("%s: no link %s in\n%s", query, address, b.page)
		} else if strings.Contains(b.page, "author:ada has no match") == strings.Contains(query, "author:ada") || !strings.Contains(b.page, "lang:none selects") {
			t.Errorf("%s: the notices are not those about other parts of the query:\n%s", query, b.page)
		}
		if named := searches.request.Query; named.Type != syntax.TypeRepo || named.Print(syntax.Options{}) != "type:repo repo:open" {
			t.Errorf("%s: the repositories are those of %s", query, named.Print(syntax.Options{}))
		}
	}
	w.browser.get("/search?q=author%3Aada").expectPage(http.StatusOK, "add repo: with its name")
	for _, query := range []string{"after:the repo:open", "type:file author:ada", "kettle", `"see author:ada" repo:open`} {
		if b := w.browser.get("/search?" + url.Values{"q": {query}}.Encode()); strings.Contains(b.page, "Commits are not searched here") {
			t.Errorf("%s is read as a query for commits", query)
		}
	}
}
