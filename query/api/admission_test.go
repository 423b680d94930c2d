package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// sendRequest sends a request; credential is a word that fakeGate knows, or empty.
func sendRequest(s http.Handler, method, path, body, credential string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	return rec
}

var pathParameter = regexp.MustCompile(`\{[A-Za-z]+\}`)

// fillPath returns a route's path with its parameters filled in.
func fillPath(path string) string { return pathParameter.ReplaceAllString(path, "1") }

func closedWorld() *world {
	w := newWorld()
	w.gate.strict = true
	return w
}

func without429(o api.Options) api.Options {
	o.Limits = front.Limits{PerSecond: -1, AnonymousPerSecond: -1}
	return o
}

// TestAccess checks the access rule of every route with every kind of caller.
func TestAccess(t *testing.T) {
	want := map[int]map[string]int{ // 0: admitted
		api.AccessOpen:     {"": 0, "wrong": 0, "token": 0, "searcher": 0, "gitter": 0, "member": 0, "ownerkey": 0, "owner": 0, "operator": 0},
		api.AccessSearch:   {"": 0, "wrong": 401, "token": 0, "searcher": 0, "gitter": 403, "member": 0, "ownerkey": 0, "owner": 0, "operator": 0},
		api.AccessGit:      {"": 0, "wrong": 401, "token": 0, "searcher": 403, "gitter": 0, "member": 0, "ownerkey": 0, "owner": 0, "operator": 0},
		api.AccessRead:     {"": 0, "wrong": 401, "token": 0, "searcher": 0, "gitter": 0, "member": 0, "ownerkey": 0, "owner": 0, "operator": 0},
		api.AccessMember:   {"": 401, "wrong": 401, "token": 403, "searcher": 0, "gitter": 0, "member": 0, "ownerkey": 0, "owner": 0, "operator": 0},
		api.AccessOwner:    {"": 401, "wrong": 401, "token": 403, "searcher": 403, "gitter": 403, "member": 403, "ownerkey": 403, "owner": 0, "operator": 0},
		api.AccessScip:     {"": 401, "wrong": 401, "token": 403, "searcher": 403, "gitter": 403, "member": 403, "ownerkey": 403, "owner": 0, "operator": 0},
		api.AccessOperator: {"": 401, "wrong": 401, "token": 403, "searcher": 403, "gitter": 403, "member": 403, "ownerkey": 403, "owner": 403, "operator": 0},
	}
	for _, closed := range []bool{false, true} {
		w := closedWorld()
		w.gate.closed = closed
		s := newServer(t, without429(w.serverOptions()))
		for _, rt := range s.Access() {
			for credential, status := range want[rt.Access] {
				if closed && credential == "" && rt.Access != api.AccessOpen {
					status = 401
				}
				rec := sendRequest(s, rt.Method, fillPath(rt.Path), "", credential)
				got := rec.Code
				if got != 401 && (got != 403 || !strings.Contains(rec.Body.String(), "INSUFFICIENT_PERMISSIONS")) {
					got = 0
				}
				if got != status {
					t.Errorf("%s %s as %q, closed %v: %d %s, want %d", rt.Method, rt.Path, credential, closed, rec.Code, rec.Body, status)
				}
				if challenge := rec.Header().Get("WWW-Authenticate"); (rec.Code == 401) != (challenge != "") {
					t.Errorf("%s %s as %q: %d with WWW-Authenticate %q", rt.Method, rt.Path, credential, rec.Code, challenge)
				}
			}
		}
	}
}

// TestRouteMustHaveAnAccessRule checks that the server does not start with a route
// without an access rule.
func TestRouteMustHaveAnAccessRule(t *testing.T) {
	for access, fine := range map[int]bool{0: false, api.AccessOpen: true, api.AccessOwner: true, api.AccessOperator: true, api.AccessOperator + 1: false, -1: false} {
		if err := api.CheckRoute(access); (err == nil) != fine {
			t.Errorf("access %d: %v", access, err)
		}
	}
}

// TestUnknownRouteIgnoresTheCaller checks that the response for an unknown route does not
// depend on the caller.
func TestUnknownRouteIgnoresTheCaller(t *testing.T) {
	w := closedWorld()
	w.gate.closed = true
	rec := sendRequest(newServer(t, w.serverOptions()), http.MethodGet, "/api/nothing", "", "wrong")
	if rec.Code != 404 || !strings.Contains(rec.Body.String(), "NOT_FOUND") {
		t.Errorf("GET of an unknown route with a wrong credential: %d %s, want 404 NOT_FOUND", rec.Code, rec.Body)
	}
	if _, n := w.audit.lastRecord(); n != 0 {
		t.Errorf("an unknown route left %d records in the audit log, want none", n)
	}
}

// TestGateThatFails checks that no caller is admitted if the Gate fails to authenticate.
func TestGateThatFails(t *testing.T) {
	w := newWorld()
	w.gate.err = errDisk
	rec := sendRequest(newServer(t, w.serverOptions()), http.MethodGet, "/api/repos", "", "owner")
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "fire") {
		t.Errorf("a request whose authentication fails: %d %s, want 500 without the reason", rec.Code, rec.Body)
	}
}

// TestEveryActionIsWrittenDown checks that every route with an action leaves one record,
// with the caller and the result, and that the records of completed changes are durable.
func TestEveryActionIsWrittenDown(t *testing.T) {
	w := closedWorld()
	s := newServer(t, without429(w.serverOptions()))
	for _, rt := range s.Access() {
		_, before := w.audit.lastRecord()
		durable := w.audit.durable
		credential, user := "owner", account.UserID("u1")
		if rt.Access == api.AccessOperator {
			credential, user = "operator", ""
		}
		rec := sendRequest(s, rt.Method, fillPath(rt.Path), "{}", credential)
		got, after := w.audit.lastRecord()
		if rt.Action == "" {
			if after != before {
				t.Errorf("%s %s left %+v", rt.Method, rt.Path, got)
			}
			continue
		}
		if after != before+1 || string(got.Action) != rt.Action || got.Actor.User != user || got.RequestID != rec.Header().Get("X-Request-Id") ||
			got.TargetType == "" || got.At.IsZero() || (w.audit.durable > durable) != (rt.Changes && (rt.Stream || rec.Code < 400)) {
			t.Errorf("%s %s: %d records, the last %+v, durable %v", rt.Method, rt.Path, after-before, got, w.audit.durable > durable)
		}
		if !rt.Stream && got.Status != rec.Code {
			t.Errorf("%s %s: status %d in the record of a %d", rt.Method, rt.Path, got.Status, rec.Code)
		}
	}
}

// TestTargets checks the targets of audit records.
func TestTargets(t *testing.T) {
	w := newWorld()
	s := newServer(t, w.serverOptions())
	for _, c := range []struct {
		method, path, body string
		kind               audit.TargetType
		target             string
		metadata           map[string]string
	}{
		{"POST", "/api/search", `{"query":"boil","matches":1}`, audit.TargetInstance, "", map[string]string{"query": "boil"}},
		{"POST", "/api/stream_search", `{"query":"boil","matches":1}`, audit.TargetInstance, "", map[string]string{"query": "boil"}},
		{"POST", "/api/find_references", `{"symbolName":"Boil","repoName":"x"}`, audit.TargetInstance, "", map[string]string{"symbol": "Boil", "repo": "x"}},
		{"GET", "/api/symbols?repo=github.com/meadow/kettle&prefix=boi", "", audit.TargetRepository, "github.com/meadow/kettle", map[string]string{"prefix": "boi", "repo": "github.com/meadow/kettle"}},
		{"GET", "/api/find_files?query=boil", "", audit.TargetInstance, "", map[string]string{"query": "boil"}},
		{"GET", "/api/repos?query=ket", "", audit.TargetInstance, "", map[string]string{"query": "ket"}},
		{"GET", "/api/repos/42/status", "", audit.TargetRepository, "github.com/meadow/kettle", nil},
		{"DELETE", "/api/repos/42", "", audit.TargetRepository, "github.com/meadow/kettle", nil},
		{"POST", "/api/repos", `{"cloneUrl":"https://h/o/n.git"}`, audit.TargetRepository, "h/o/n", nil},
		{"GET", "/api/source?repo=github.com/meadow/kettle&path=a/b.go&ref=v1", "", audit.TargetFile, "github.com/meadow/kettle:a/b.go", map[string]string{"ref": "v1"}},
		{"GET", "/api/diff?repo=no/such&base=v1&head=v2", "", audit.TargetRepository, "no/such", map[string]string{"base": "v1", "head": "v2"}},
		{"POST", "/api/tree", `{"repoName":"github.com/meadow/kettle","revisionName":"v1","paths":[]}`, audit.TargetRepository, "github.com/meadow/kettle", map[string]string{"ref": "v1"}},
		{"GET", "/api/folder_contents?repoName=github.com/meadow/kettle&revisionName=v1&path=a", "", audit.TargetFile, "github.com/meadow/kettle:a", map[string]string{"ref": "v1"}},
		{"GET", "/api/deadletters/1/4", "", audit.TargetOperation, "/api/deadletters/1/4", nil},
	} {
		rec := sendRequest(s, c.method, c.path, c.body, "")
		got, _ := w.audit.lastRecord()
		if got.TargetType != c.kind || got.Target != c.target || !mapsEqual(got.Metadata, c.metadata) || got.Status != rec.Code {
			t.Errorf("%s %s (%d): %+v", c.method, c.path, rec.Code, got)
		}
	}
}

func mapsEqual(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range b {
		if a[k] != v {
			return false
		}
	}
	return true
}

// TestAuditLogIsOut checks that without an audit record no data is returned and no change
// is reported as made.
func TestAuditLogIsOut(t *testing.T) {
	w := newWorld()
	w.audit.err = fmt.Errorf("%w: the log is full", failure.ErrUnavailable)
	s := newServer(t, w.serverOptions())
	for _, c := range [][3]string{
		{"GET", "/api/repos", ""},
		{"DELETE", "/api/repos/42", ""},
		{"POST", "/api/verifications", "{}"},
		{"GET", "/api/source?repo=github.com/meadow/kettle&path=a", ""},
	} {
		rec := sendRequest(s, c[0], c[1], c[2], "")
		changed := c[0] == "DELETE" // a verification has not begun
		if rec.Code != 503 || strings.Contains(rec.Body.String(), "change was made") != changed || strings.Contains(rec.Body.String(), "kettle") {
			t.Errorf("%s %s: %d %s, want 503 that says whether a change was made (%v), without names", c[0], c[1], rec.Code, rec.Body, changed)
		}
	}
	if rec := sendRequest(s, "GET", "/api/repos", "", "wrong"); rec.Code != 401 {
		t.Errorf("a refusal became %d, want 401", rec.Code)
	}
}

// TestNothingIsChangedOnAFullDisk checks that every change is refused before it is made,
// and recorded as refused, and that all other requests work.
func TestNothingIsChangedOnAFullDisk(t *testing.T) {
	w := closedWorld()
	o := without429(w.serverOptions())
	o.Writable = func() error { return errors.New("the disk has 3 MiB left") }
	o.Removable = o.Writable
	s := newServer(t, o)
	for _, rt := range s.Access() {
		rec := sendRequest(s, rt.Method, fillPath(rt.Path), "{}", "owner")
		refused := rec.Code == 503 && strings.Contains(rec.Body.String(), "nothing was changed: the disk has 3 MiB left")
		malformed := rt.Changes && rec.Code >= 400 && rec.Code < 500
		if !malformed && refused != rt.Changes {
			t.Errorf("%s %s on a full disk: %d %s, want it refused: %v", rt.Method, rt.Path, rec.Code, rec.Body, rt.Changes)
		}
	}
	if w.audit.durable != 0 {
		t.Errorf("%d changes in the audit log", w.audit.durable)
	}

	// A removal frees space.
	o.Removable = func() error { return nil }
	s = newServer(t, o)
	for _, rt := range s.Access() {
		rec := sendRequest(s, rt.Method, fillPath(rt.Path), "{}", "owner")
		if rt.Method == "DELETE" && rt.Path == "/api/repos/{repoId}" && rec.Code == 503 {
			t.Errorf("a removal on a full disk: %d %s", rec.Code, rec.Body)
		}
		if rt.Method == "POST" && rt.Path == "/api/repos/{repoId}/refresh" && rec.Code != 503 {
			t.Errorf("a refresh on a full disk: %d %s", rec.Code, rec.Body)
		}
	}
}

// TestRefusalsAreWrittenDown checks that each refused credential is recorded, and of
// other refusals a bounded number.
func TestRefusalsAreWrittenDown(t *testing.T) {
	w := closedWorld()
	s := newServer(t, without429(w.serverOptions()))
	count := func(action audit.Action) (n int) {
		for _, rec := range w.audit.records {
			if rec.Action == action {
				n++
			}
		}
		return n
	}
	for range 50 {
		sendRequest(s, "GET", "/api/repos", "", "wrong")
		sendRequest(s, "POST", "/api/repos", "{}", "member")
	}
	if n := count(audit.CredentialRefused); n != 50 {
		t.Errorf("%d records of 50 refused credentials", n)
	}
	if n := count(audit.RequestDenied); n < 20 || n > 25 {
		t.Errorf("%d records of 50 denied requests, want about 20", n)
	}
	first := w.audit.records[0]
	if first.Actor.Kind != account.ActorAnonymous || first.Actor.Address != "192.0.2.1" || first.Status != 401 || first.Metadata["route"] != "GET /api/repos" {
		t.Errorf("record %+v", first)
	}
	if denied := w.audit.records[1]; denied.Actor.User != "u2" || denied.Status != 403 {
		t.Errorf("record %+v", denied)
	}
	if slices.ContainsFunc(w.audit.records, func(rec audit.Record) bool { return strings.Contains(rec.Target+rec.Metadata["route"], "wrong") }) {
		t.Error("a record tells the credential")
	}
}
