package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// asOperator sends a request as the operator.
func (s *Server) asOperator(t testing.TB, method, path, body, id string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(s.o.Config.Data, operator.FileName))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("X-Request-Id", id)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// item is an audit entry as the API returns it.
type item struct {
	ID, Action, ActorID, ActorType, TargetID, TargetType string
	Metadata                                             map[string]string
}

// listAuditEntries returns all entries, newest first.
func (s *Server) listAuditEntries(t testing.TB) (items []item) {
	t.Helper()
	status, body := s.asOperator(t, http.MethodGet, "/api/ee/audit?perPage=100", "", "looking")
	if err := json.Unmarshal([]byte(body), &items); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return items
}

// asked is a request and its expected entry. An empty target matches any target.
type asked struct{ method, path, body, action, targetType, target string }

// requestsOf returns one request for each endpoint that reads or changes something other
// than accounts.
func requestsOf(g *gitRepository, first, second string) []asked {
	id := g.ID.String()
	return []asked{
		{"POST", "/api/search", `{"query":"Boil","matches":10}`, "user.performed_code_search", "org", "1"},
		{"POST", "/api/stream_search", `{"query":"Boil","matches":10}`, "user.performed_code_search", "org", "1"},
		{"POST", "/api/find_definitions", `{"symbolName":"Boil"}`, "user.performed_goto_definition", "org", "1"},
		{"POST", "/api/find_references", `{"symbolName":"Boil"}`, "user.performed_find_references", "org", "1"},
		{"POST", "/api/find_implementations", `{"symbolName":"Boil"}`, "user.performed_find_references", "org", "1"},
		{"POST", "/api/hover", `{"symbolName":"Boil"}`, "user.performed_goto_definition", "org", "1"},
		{"GET", "/api/symbols?repo=kettle", "", "user.performed_code_search", "repo", "kettle"},
		{"GET", "/api/find_files?query=main", "", "user.performed_code_search", "org", "1"},
		{"GET", "/api/repos", "", "user.listed_repos", "org", "1"},
		{"GET", "/api/connections", "", "user.listed_connections", "org", "1"},
		{"GET", "/api/repos/" + id + "/status", "", "user.read_repo", "repo", "kettle"},
		{"GET", "/api/repos/" + id + "/skipped", "", "user.read_repo", "repo", ""},
		{"GET", "/api/repos/" + id + "/scip", "", "user.read_repo", "repo", "kettle"},
		{"POST", "/api/repos/" + id + "/scip?commit=" + first, "no index", "repo.scip_uploaded", "repo", "kettle"},
		{"DELETE", "/api/repos/" + id + "/scip/" + strings.Repeat("0", 32), "", "repo.scip_deleted", "repo", "kettle"},
		{"GET", "/api/source?repo=kettle&path=main.go", "", "user.fetched_file_source", "file", "kettle:main.go"},
		{"GET", "/api/blame?repo=kettle&path=main.go", "", "user.fetched_file_blame", "file", "kettle:main.go"},
		{"POST", "/api/tree", `{"repoName":"kettle","revisionName":"main","paths":[]}`, "user.fetched_file_tree", "repo", "kettle"},
		{"POST", "/api/files", `{"repoName":"kettle","revisionName":"main"}`, "user.fetched_file_tree", "repo", "kettle"},
		{"GET", "/api/folder_contents?repoName=kettle&revisionName=main&path=", "", "user.fetched_file_tree", "", ""},
		{"GET", "/api/commits?repo=kettle", "", "user.listed_commits", "repo", "kettle"},
		{"GET", "/api/commits/authors?repo=kettle", "", "user.listed_commit_authors", "repo", "kettle"},
		{"GET", "/api/commit?repo=kettle&ref=main", "", "user.fetched_commit", "repo", "kettle"},
		{"GET", "/api/diff?repo=kettle&base=" + first + "&head=" + second, "", "user.fetched_diff", "repo", "kettle"},
		{"GET", "/api/deliveries", "", "operations.read", "operation", "/api/deliveries"},
		{"GET", "/api/deadletters", "", "operations.read", "operation", "/api/deadletters"},
		{"GET", "/api/replays", "", "operations.read", "operation", "/api/replays"},
		{"GET", "/api/ee/audit", "", "audit.fetch", "org", "1"},
		{"GET", "/api/ee/users", "", "user.list", "", ""},
		{"GET", "/api/invitations", "", "user.list", "", ""},
		{"GET", "/api/repos/" + id + "/access", "", "user.read_repo", "", ""},
		{"GET", "/api/ee/audit/head", "", "audit.fetch", "org", "1"},
		{"GET", "/api/ee/audit/export", "", "audit.fetch", "org", "1"},
		{"POST", "/api/ee/audit/verifications", `{}`, "audit.verify", "org", "1"},
		{"POST", "/api/repos/" + id + "/refresh", "", "repo.reindex_requested", "repo", "kettle"},
		{"GET", "/api/erasures", "", "operations.read", "operation", "/api/erasures"},
		{"POST", "/api/repos/" + id + "/erase", `{"commit":"` + second + `"}`, "repo.erased", "repo", "kettle"},
		{"DELETE", "/api/repos/" + id, "", "repo.removed", "repo", "kettle"},
	}
}

// TestEveryRequestIsWrittenDown calls each endpoint once, and finds one entry for each,
// with actor, address and target.
func TestEveryRequestIsWrittenDown(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	g := newGitRepository(t, "kettle")
	c.Git.AllowedRoots = []string{filepath.Dir(g.dir)}
	s := runServer(t, c)
	first := g.commitFiles("main.go", "package main\n\nfunc Boil() {}\n")
	second := g.commitFiles("README.md", "# kettle\n")
	s.registerAt(t, g, second)
	requests, statuses := requestsOf(g, string(first), string(second)), map[string]int{}
	for i, r := range requests {
		id := fmt.Sprintf("request-%d", i)
		statuses[id], _ = s.asOperator(t, r.method, r.path, r.body, id)
	}
	byRequest := map[string][]item{}
	waitUntil(t, func() bool {
		clear(byRequest)
		for _, e := range s.listAuditEntries(t) {
			byRequest[e.Metadata["requestId"]] = append(byRequest[e.Metadata["requestId"]], e)
		}
		for id := range statuses {
			if len(byRequest[id]) == 0 {
				return false
			}
		}
		return true
	})
	for i, r := range requests {
		id := fmt.Sprintf("request-%d", i)
		if len(byRequest[id]) != 1 {
			t.Errorf("%s %s: %d entries, want 1", r.method, r.path, len(byRequest[id]))
			continue
		}
		e := byRequest[id][0]
		if e.Action != r.action || r.target != "" && e.TargetID != r.target || r.targetType != "" && e.TargetType != r.targetType {
			t.Errorf("%s %s: %+v", r.method, r.path, e)
		}
		if e.ActorType != "operator" || e.Metadata["address"] != "127.0.0.1" || e.Metadata["status"] != fmt.Sprint(statuses[id]) {
			t.Errorf("%s %s, answered %d: by %s, %v", r.method, r.path, statuses[id], e.ActorType, e.Metadata)
		}
	}
	if q := byRequest["request-0"][0].Metadata["query"]; q != "Boil" {
		t.Errorf("the search was for %q, want \"Boil\"", q)
	}
}

// TestRefusalsAreWrittenDown checks that each kind of refusal has one entry.
func TestRefusalsAreWrittenDown(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	post := func(path, body, bearer string) (status int, err error) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		response, err := (&http.Client{Transport: http.DefaultTransport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Body.Close()
	}
	for range 2 {
		if status, err := post("/api/auth/sign_in", `{"email":"a@example.com","password":"battery-staple"}`, ""); err != nil || status != http.StatusUnauthorized {
			t.Errorf("a wrong password: %d, %v, want %d, nil", status, err, http.StatusUnauthorized)
		}
	}
	if status, err := post("/api/search", `{"query":"x","matches":1}`, account.PrefixKey+strings.Repeat("0a", 32)); err != nil || status != http.StatusUnauthorized {
		t.Errorf("an unknown key: %d, %v, want %d, nil", status, err, http.StatusUnauthorized)
	}
	if status, err := post("/api/replays/rollback", "", ""); err != nil || status != http.StatusUnauthorized {
		t.Errorf("an anonymous change: %d, %v, want %d, nil", status, err, http.StatusUnauthorized)
	}
	want := map[string]int{"user.sign_in_failed": 2, "credential.refused": 1, "request.denied": 1}
	got := map[string]int{}
	waitUntil(t, func() bool {
		clear(got)
		for _, e := range s.listAuditEntries(t) {
			if _, ok := want[e.Action]; ok {
				got[e.Action]++
			}
			if e.Action == "user.sign_in_failed" && (e.TargetID != "a" || e.ActorType != "anonymous" || e.Metadata["address"] != "127.0.0.1") {
				t.Errorf("a sign-in that failed: %+v", e)
			}
		}
		return len(got) == len(want)
	})
	if !maps.Equal(got, want) {
		t.Errorf("entries %v, want %v", got, want)
	}
}

// TestChangesOfAccountsAreEntries checks that changes without effect have entries as
// well, and that the audit log verifies after a restart and a rebuild of the rows.
func TestChangesOfAccountsAreEntries(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "audit.sealEvery=1s")
	s := openOnly(t, c)
	stop := run(t, s)
	at := newUser("a", account.RoleOwner).At
	s.appendAccountEvents(t, newUser("a", account.RoleOwner), newUser("b", account.RoleMember))
	s.appendAccountEvents(t, &event.UserRemoved{User: "a", By: bySystem, At: at}, &event.UserRemoved{User: "b", By: bySystem, At: at})
	actions := func() string {
		var out []string
		for _, e := range s.listAuditEntries(t) {
			if strings.HasPrefix(e.ID, "accounts-") {
				out = append(out, strings.TrimSpace(e.ID+" "+e.Action+" "+e.TargetID+" "+e.Metadata["refused"]))
			}
		}
		slices.Sort(out)
		return strings.Join(out, "|")
	}
	want := "accounts-0-0 org.member_added a|accounts-1-0 org.member_added b|accounts-2-0 org.member_removed a last_owner|accounts-3-0 org.member_removed b"
	if got := actions(); got != want {
		t.Errorf("entries %s, want %s", got, want)
	}
	var body string
	waitUntil(t, func() bool {
		_, body = s.asOperator(t, http.MethodGet, "/api/ee/audit/head", "", "head")
		return strings.Count(body, "sealedAt") == 2
	})
	var heads struct{ Heads []struct{ Head string } }
	if err := json.Unmarshal([]byte(body), &heads); err != nil || len(heads.Heads) != 2 {
		t.Fatalf("%s: %v", body, err)
	}
	pins, err := json.Marshal(map[string][]string{"heads": {heads.Heads[0].Head, heads.Heads[1].Head}})
	if err != nil {
		t.Fatal(err)
	}
	sound := func() {
		t.Helper()
		_, body := s.asOperator(t, http.MethodPost, "/api/ee/audit/verifications", string(pins), "verify")
		if !strings.Contains(body, `"heads":2,"findings":0`) {
			t.Errorf("verified: %s", body)
		}
	}
	sound()
	stop()
	if err := os.RemoveAll(c.AccountsDir()); err != nil {
		t.Fatal(err)
	}
	s = openOnly(t, c)
	run(t, s)
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil && s.accounts.AwaitAll(t.Context()) == nil })
	sound()
	if got := actions(); got != want {
		t.Errorf("entries after a rebuild %s, want %s", got, want)
	}
}

// TestKeyHasOnePrefix compares the prefix of a key in the list of keys, in the audit log and
// in the value that the user received.
func TestKeyHasOnePrefix(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	status, body := s.asOperator(t, http.MethodPost, "/api/keys", `{"userId":"a","name":"ci","scopes":["search"]}`, "create")
	if status >= 300 {
		t.Fatalf("%d %s", status, body)
	}
	_, list := s.asOperator(t, http.MethodGet, "/api/keys?all=true", "", "list")
	listed := regexp.MustCompile(`"prefix":"([^"]+)"`).FindStringSubmatch(list)
	if listed == nil || !strings.Contains(body, `"`+listed[1]) {
		t.Fatalf("the list has the prefix %q, and the answer of the creation is %s", listed, body)
	}
	noted := ""
	for _, e := range s.listAuditEntries(t) {
		noted += e.Metadata["prefix"]
	}
	if noted != listed[1] {
		t.Errorf("the audit log has the prefix %q, the list %q", noted, listed[1])
	}
}

// noAudit records nothing.
type noAudit struct{}

// Note implements front.Auditor.
func (noAudit) Note(context.Context, audit.Record) error { return nil }

// Record implements front.Auditor.
func (noAudit) Record(context.Context, audit.Record) error { return nil }
