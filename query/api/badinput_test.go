package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/authtest"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// emptyGit has one commit with an empty tree, and records its calls.
type emptyGit struct{ asked []string }

func (*emptyGit) Reach(context.Context, code.RepositoryID, code.CommitID, []code.Revision) (source.Reach, error) {
	return source.ReachNone, nil
}

func (g *emptyGit) Resolve(_ context.Context, _ code.RepositoryID, name code.RevisionName, _ code.Ref) (code.CommitID, error) {
	for _, ref := range name.Refs {
		g.asked = append(g.asked, string(ref))
	}
	if name.Head || slices.ContainsFunc(name.Refs, func(r code.Ref) bool { return strings.HasPrefix(r.Short(), "v") }) {
		return kettle.IndexedCommit, nil
	}
	return "", fmt.Errorf("resolve: %w", source.ErrNoRevision)
}

func (g *emptyGit) recordMissing(path string) error {
	g.asked = append(g.asked, path)
	return fmt.Errorf("%.40q: %w", path, source.ErrNoPath)
}

func (g *emptyGit) Branches(context.Context, code.RepositoryID) ([]source.Branch, error) {
	return nil, nil
}

func (g *emptyGit) File(_ context.Context, _ code.RepositoryID, _ code.CommitID, path string, _ int64) (source.File, error) {
	return source.File{}, g.recordMissing(path)
}

func (g *emptyGit) Directories(_ context.Context, _ code.RepositoryID, _ code.CommitID, paths []string, _ int) (map[string][]source.Entry, error) {
	g.asked = append(g.asked, paths...)
	return map[string][]source.Entry{"": {}}, nil
}

func (g *emptyGit) Content(_ context.Context, _ code.RepositoryID, _ code.CommitID, path string, _ int64) ([]byte, error) {
	return nil, g.recordMissing(path)
}

func (g *emptyGit) MergeBase(context.Context, code.RepositoryID, code.CommitID, code.CommitID) (code.CommitID, error) {
	return "", source.ErrNoRevision
}

func (g *emptyGit) Files(context.Context, code.RepositoryID, code.CommitID, int) ([]string, error) {
	return nil, nil
}

func (g *emptyGit) Log(context.Context, code.RepositoryID, source.LogQuery) ([]source.Commit, error) {
	return nil, nil
}

func (g *emptyGit) CountLog(context.Context, code.RepositoryID, source.LogQuery) (int, error) {
	return 0, nil
}

func (g *emptyGit) LastChanges(context.Context, code.RepositoryID, code.CommitID, string, []string) (map[string]source.Commit, bool, error) {
	return nil, false, nil
}

func (g *emptyGit) Authors(context.Context, code.RepositoryID, code.CommitID, string) ([]source.Author, error) {
	return nil, nil
}

func (g *emptyGit) Diff(context.Context, code.RepositoryID, code.CommitID, code.CommitID, string, int64) ([]source.FileDiff, error) {
	return nil, nil
}

func (g *emptyGit) Blame(_ context.Context, _ code.RepositoryID, _ code.CommitID, path string, _ int64) (*source.Blame, error) {
	return nil, g.recordMissing(path)
}

// sample is a request for an operation, built from the document's examples.
type sample struct {
	method, path string
	operation    *openapi3.Operation
	parameters   []*openapi3.Parameter
	query        url.Values
	body         map[string]any // nil: no body
	header       http.Header    // additional headers
}

// withHeader returns the sample with headers, given as alternating names and values.
func (q *sample) withHeader(pairs ...string) *sample {
	out := *q
	out.header = http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		out.header.Add(pairs[i], pairs[i+1])
	}
	return &out
}

func (q *sample) String() string { return q.method + " " + q.path }

// requestSamples returns a sample for every operation of the document.
func requestSamples(t *testing.T) []*sample {
	doc, _ := loadDocument(t)
	var out []*sample
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			q := &sample{method: method, path: path, operation: o, query: url.Values{}}
			for _, p := range append(slices.Clone(item.Parameters), o.Parameters...) {
				q.parameters = append(q.parameters, p.Value)
				if p.Value.Required && p.Value.In == "query" {
					q.query.Set(p.Value.Name, exampleOf(p.Value))
				}
			}
			if schema := bodySchema(o); schema != nil {
				q.body = exampleBody(t, q, o.RequestBody.Value.Content["application/json"])
			}
			out = append(out, q)
		}
	}
	return out
}

func bodySchema(o *openapi3.Operation) *openapi3.Schema {
	if o.RequestBody == nil || o.RequestBody.Value.Content["application/json"] == nil {
		return nil
	}
	return o.RequestBody.Value.Content["application/json"].Schema.Value
}

func exampleBody(t *testing.T, q *sample, media *openapi3.MediaType) map[string]any {
	example := media.Example
	for _, e := range media.Examples {
		example = e.Value.Value
	}
	if example == nil {
		example = media.Schema.Value.Example
	}
	b, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(b, &body); err != nil || body == nil {
		t.Errorf("%s: the body has no example: %s", q, b)
		return map[string]any{}
	}
	return body
}

func exampleOf(p *openapi3.Parameter) string {
	if p.Example != nil {
		return fmt.Sprint(p.Example)
	}
	for _, e := range p.Examples {
		return fmt.Sprint(e.Value.Value)
	}
	if p.Schema.Value.Example != nil {
		return fmt.Sprint(p.Schema.Value.Example)
	}
	return "1"
}

// sendSample sends the sample with the given changes; nil changes nothing.
func (q *sample) sendSample(s http.Handler, path map[string]string, query url.Values, body []byte, contentType string) *httptest.ResponseRecorder {
	target := q.path
	for _, p := range q.parameters {
		if p.In == "path" {
			value, changed := path[p.Name]
			if !changed {
				value = exampleOf(p)
			}
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(value))
		}
	}
	if query == nil {
		query = q.query
	}
	if body == nil && q.body != nil {
		body, _ = json.Marshal(q.body)
	}
	r := httptest.NewRequest(q.method, target+"?"+query.Encode(), strings.NewReader(string(body)))
	if contentType == "" {
		contentType = "application/json"
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", contentType)
	}
	maps.Copy(r.Header, q.header)
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	return rec
}

// checkRefusal checks the status of a response, that it is an error object with one of
// the codes, and that its message names the error.
func checkRefusal(t *testing.T, what string, rec *httptest.ResponseRecorder, status int, codes, names string) {
	t.Helper()
	var e struct {
		StatusCode int    `json:"statusCode"`
		ErrorCode  string `json:"errorCode"`
		Message    string `json:"message"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
		t.Errorf("%s: %d %.300s: no error object: %v", what, rec.Code, rec.Body, err)
		return
	}
	if rec.Code != status || e.StatusCode != rec.Code || !slices.Contains(strings.Fields(codes), e.ErrorCode) || !strings.Contains(e.Message, names) || e.Message == "" || len(e.Message) > 2000 {
		t.Errorf("%s: %d %.400s; want %d %s naming %q", what, rec.Code, rec.Body, status, codes, names)
	}
}

func badServer(t *testing.T) (*api.Server, *emptyGit) {
	git := &emptyGit{}
	o := without429(newWorld().serverOptions())
	o.Source = newBrowser(git)
	o.Accounts = noAccounts(t)
	return newServer(t, o), git
}

// noAccounts returns a service without accounts.
func noAccounts(t *testing.T) *auth.Service {
	t.Helper()
	directory := authtest.New()
	service, err := auth.NewService(auth.Options{
		Directory: directory, Appender: directory, Secret: make([]byte, auth.MinSecretBytes),
		Hashing: auth.Hashing{MemoryKiB: 64, Passes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

const bodyCodes = "INVALID_REQUEST_BODY"

// TestBodiesThatAreNone checks that every operation with a body refuses one that is not a
// JSON object.
func TestBodiesThatAreNone(t *testing.T) {
	s, _ := badServer(t)
	for _, q := range requestSamples(t) {
		if q.body == nil {
			continue
		}
		schema := bodySchema(q.operation)
		for _, body := range []string{"{", `{"a":}`, `x`, `{"a":"` + "\xff" + `"}`, `{} {}`, "\x00"} {
			checkRefusal(t, fmt.Sprintf("%s of %q", q, body), q.sendSample(s, nil, nil, []byte(body), ""), 400, bodyCodes, "")
		}
		if schema.Type.Is("object") {
			for _, body := range []string{"[]", "null", `"x"`, "7", "true"} {
				checkRefusal(t, fmt.Sprintf("%s of %q", q, body), q.sendSample(s, nil, nil, []byte(body), ""), 400, bodyCodes, "")
			}
		}
	}
}

// TestContentTypes checks that a body is read as JSON whatever its Content-Type, unless
// only a session cookie authenticates the caller: a page could send that cookie with a
// form.
func TestContentTypes(t *testing.T) {
	const cookie = auth.CookieName + "=qs_1"
	s, _ := badServer(t)
	for _, q := range requestSamples(t) {
		if q.body == nil {
			continue
		}
		session := q.withHeader("Cookie", cookie)
		without := []*sample{q.withHeader(), q.withHeader("Cookie", "theme=dark"), q.withHeader("Authorization", "Bearer operator"), q.withHeader("Authorization", "Bearer operator", "Cookie", cookie)}
		want := q.sendSample(s, nil, nil, nil, "").Code
		for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain;charset=UTF-8", "multipart/form-data; boundary=x", "application/xml", "json", "application/jsonp", ";"} {
			checkRefusal(t, fmt.Sprintf("%s as %q with a session", q, kind), session.sendSample(s, nil, nil, nil, kind), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type: application/json")
			for _, w := range without {
				if rec := w.sendSample(s, nil, nil, nil, kind); rec.Code == 415 || rec.Code >= 500 && want < 500 {
					t.Errorf("%s as %q with %v: %d %.300s; as application/json %d", q, kind, w.header, rec.Code, rec.Body, want)
				}
				checkRefusal(t, fmt.Sprintf("%s of { as %q with %v", q, kind, w.header), w.sendSample(s, nil, nil, []byte("{"), kind), 400, bodyCodes, "")
			}
		}
		for _, kind := range []string{"application/json; charset=utf-8", "Application/JSON"} {
			if rec := session.sendSample(s, nil, nil, nil, kind); rec.Code == 415 {
				t.Errorf("%s as %q: %s", q, kind, rec.Body)
			}
		}
	}
}

// invalidValues returns values that a schema does not allow.
func invalidValues(s *openapi3.Schema) (out []any) {
	switch {
	case s.Type.Is("string"):
		out = []any{7.0, true, []any{"x"}, map[string]any{}}
	case s.Type.Is("integer"), s.Type.Is("number"):
		out = []any{"10", true, []any{1}, map[string]any{}}
	case s.Type.Is("boolean"):
		out = []any{"true", 1.0, []any{}}
	case s.Type.Is("array"):
		out = []any{"x", 1.0, map[string]any{}}
	case s.Type.Is("object"):
		out = []any{"x", 1.0, []any{}}
	}
	if s.Type.Is("integer") {
		out = append(out, 1.5)
	}
	if len(s.Enum) > 0 {
		out = append(out, "no-such-word")
	}
	if s.MaxLength != nil && *s.MaxLength < 1<<16 {
		out = append(out, strings.Repeat("x", int(*s.MaxLength)+1))
	}
	if s.MinLength > 0 {
		out = append(out, "")
	}
	if s.Min != nil {
		out = append(out, *s.Min-1)
	}
	if s.Max != nil {
		out = append(out, *s.Max+1)
	}
	return out
}

// TestFieldsThatAreWrong checks that errors name a field that is missing or invalid.
func TestFieldsThatAreWrong(t *testing.T) {
	s, _ := badServer(t)
	for _, q := range requestSamples(t) {
		schema := bodySchema(q.operation)
		if schema == nil || q.path == "/api/mcp" {
			continue
		}
		with := func(change func(map[string]any)) []byte {
			body := maps.Clone(q.body)
			change(body)
			b, _ := json.Marshal(body)
			return b
		}
		for _, name := range schema.Required {
			rec := q.sendSample(s, nil, nil, with(func(b map[string]any) { delete(b, name) }), "")
			checkRefusal(t, fmt.Sprintf("%s without %s", q, name), rec, 400, bodyCodes, name)
		}
		for name, property := range schema.Properties {
			for _, value := range invalidValues(property.Value) {
				rec := q.sendSample(s, nil, nil, with(func(b map[string]any) { b[name] = value }), "")
				codes := bodyCodes
				if name == "query" && value == "" && !strings.Contains(fmt.Sprint(q), "/api/saved_searches") {
					codes = "FAILED_TO_PARSE_QUERY" // as in the established interface
				}
				checkRefusal(t, fmt.Sprintf("%s with %s: %.60v", q, name, value), rec, 400, codes, name)
			}
		}
	}
}

// TestParametersThatAreWrong checks the same for parameters: page 0, perPage 101, a word
// that is not allowed.
func TestParametersThatAreWrong(t *testing.T) {
	s, _ := badServer(t)
	for _, q := range requestSamples(t) {
		for _, p := range q.parameters {
			schema := p.Schema.Value
			var values []string
			if schema.Type.Is("integer") {
				values = append(values, "x", "", "1.5", "1e", "99999999999999999999", "0x10", " 1", "-1")
				if schema.Min != nil && *schema.Min >= 1 {
					values = append(values, "0")
				}
				if schema.Max != nil {
					values = append(values, fmt.Sprintf("%.0f", *schema.Max+1))
				}
			}
			if schema.Type.Is("boolean") {
				values = append(values, "maybe", "2")
			}
			if len(schema.Enum) > 0 {
				values = append(values, "no-such-word")
			}
			if schema.Format == "date-time" {
				values = append(values, "yesterday-ish", "2026-13-01T00:00:00Z")
			}
			for _, value := range values {
				what := fmt.Sprintf("%s with %s=%q", q, p.Name, value)
				if p.In == "path" && value != "" {
					checkRefusal(t, what, q.sendSample(s, map[string]string{p.Name: value}, nil, nil, ""), 400, "INVALID_PATH_PARAMS", p.Name)
				}
				if p.In == "query" {
					query := maps.Clone(q.query)
					query.Set(p.Name, value)
					checkRefusal(t, what, q.sendSample(s, nil, query, nil, ""), 400, "INVALID_QUERY_PARAMS", p.Name)
				}
			}
			if p.In == "query" && p.Required {
				query := maps.Clone(q.query)
				query.Del(p.Name)
				checkRefusal(t, fmt.Sprintf("%s without %s", q, p.Name), q.sendSample(s, nil, query, nil, ""), 400, "INVALID_QUERY_PARAMS MISSING_REQUIRED_QUERY_PARAMETER", p.Name)
			}
		}
	}
}

// hostile are values that must not reach a program or a file.
var hostile = []string{
	"--upload-pack=touch /tmp/x", "-x", "../../etc/passwd", "/etc/passwd", "a\x00b", "a\nb", "$(touch x)", "`id`", "%2e%2e%2fetc", "..\\..\\x", "\xff\xfe",
	strings.Repeat("a", 100_000), strings.Repeat("../", 5000) + "x", "{", "' OR 1=1 --", "https://evil.example/",
}

// TestHostileText checks that, whatever text a field or parameter contains, the response
// is a client error or a success, and git gets only names.
func TestHostileText(t *testing.T) {
	s, git := badServer(t)
	check := func(what string, rec *httptest.ResponseRecorder) {
		t.Helper()
		// 503: this server has no mirrors to verify.
		if rec.Code == 500 || rec.Code >= 300 && !json.Valid(rec.Body.Bytes()) {
			t.Errorf("hostile text in %.200s: %d %.300s, want no 500, and JSON from 300 up", what, rec.Code, rec.Body)
		}
	}
	for _, q := range requestSamples(t) {
		for _, value := range hostile {
			for _, p := range q.parameters {
				what := fmt.Sprintf("%s with %s=%.60q", q, p.Name, value)
				switch {
				case p.In == "path":
					check(what, q.sendSample(s, map[string]string{p.Name: value}, nil, nil, ""))
				case p.In == "query":
					query := maps.Clone(q.query)
					query.Set(p.Name, value)
					check(what, q.sendSample(s, nil, query, nil, ""))
				}
			}
			for name := range propertiesOf(q.operation) {
				body := maps.Clone(q.body)
				for _, v := range []any{value, []any{value}} {
					body[name] = v
					b, _ := json.Marshal(body)
					check(fmt.Sprintf("%s with %s: %.60q", q, name, value), q.sendSample(s, nil, nil, b, ""))
				}
			}
		}
	}
	for _, asked := range git.asked {
		if strings.ContainsAny(asked, "\x00") || len(asked) > 10_000 || strings.Contains(asked, "../") {
			t.Errorf("git was asked for %.80q", asked)
		}
	}
	if len(git.asked) == 0 {
		t.Error("git was asked for nothing: the samples do not reach it")
	}
}

func propertiesOf(o *openapi3.Operation) openapi3.Schemas {
	if schema := bodySchema(o); schema != nil {
		return schema.Properties
	}
	return nil
}

// TestWrongMethods checks that every path lists its methods.
func TestWrongMethods(t *testing.T) {
	s, _ := badServer(t)
	methods := map[string][]string{}
	for _, q := range requestSamples(t) {
		methods[q.path] = append(methods[q.path], q.method)
		if q.method == http.MethodGet {
			methods[q.path] = append(methods[q.path], http.MethodHead)
		}
	}
	delete(methods, "/api/replays/rollback") // also the path of a replay, with an invalid number
	for path, has := range methods {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(has, method) {
				continue
			}
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequest(method, fillPath(path), nil))
			checkRefusal(t, method+" "+path, rec, 405, "METHOD_NOT_ALLOWED", "")
			allow := strings.Split(rec.Header().Get("Allow"), ", ")
			slices.Sort(allow)
			slices.Sort(has)
			if !slices.Equal(allow, has) {
				t.Errorf("%s %s: Allow %q, want %q", method, path, allow, has)
			}
		}
	}
	for _, path := range []string{"/api", "/api/", "/api/none", "/api/search/", "/api//search", "/api/../api/search", "/api/repos/1/none", "/api/repos/1/status/", "/API/search", "/api/%2e%2e/x"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequest(method, "http://h"+path, nil))
			checkRefusal(t, method+" "+path, rec, 404, "NOT_FOUND", "")
		}
	}
}
