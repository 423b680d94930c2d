package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// loadDocument returns the OpenAPI document and a router for it.
func loadDocument(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	document := openapitest.Load(t)
	return document, openapitest.NewRouter(t, document)
}

// TestServer runs the scripts of testdata. A command is
//
//	METHOD /path [header=Name:value] [fail=search|time|view|registrar|status] [listener=operators]
//
// with the body as input; it prints status, headers that are part of the
// contract, body, and what was registered or searched. Every answer is checked against
// the OpenAPI document, and every view must be released.
func TestServer(t *testing.T) {
	_, router := loadDocument(t)
	datadriven.Walk(t, "testdata/server", func(t *testing.T, path string) {
		w := newWorld()
		s := newServer(t, w.serverOptions())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.err, w.block, w.panics, w.viewErr, w.registrarErr, w.readyErr, w.registered, w.asOf, w.missing, w.coverage, w.lacking = nil, false, false, nil, nil, nil, nil, "", replay.Missing{}, api.Coverage{}, 0
			out := runCommand(t, s, w, router, d)
			if a, r := w.acquired.Load(), w.released.Load(); a != r {
				t.Errorf("%s: %d views acquired, %d released", d.Pos, a, r)
			}
			return out
		})
	})
}

func runCommand(t *testing.T, s *api.Server, w *world, router routers.Router, d *datadriven.TestData) string {
	req := httptest.NewRequest(d.Cmd, "http://127.0.0.1:7070/", strings.NewReader(d.Input))
	handler := s.ServeHTTP
	req.URL.Path, req.URL.RawQuery, _ = strings.Cut(d.CmdArgs[0].Key+argValue(d.CmdArgs[0]), "?")
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "header":
			name, v, _ := strings.Cut(arg.Vals[0], ":")
			req.Header.Set(name, v)
		case "fail":
			w.setFailure(arg.Vals[0])
		case "listener":
			handler = s.ServeReadiness
		}
	}
	req.Header.Set("X-Request-Id", "test")
	rec := httptest.NewRecorder()
	handler(rec, req)
	validateAnswer(t, d.Pos, router, req, rec)
	return printAnswer(t, rec, w)
}

// argValue restores the "=" at which datadriven split the path.
func argValue(a datadriven.CmdArg) string {
	if len(a.Vals) == 0 {
		return ""
	}
	return "=" + strings.Join(a.Vals, ",")
}

func (w *world) setFailure(what string) {
	switch what {
	case "search":
		w.err = errDisk
	case "time":
		w.err = context.DeadlineExceeded
	case "busy":
		w.err = fmt.Errorf("%w: none of 8 slots came free", search.ErrBusy)
	case "pattern":
		w.err = fmt.Errorf("%w: too large", plan.ErrPattern)
	case "view":
		w.viewErr = fmt.Errorf("%w: the projections are being rebuilt", failure.ErrUnavailable)
	case "registrar":
		w.registrarErr = fmt.Errorf("%w: the log is full", failure.ErrUnavailable)
	case "panic":
		w.panics = true
	case "ready":
		w.readyErr = errors.New("partition 2 is 1200 records behind")
	case "missing":
		w.missing = replay.Missing{Documents: 3, Refs: 2, Unstored: 1}
	case "behind":
		w.coverage.Age = 6 * time.Second
	case "lacking": // the view, not the index as it is now
		w.lacking = 1
	case "frozen":
		w.asOf = "2026-03-04T03:06:07Z"
	}
}

// validateAnswer checks a response against the document if the document contains the
// request.
func validateAnswer(t *testing.T, pos string, router routers.Router, req *http.Request, rec *httptest.ResponseRecorder) {
	t.Helper()
	route, params, err := router.FindRoute(req)
	if err != nil || rec.Code == http.StatusMethodNotAllowed {
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route, PathParams: params},
		Status:                 rec.Code, Header: rec.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	in.SetBodyBytes(rec.Body.Bytes())
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		t.Errorf("%s: the answer is not what quarry.yaml says: %v", pos, err)
	}
}

func printAnswer(t *testing.T, rec *httptest.ResponseRecorder, w *world) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", rec.Code)
	for _, name := range []string{"Content-Type", "Allow", "Retry-After", "X-Total-Count", "Link"} {
		if v := rec.Header().Get(name); v != "" && v != "application/json" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	var indented bytes.Buffer
	if rec.Body.Len() == 0 {
		fmt.Fprintf(&b, "(no body)\n")
	} else if err := json.Indent(&indented, rec.Body.Bytes(), "", " "); err != nil {
		t.Errorf("body %q: %v", rec.Body, err)
	}
	if indented.Len() < 6000 {
		b.Write(bytes.TrimRight(indented.Bytes(), "\n"))
		b.WriteByte('\n')
	} else {
		fmt.Fprintf(&b, "(a long body)\n")
	}
	for _, line := range w.registered {
		fmt.Fprintf(&b, "! %s\n", line)
	}
	return b.String()
}

// TestDocumentIsComplete checks that every route is in the document with its access, that
// every operation of the document is a route, and that the error codes match.
func TestDocumentIsComplete(t *testing.T) {
	doc, _ := loadDocument(t)
	s := newServer(t, newWorld().serverOptions())
	var routes, operations []string
	for _, r := range s.Routes() {
		routes = append(routes, strings.Join(r[:], " "))
	}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			operations = append(operations, fmt.Sprint(method, " ", path, " ", o.Extensions["x-access"]))
		}
	}
	slices.Sort(routes)
	slices.Sort(operations)
	if !slices.Equal(routes, operations) {
		t.Errorf("routes\n %s\noperations\n %s", strings.Join(routes, "\n "), strings.Join(operations, "\n "))
	}
	documented := make(map[string]bool)
	for _, v := range doc.Components.Schemas["Error"].Value.Properties["errorCode"].Value.Enum {
		documented[v.(string)] = true
	}
	for _, code := range api.ErrorCodes() {
		if !documented[code] {
			t.Errorf("errorCode %s is not in the document", code)
		}
	}
}

func postRequest(s http.Handler, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return rec
}

func TestBodyMustBeText(t *testing.T) {
	rec := postRequest(newServer(t, newWorld().serverOptions()), "/api/search", "{\"query\":\"\xff\",\"matches\":1}")
	if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "UTF-8") {
		t.Errorf("a body that is not UTF-8: %d %s, want 400 that says so", rec.Code, rec.Body)
	}
}

// TestManyValues checks that a body of many empty values is refused before it is decoded, and that
// commas in a text are not counted.
func TestManyValues(t *testing.T) {
	o := newWorld().serverOptions()
	o.MaxBodyBytes = 2 << 20
	s := newServer(t, o)
	many, text := strings.Repeat(`{},`, 100_000)+"{}", strings.Repeat(`,\",`, 100_000)
	for path, form := range map[string]string{
		"/api/search": `{"query":"x","matches":1,"other":%s}`,
		"/api/mcp":    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"other":%s}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rec := postRequest(s, path, fmt.Sprintf(form, "["+many+"]"))
		runtime.ReadMemStats(&after)
		if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "more than 100000 values") {
			t.Errorf("POST %s with many values: %d %.300s", path, rec.Code, rec.Body)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
			t.Errorf("POST %s with many values allocates %d bytes", path, got)
		}
		if rec := postRequest(s, path, fmt.Sprintf(form, `"`+text+`"`)); rec.Code != http.StatusOK {
			t.Errorf("POST %s with a long text: %d %.300s", path, rec.Code, rec.Body)
		}
	}
}

// TestByteOrderMark checks that a body may begin with a byte order mark, over the API and
// in messages of agents.
func TestByteOrderMark(t *testing.T) {
	s := newServer(t, newWorld().serverOptions())
	for path, body := range map[string]string{"/api/search": `{"query":"x","matches":1}`, "/api/mcp": `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		plain, marked := postRequest(s, path, body), postRequest(s, path, "\ufeff"+body)
		if plain.Code != http.StatusOK || marked.Code != plain.Code {
			t.Errorf("POST %s: %d %s with a byte order mark, %d without", path, marked.Code, marked.Body, plain.Code)
		}
		if twice := postRequest(s, path, "\ufeff\ufeff"+body); twice.Code != http.StatusBadRequest {
			t.Errorf("POST %s with two marks: %d, want %d", path, twice.Code, http.StatusBadRequest)
		}
	}
}

// TestSearchRequest checks that the options of a request reach the search, within the
// limits.
func TestSearchRequest(t *testing.T) {
	w := newWorld()
	s := newServer(t, w.serverOptions())
	for _, tc := range []struct {
		body string
		want search.Request
		root string
	}{
		{`{"query":"foo bar","matches":10}`, search.Request{Related: true, Matches: 10}, "foo bar"},
		{`{"query":"foo","matches":1e3,"contextLines":3,"whole":true,"explain":true,"display":5}`, search.Request{Related: true, Matches: 1000, ContextLines: 3, Whole: true, Explain: true, Display: 5}, "foo"},
		{`{"query":"foo","matches":1e300}`, search.Request{Related: true, Matches: 1000}, "foo"},
		{`{"query":"a.b","matches":1,"isRegexEnabled":true,"isCaseSensitivityEnabled":true,"unknown":[]}`, search.Request{Related: true, Matches: 1}, "case:yes regex:a.b"},
	} {
		if rec := postRequest(s, "/api/search", tc.body); rec.Code != http.StatusOK {
			t.Errorf("POST /api/search with %s: %d %s, want 200", tc.body, rec.Code, rec.Body)
			continue
		}
		got := w.request
		root := got.Query.Root.String()
		got.Query, got.Public, tc.want.NewView = nil, nil, true
		if !reflect.DeepEqual(got, tc.want) || root != tc.root {
			t.Errorf("%s: %+v %s, want %+v %s", tc.body, got, root, tc.want, tc.root)
		}
	}
}

// TestLargeRequests checks that a query above the limit of the language gets advice, and
// that a body above the server's limit is not read to its end.
func TestLargeRequests(t *testing.T) {
	s := newServer(t, newWorld().serverOptions())
	rec := postRequest(s, "/api/search", `{"matches":1,"query":"`+strings.Repeat("x", 70_000)+`"}`)
	if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), `"advice"`) || rec.Body.Len() > 4096 {
		t.Errorf("long query: %d %.300s", rec.Code, rec.Body)
	}
	rec = postRequest(s, "/api/search", `{"matches":1,"query":"`+strings.Repeat("x", 100_000)+`"}`)
	const want = `{"statusCode":413,"errorCode":"REQUEST_TOO_LARGE","message":"request body is too large: at most 100000 bytes"}`
	if rec.Code != http.StatusRequestEntityTooLarge || strings.TrimSpace(rec.Body.String()) != want {
		t.Errorf("long body: %d %.300s", rec.Code, rec.Body)
	}
}

func TestIncompleteReason(t *testing.T) {
	for _, tc := range []struct {
		body   string
		change func(*search.Result)
		want   string
	}{
		{`{"query":"boil","matches":9}`, nil, ""},
		{`{"query":"boil","matches":1}`, nil, "match limit"},
		{`{"query":"boil","matches":1e9}`, nil, "server match limit"},
		{`{"query":"boil","matches":9}`, func(r *search.Result) { r.Exhaustive, r.Stopped = false, search.StopTimeLimit }, "time limit"},
		{`{"query":"boil","matches":9,"display":1}`, nil, "display limit"},
	} {
		w := newWorld()
		w.change = tc.change
		o := w.serverOptions()
		if tc.want == "server match limit" {
			o.MaxMatches = 2
		}
		rec := postRequest(newServer(t, o), "/api/search", tc.body)
		var got struct {
			Exhaustive bool   `json:"isSearchExhaustive"`
			Reason     string `json:"incompleteReason"`
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Reason != tc.want || got.Exhaustive != (tc.want == "") {
			t.Errorf("%s: %+v, want %q", tc.body, got, tc.want)
		}
	}
}

// TestExternalLinks checks links to files on each kind of host.
func TestExternalLinks(t *testing.T) {
	for _, tc := range []struct {
		kind code.HostKind
		web  string
		ref  code.Ref
		want string
	}{
		{code.GitHub, "https://h/o/n", "refs/heads/a/b", "https://h/o/n/blob/a/b/d%20r/x.go"},
		{code.GitHub, "https://h/o/n", "", "https://h/o/n/blob/HEAD/d%20r/x.go"},
		{code.GitLab, "https://h/o/n/", "refs/tags/v1", "https://h/o/n/-/blob/v1/d%20r/x.go"},
		{code.Gitea, "https://h/o/n", "refs/heads/m", "https://h/o/n/src/branch/m/d%20r/x.go"},
		{code.Gerrit, "https://h/n", "refs/heads/m", "https://h/n/+/m/d%20r/x.go"},
		{code.BitbucketServer, "https://h/n", "refs/heads/m", "https://h/n/browse/d%20r/x.go?at=m"},
		{code.BitbucketCloud, "https://h/n", "refs/heads/m", "https://h/n/src/m/d%20r/x.go"},
		{code.AzureDevOps, "https://h/n", "refs/heads/m", "https://h/n?path=/d%20r/x.go&version=GBm"},
		{code.GenericGitHost, "https://h/n", "refs/heads/m", ""},
		{code.GitHub, "", "refs/heads/m", ""},
		{code.GitHub, "javascript:alert(1)", "refs/heads/m", ""},
	} {
		w := newWorld()
		r := &corpus.Repository{Repository: code.Repository{ID: 1, Kind: tc.kind, Name: "h/n", WebURL: tc.web}}
		w.change = func(result *search.Result) {
			result.Files = []search.FileMatch{{Repo: r, Ref: tc.ref, Path: "d r/x.go"}}
		}
		var got struct {
			Files []struct {
				External string `json:"externalWebUrl"`
			} `json:"files"`
		}
		rec := postRequest(newServer(t, w.serverOptions()), "/api/search", `{"query":"x","matches":1}`)
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Files[0].External != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.kind, tc.ref, got.Files[0].External, tc.want)
		}
	}
}

// TestOrderAndPages checks that sorting by push treats repositories without a push as the
// oldest, and is stable.
func TestOrderAndPages(t *testing.T) {
	w := newWorld()
	w.repositories = nil
	for i := range 65 {
		r := &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Kind: code.Gitea, Name: fmt.Sprintf("h/r%02d", i)}}
		if i%2 == 0 {
			r.PushedAt = day.Add(-time.Duration(i) * time.Minute)
		}
		w.repositories = append(w.repositories, r)
	}
	s := newServer(t, w.serverOptions())
	names := func(query string) []string {
		var out []string
		for page := 1; ; page++ {
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/api/repos?page=%d&%s", page, query), nil))
			var items []struct {
				Name string `json:"repoName"`
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &items); err != nil {
				t.Fatal(err)
			}
			if len(items) == 0 {
				return out
			}
			for _, item := range items {
				out = append(out, item.Name)
			}
		}
	}
	byName := names("")
	if len(byName) != 65 || !slices.IsSorted(byName) {
		t.Errorf("by name: %v", byName)
	}
	byPush := names("sort=pushed&perPage=7")
	if len(byPush) != 65 || byPush[0] != "h/r64" || byPush[32] != "h/r00" || byPush[33] != "h/r01" {
		t.Errorf("by push: %v", byPush)
	}
	reversed := names("sort=pushed&direction=desc&perPage=100")
	slices.Reverse(reversed)
	if !slices.Equal(byPush, reversed) {
		t.Errorf("desc is not asc reversed: %v", reversed)
	}
	if got := names("query=R0"); len(got) != 10 {
		t.Errorf("filter: %v", got)
	}
}

func TestTimeoutAndLeavingClient(t *testing.T) {
	w := newWorld()
	w.block = true
	o := w.serverOptions()
	o.SearchTimeout = time.Millisecond
	rec := postRequest(newServer(t, o), "/api/search", `{"query":"x","matches":1}`)
	if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), `"TIMEOUT"`) {
		t.Errorf("time-out: %d %s", rec.Code, rec.Body)
	}
	o.SearchTimeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec = httptest.NewRecorder()
	newServer(t, withRegistry(o)).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/api/search", strings.NewReader(`{"query":"x","matches":1}`)).WithContext(ctx))
	if rec.Code != 499 {
		t.Errorf("the client left: %d %s", rec.Code, rec.Body)
	}
	if a, r := w.acquired.Load(), w.released.Load(); a != 2 || a != r {
		t.Errorf("%d views acquired, %d released", a, r)
	}
}

func withRegistry(o api.Options) api.Options {
	o.Registerer = prometheus.NewRegistry()
	return o
}

func TestPanicIsCounted(t *testing.T) {
	w := newWorld()
	w.panics = true
	o := w.serverOptions()
	reg := prometheus.NewPedanticRegistry()
	o.Registerer = reg
	rec := postRequest(newServer(t, o), "/api/search", `{"query":"x","matches":1}`)
	if rec.Code != http.StatusInternalServerError || strings.Contains(rec.Body.String(), "invariant") {
		t.Errorf("a search that panics: %d %s, want 500 without the reason", rec.Code, rec.Body)
	}
	const want = `
# HELP quarry_api_panics_total Requests that ended in a panic, which is a defect in Quarry.
# TYPE quarry_api_panics_total counter
quarry_api_panics_total 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "quarry_api_panics_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(reg, "quarry_api_request_duration_seconds"); err != nil || n != 1 {
		t.Errorf("%d histograms, %v", n, err)
	}
}

// TestHeaders checks the headers of every response, and that a harmless request ID is
// kept.
func TestHeaders(t *testing.T) {
	s := newServer(t, newWorld().serverOptions())
	for id, kept := range map[string]bool{"abc-1.2_3": true, "": false, "a b": false, strings.Repeat("x", 65): false, "<script>": false} {
		req := httptest.NewRequest(http.MethodGet, "/nowhere", nil)
		req.Header.Set("X-Request-Id", id)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		got := rec.Header().Get("X-Request-Id")
		if (got == id) != kept || got == "" {
			t.Errorf("request ID %q became %q", id, got)
		}
		for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Permissions-Policy", "Content-Security-Policy", "Cache-Control"} {
			if rec.Header().Get(name) == "" {
				t.Errorf("header %s is missing", name)
			}
		}
	}
}

// TestOverTheWire checks that a body that stops arriving does not hold a connection
// forever, and that the deadline of the body does not end the response.
func TestOverTheWire(t *testing.T) {
	w := newWorld()
	server := httptest.NewServer(newServer(t, w.serverOptions()))
	defer server.Close()
	resp, err := http.Post(server.URL+"/api/search", "application/json", strings.NewReader(`{"query":"x","matches":1,"contextLines":0}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !json.Valid(b) {
		t.Errorf("POST /api/search over a socket: %d %s, %v; want 200 and JSON", resp.StatusCode, b, err)
	}
	resp, err = http.Head(server.URL + "/api/repos")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Total-Count") != "2" {
		t.Errorf("HEAD: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*api.Options){
		"no searcher":    func(o *api.Options) { o.Searcher = nil },
		"no source":      func(o *api.Options) { o.Source = nil },
		"no URL":         func(o *api.Options) { o.PublicURL = "" },
		"no web URL":     func(o *api.Options) { o.PublicURL = "ftp://x" },
		"negative bound": func(o *api.Options) { o.MaxMatches = -1 },
	} {
		o := newWorld().serverOptions()
		change(&o)
		if _, err := api.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzBodies checks that any body gets a 2xx or 4xx response in JSON.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{`{"query":"x","matches":1}`, `{"query":"(","matches":1}`, `{}`, `null`, `{"symbolName":"x"}`, `{"cloneUrl":"https://h/a"}`} {
		f.Add(body)
	}
	s, err := api.New(newWorld().serverOptions())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/api/search", "/api/find_references", "/api/repos"} {
			rec := postRequest(s, path, body)
			if rec.Code >= 500 || !json.Valid(rec.Body.Bytes()) {
				t.Fatalf("POST %s with %q: %d %s, want less than 500, and JSON", path, body, rec.Code, rec.Body)
			}
		}
	})
}
