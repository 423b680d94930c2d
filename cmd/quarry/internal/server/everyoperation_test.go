package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
)

// TestEveryOperationOfEveryServer calls every operation of the OpenAPI document, every
// tool and every page as each kind of caller, on a server without repositories, with one
// repository, and after its removal. No response may be a server error, and every
// response must be documented.
func TestEveryOperationOfEveryServer(t *testing.T) {
	t.Parallel()
	dir, _ := importRepository(t, "testdata/meadow.fastimport")
	faults, registry := &errorLog{}, prometheus.NewRegistry()
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "limits.perSecond=0", "limits.anonymousPerSecond=0")
	s, err := Open(t.Context(), Options{Config: c, Logger: slog.New(faults), Registerer: registry, Gatherer: registry, Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	run(t, s)
	waitUntil(t, func() bool { status, _ := getURL(t, s.URL()+"/readyz"); return status == http.StatusOK })
	w := newTour(t, s, faults)
	w.callers["operator"] = caller{header: "Authorization", value: "Bearer " + operator.Token(c.Data)}
	w.repository, w.name = "1", "meadow"
	w.visitAll(t, "without repositories")

	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":%q}`, dir, w.name), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	w.repository = strconv.FormatUint(r.RepoID, 10)
	var minted struct{ Token string }
	_, response, answer := w.sendRequest(t, w.callers["owner"], http.MethodPost, "/api/ee/scoped_access_token", []byte(`{"repoIds":[`+w.repository+`]}`))
	if err := json.Unmarshal(answer, &minted); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("mint: %d %s: %v", response.StatusCode, answer, err)
	}
	w.callers["token"] = caller{header: "Authorization", value: "Bearer " + minted.Token}
	w.visitAll(t, "with a repository")

	if status, body := s.asOperator(t, http.MethodDelete, "/api/repos/"+w.repository, "", "remove"); status != http.StatusAccepted {
		t.Fatalf("remove: %d %s", status, body)
	}
	waitUntil(t, func() bool { _, body := getURL(t, s.URL()+"/api/repos"); return strings.TrimSpace(body) == "[]" })
	w.visitAll(t, "with all repositories removed")

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.Contains(f.GetName(), "panics_total") && f.GetMetric()[0].GetCounter().GetValue() > 0 {
			t.Errorf("%s is %v", f.GetName(), f.GetMetric()[0])
		}
	}
}

// errorLog collects the messages that are logged as errors.
type errorLog struct {
	slog.Handler
	mu struct {
		sync.Mutex
		lines []string
	}
}

func (l *errorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *errorLog) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lines = append(l.mu.lines, line)
	return nil
}

// takeLines returns the lines that were logged since the last call.
func (l *errorLog) takeLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.mu.lines
	l.mu.lines = nil
	return lines
}

// caller is the authentication header of a request; it is empty for an anonymous caller.
type caller struct{ header, value string }

// tour calls everything that a server answers.
type tour struct {
	server     *Server
	faults     *errorLog
	document   *openapi3.T
	answers    *sourceScript
	client     *http.Client
	callers    map[string]caller
	repository string // ID and name of the only repository
	name       string
}

func newTour(t *testing.T, s *Server, faults *errorLog) *tour {
	t.Helper()
	document := openapitest.Load(t)
	w := &tour{
		server: s, faults: faults, document: document, answers: &sourceScript{router: openapitest.NewRouter(t, document)}, callers: map[string]caller{"anonymous": {}},
		client: &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	t.Cleanup(w.client.CloseIdleConnections)
	here := account.Actor{Kind: account.ActorAnonymous, Address: "127.0.0.1", Client: "test"}
	owner, err := s.auth.Setup(t.Context(), here, auth.Newcomer{Value: s.auth.SetupValue(), Email: "ada@example.org", Name: "Ada", Password: "correct horse battery"})
	if err != nil {
		t.Fatal(err)
	}
	w.addUser(t, "owner", owner, account.ScopeSearch, account.ScopeGit, account.ScopeAdmin, account.ScopeScip)
	_, value, err := s.auth.Invite(t.Context(), w.authenticateCaller(t, w.callers["owner's session"]), auth.Invitation{Role: account.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	member, err := s.auth.Accept(t.Context(), here, auth.Newcomer{Value: value, Email: "bob@example.org", Password: "correct horse battery"})
	if err != nil {
		t.Fatal(err)
	}
	w.addUser(t, "member", member, account.ScopeSearch, account.ScopeGit)
	return w
}

// addUser adds a session and a key of a user to the callers.
func (w *tour) addUser(t *testing.T, name string, in *auth.SignedIn, scopes ...account.Scope) {
	t.Helper()
	w.callers[name+"'s session"] = caller{"Cookie", auth.CookieName + "=" + in.Value}
	_, key, err := w.server.auth.CreateKey(t.Context(), w.authenticateCaller(t, w.callers[name+"'s session"]), auth.NewKey{Name: "tour", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	w.callers[name] = caller{"Authorization", "Bearer " + key}
}

func (w *tour) authenticateCaller(t *testing.T, c caller) *auth.Principal {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(c.header, c.value)
	p, err := w.server.auth.Authenticate(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *tour) visitAll(t *testing.T, state string) {
	for _, name := range slices.Sorted(maps.Keys(w.callers)) {
		t.Run(state+"/"+name, func(t *testing.T) {
			c := w.callers[name]
			w.tryOperations(t, c)
			w.callTools(t, c)
			w.openPages(t, c)
			for _, line := range w.faults.takeLines() {
				t.Errorf("logged: %s", line)
			}
		})
	}
}

// skipped lists operations that the tour calls itself, or that would invalidate the
// caller.
var skipped = []string{"removeRepository", "eraseRepository", "endSessions", "signOut"}

func (w *tour) tryOperations(t *testing.T, c caller) {
	for _, path := range w.document.Paths.InMatchingOrder() {
		item := w.document.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			o := item.Operations()[method]
			if slices.Contains(skipped, o.OperationID) {
				continue
			}
			parameters := append(slices.Clone(item.Parameters), o.Parameters...)
			for _, all := range []bool{false, true} {
				w.checkResponse(t, c, method, w.fillAddress(path, parameters, all), w.exampleBody(t, o, all))
			}
		}
	}
	w.checkResponse(t, c, http.MethodGet, "/admin/events", nil)
}

// fillAddress fills in the path parameters, and the query parameters: the required ones,
// or all.
func (w *tour) fillAddress(path string, parameters openapi3.Parameters, all bool) string {
	query := url.Values{}
	for _, p := range parameters {
		value := fmt.Sprint(p.Value.Example)
		switch {
		case p.Value.Name == "repoId", p.Value.Name == "connectionId" && p.Value.In == "query":
			value = w.repository
		case p.Value.Name == "repo", p.Value.Name == "repoName", p.Value.Name == "repository":
			value = w.name
		case p.Value.Example == nil:
			value = fmt.Sprint(p.Value.Schema.Value.Default)
		}
		switch {
		case p.Value.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(value))
		case p.Value.In == "query" && (all || p.Value.Required):
			query.Set(p.Value.Name, value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// exampleBody returns an example of the request body with the required members, or with
// all.
func (w *tour) exampleBody(t *testing.T, o *openapi3.Operation, all bool) []byte {
	t.Helper()
	if o.RequestBody == nil {
		return nil
	}
	media := o.RequestBody.Value.Content["application/json"]
	if media == nil { // an upload has no JSON body
		return []byte("no index")
	}
	b, err := json.Marshal(media.Example)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(b, &body); err != nil {
		t.Fatal(err)
	}
	if !all {
		maps.DeleteFunc(body, func(name string, _ any) bool { return !slices.Contains(media.Schema.Value.Required, name) })
	}
	switch o.OperationID {
	case "registerRepository":
		body = map[string]any{"path": "/nowhere"}
	case "renameRepository":
		body = map[string]any{"cloneUrl": "/nowhere"}
	}
	for name, value := range map[string]any{"repoName": w.name, "repoIds": []json.Number{json.Number(w.repository)}, "repositories": []string{w.name}} {
		if _, has := body[name]; has {
			body[name] = value
		}
	}
	if b, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	return b
}

// sendRequest sends a request and returns the response and its body.
func (w *tour) sendRequest(t *testing.T, c caller, method, address string, body []byte) (*http.Request, *http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.server.URL()+address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json, text/html")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.header != "" {
		request.Header.Set(c.header, c.value)
	}
	response, err := w.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	return request, response, answer
}

func (w *tour) checkResponse(t *testing.T, c caller, method, address string, body []byte) {
	t.Helper()
	request, response, answer := w.sendRequest(t, c, method, address, body)
	if response.StatusCode == http.StatusInternalServerError {
		t.Errorf("%s %s %s: %d %.400s", method, address, body, response.StatusCode, answer)
	}
	if strings.Contains(string(answer), `"type":"error"`) && strings.Contains(string(answer), "UNEXPECTED_ERROR") {
		t.Errorf("%s %s %s: %.400s", method, address, body, answer)
	}
	if address != "/admin/events" {
		w.answers.validateResponse(t, fmt.Sprintf("%s %s %s", method, address, body), request, response, answer)
	}
}

// toolArguments returns the arguments of each tool, by name.
func (w *tour) toolArguments() map[string]any {
	return map[string]any{
		"pattern": "Boil", "path": "kettle.go", "repo": w.name, "ref": "main", "commit": "main", "base": "main", "head": "main", "symbol": "Boil", "query": "o",
	}
}

func (w *tour) callTools(t *testing.T, c caller) {
	var listed struct {
		Result struct {
			Tools []struct {
				Name   string `json:"name"`
				Schema struct {
					Properties map[string]any `json:"properties"`
					Required   []string       `json:"required"`
				} `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	_, response, answer := w.sendRequest(t, c, http.MethodPost, "/api/mcp", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err := json.Unmarshal(answer, &listed); err != nil || len(listed.Result.Tools) < 12 {
		t.Fatalf("tools: %d %.400s: %v", response.StatusCode, answer, err)
	}
	for _, tool := range listed.Result.Tools {
		for _, all := range []bool{false, true} {
			arguments := maps.Clone(w.toolArguments())
			maps.DeleteFunc(arguments, func(name string, _ any) bool {
				_, has := tool.Schema.Properties[name]
				return !has || !all && !slices.Contains(tool.Schema.Required, name)
			})
			body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool.Name, "arguments": arguments}})
			if err != nil {
				t.Fatal(err)
			}
			_, response, answer := w.sendRequest(t, c, http.MethodPost, "/api/mcp", body)
			if response.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"content"`) || strings.Contains(strings.ToLower(string(answer)), "unexpected") {
				t.Errorf("tool %s %v: %d %.400s", tool.Name, arguments, response.StatusCode, answer)
			}
		}
	}
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

func (w *tour) openPages(t *testing.T, c caller) {
	for _, pattern := range w.server.pages.Paths() {
		path := strings.ReplaceAll(strings.ReplaceAll(pattern, "{$}", ""), "{path...}", w.name+"/-/tree/")
		path = wildcard.ReplaceAllString(path, w.name)
		for _, query := range []string{"", "?q=Boil&query=Boil"} {
			if _, response, answer := w.sendRequest(t, c, http.MethodGet, path+query, nil); response.StatusCode >= http.StatusInternalServerError {
				t.Errorf("page %s%s: %d %.400s", path, query, response.StatusCode, answer)
			}
		}
	}
}
