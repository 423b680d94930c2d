package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestDeadHostDelaysOnlyItsRepository registers a repository whose host is down before
// another one in the same partition. A caller who waits for the position of the second
// one sees its outcome, although the worker still waits for the host of the first one.
func TestDeadHostDelaysOnlyItsRepository(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kettle")
	g.commitFiles("a.txt", "a\n")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir), "git.allowedProtocols=http,file", "git.allowedNetworks=127.0.0.0/8", "log.partitions=1", "pipeline.hostPatience=10h"))
	// Over the API, it would be refused.
	number, at, err := s.registrar.Register(t.Context(), code.Repository{ID: code.NewRepositoryID("test", "dead"), Kind: code.GenericGitHost, Name: "dead", CloneURL: closed.URL + "/dead.git"})
	if err != nil {
		t.Fatal(err)
	}
	dead := registration{RepoID: uint64(number)}
	dead.Position.Offset = float64(at.Offset)
	awaitStatus(t, s, dead.RepoID, func(status map[string]any) bool { return status["lastError"] != nil })
	for i, body := range []string{fmt.Sprintf(`{"path":%q,"name":"kettle"}`, g.dir), fmt.Sprintf(`{"path":%q}`, g.dir)} {
		var r registration
		if status := postJSON(t, s.URL()+"/api/repos", body, &r); status != http.StatusAccepted {
			t.Fatalf("register: %d %s", status, r.Message)
		}
		if status := awaitStatus(t, s, r.RepoID, r.isApplied); status["state"] != "indexed" || status["files"] != 1.0 {
			t.Errorf("registration %d: once its position is applied, the status is %v", i, status)
		}
	}
	if status := awaitStatus(t, s, dead.RepoID, func(map[string]any) bool { return true }); dead.isApplied(status) {
		t.Errorf("the registration of the repository whose host is down is applied: %v", status)
	}
}
