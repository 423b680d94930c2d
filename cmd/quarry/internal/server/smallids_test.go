package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/account"
)

// idMembers lists the members of responses that identify a repository or a connection.
// IDs of other kinds are strings or count from 1.
var idMembers = map[string]bool{"id": true, "repoId": true, "repoIds": true, "repositoryId": true, "connectionId": true}

// smallIDs checks the IDs in responses and counts them by member.
type smallIDs struct {
	t    *testing.T
	seen map[string]int
}

// checkAnswer checks every JSON document of a response, which may be a stream.
func (s *smallIDs) checkAnswer(what, answer string) {
	s.t.Helper()
	for line := range strings.Lines(answer) {
		d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(line, "data: ")))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			s.walkValue(what, "", v)
		}
	}
}

func (s *smallIDs) walkValue(what, member string, v any) {
	s.t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if name != "event" { // a record in its stored form
				s.walkValue(what, name, value)
			}
		}
	case []any:
		for _, element := range v {
			s.walkValue(what, member, element)
		}
	case json.Number:
		if !idMembers[member] {
			return
		}
		s.seen[member]++
		exact, err1 := strconv.ParseFloat(v.String(), 64)
		narrow, err2 := strconv.ParseFloat(v.String(), 32)
		if _, err3 := strconv.ParseInt(v.String(), 10, 32); errors.Join(err1, err2, err3) != nil || narrow != exact {
			s.t.Errorf("%s: %s is %s, which no float32 and no int32 holds", what, member, v)
		}
	}
}

func (s *smallIDs) requireMembers(members ...string) {
	s.t.Helper()
	for _, member := range members {
		if s.seen[member] == 0 {
			s.t.Errorf("no answer has the member %s: the test looks at the wrong answers", member)
		}
	}
}

// TestIDsOfEveryOperationAreSmall calls every operation as an owner who sees everything.
func TestIDsOfEveryOperationAreSmall(t *testing.T) {
	t.Parallel()
	repositories := map[string]*written{}
	for _, mark := range marks {
		repositories[mark] = writeSecret(t, mark)
	}
	w := newSeenWorld(t, repositories, marks...)
	s := &smallIDs{t, map[string]int{}}
	ask := func(method string, row seenRow) {
		target, body := w.secrets["qzhid"], ""
		if row.changes {
			target = noSecret(target)
		}
		if row.body != nil {
			body = row.body(target)
		}
		path := row.path(target)
		s.checkAnswer(method+" "+path, w.sendRequest("owner", method, path, body).Body.String())
	}
	for name, row := range seenRows {
		method, _, _ := strings.Cut(name, " ")
		ask(method, row)
	}
	for _, row := range moreRows {
		method := http.MethodGet
		if row.body != nil {
			method = http.MethodPost
		}
		ask(method, row)
	}
	s.requireMembers("id", "repoId", "repositoryId")
}

// TestIDsOfChangesAreSmall registers, restricts, refreshes and removes repositories, and
// reads the records of these changes.
func TestIDsOfChangesAreSmall(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kettle")
	g.commitFiles("a.go", "package kettle\n")
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir))
	s := runServer(t, c)
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	ids := &smallIDs{t, map[string]int{}}
	key := ""
	ask := func(method, path, body string) map[string]any {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if key != "" {
			request.Header.Set("Authorization", "Bearer "+key)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s, %v", method, path, response.StatusCode, answer, err)
		}
		ids.checkAnswer(method+" "+path, string(answer))
		object := map[string]any{}
		_ = json.NewDecoder(bytes.NewReader(answer)).Decode(&object) // a list is not an object
		return object
	}
	ask("POST", "/api/repos", fmt.Sprintf(`{"path":%q,"name":"kettle"}`, g.dir))
	awaitStatus(t, s, 1, func(status map[string]any) bool { return status["state"] == "indexed" })
	for _, path := range []string{"/api/repos/1/status", "/api/repos", "/api/repos/1/access", "/api/deliveries", "/api/deliveries?repository=1"} {
		ask("GET", path, "")
	}
	ask("PUT", "/api/repos/1/access", `{"visibility":"private","members":["a"]}`)
	ask("POST", "/api/repos/1/refresh", "")
	ask("POST", "/api/repos/1/reindex", "")
	ask("POST", "/api/verifications", `{"repositories":["1"]}`)
	ask("POST", "/api/search", `{"query":"package","matches":10}`)
	made := ask("POST", "/api/keys", `{"userId":"a","name":"restricted","scopes":["search"],"repoIds":[1]}`)
	ask("GET", "/api/keys?all=true", "")
	key = made["key"].(string)
	ask("GET", "/api/auth/me", "")
	ask("POST", "/api/ee/scoped_access_token", `{"repoIds":[1]}`)
	key = ""
	ids.requireMembers("id", "repoId", "repoIds", "repositoryId")
	// An entry of the audit log contains the ID as a string.
	changes := 0
	for _, e := range s.listAuditEntries(t) {
		if e.Action != "repo.access_changed" {
			continue
		}
		if changes++; e.TargetID != "1" {
			t.Errorf("the target of %s is %q, want the number", e.Action, e.TargetID)
		}
	}
	if changes != 1 {
		t.Errorf("the audit log has %d changes of access, want 1", changes)
	}
	ask("DELETE", "/api/repos/1", "")
}
