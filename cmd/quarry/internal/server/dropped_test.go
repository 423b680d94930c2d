package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// droppedWord occurs in a commit that a forced push drops, and in its message.
const droppedWord = "droppedcanaryword"

// TestDroppedCommitIsNotServed drops a commit with a forced push. It requests the commit
// by its full ID, by an abbreviation, as an ancestor, and as a base in every parameter
// that takes a revision: the responses equal those for a commit that does not exist.
// Commits that the branch still reaches are served by their ID.
func TestDroppedCommitIsNotServed(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "dropping")
	first := g.commitFiles("a.txt", "first\n")
	g.commitFiles("a.txt", droppedWord+"\n")
	g.runGitCommand("commit", "--quiet", "--amend", "--message", droppedWord)
	dropped := code.CommitID(g.runGitCommand("rev-parse", "HEAD"))
	onTop := g.commitFiles("b.txt", "on top\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir)))
	s.registerAt(t, g, onTop)
	if status, answer := askFor(t, s, http.MethodGet, commitPaths(g.Name, string(dropped), string(first))[0], ""); status != http.StatusOK || !strings.Contains(answer, droppedWord) {
		t.Fatalf("a commit that the branch reaches: %d %s", status, answer)
	}

	g.runGitCommand("reset", "--quiet", "--hard", string(first))
	head := g.commitFiles("a.txt", "rewritten\n")
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == head })
	nowhere := strings.Repeat("0123456789", 4)
	for _, name := range []string{string(dropped), string(dropped)[:12], string(onTop) + "~1", string(onTop)} {
		unknown := nowhere[:min(len(name), 40)] + name[min(len(name), 40):]
		asUnknown := func(method, path, body string) {
			t.Helper()
			status, answer := askFor(t, s, method, path, body)
			want, wantAnswer := askFor(t, s, method, strings.ReplaceAll(path, name, unknown), strings.ReplaceAll(body, name, unknown))
			if status < 400 || status != want || strings.Contains(answer, droppedWord) || strings.ReplaceAll(answer, name, unknown) != wantAnswer {
				t.Errorf("%s %s %s: %d %.300s; for a commit that is nowhere: %d %.300s", method, path, body, status, answer, want, wantAnswer)
			}
		}
		for _, path := range commitPaths(g.Name, name, string(first)) {
			asUnknown(http.MethodGet, path, "")
		}
		asUnknown(http.MethodPost, "/api/tree", fmt.Sprintf(`{"repoName":%q,"revisionName":%q,"paths":[]}`, g.Name, name))
		asUnknown(http.MethodPost, "/api/files", fmt.Sprintf(`{"repoName":%q,"revisionName":%q}`, g.Name, name))
		for tool, arguments := range map[string]string{
			"read_file": `"path":"a.txt","ref":%q`, "list_tree": `"ref":%q`, "list_commits": `"ref":%q`, "get_blame": `"path":"a.txt","ref":%q`,
			"get_diff": `"base":"main~1","head":%q`, "get_commit": `"ref":%q`,
		} {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"repo":%q,`+arguments+`}}}`, tool, g.Name, name)
			if _, answer := askFor(t, s, http.MethodPost, "/api/mcp", body); strings.Contains(answer, droppedWord) || !strings.Contains(answer, `"isError":true`) && !strings.Contains(answer, `"error"`) {
				t.Errorf("tool %s at %s: %.300s", tool, name, answer)
			}
		}
	}
	for _, name := range []string{string(first), string(first)[:12], string(head), string(head) + "~1", "main~1"} {
		for _, path := range commitPaths(g.Name, name, string(first)) {
			if status, answer := askFor(t, s, http.MethodGet, path, ""); status != http.StatusOK {
				t.Errorf("GET %s, which the branch reaches: %d %.300s", path, status, answer)
			}
		}
	}
}

// TestOwnersMayServeDroppedCommits sets the option to serve commits that no branch
// reaches.
func TestOwnersMayServeDroppedCommits(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "keeping")
	first := g.commitFiles("a.txt", "first\n")
	dropped := g.commitFiles("a.txt", droppedWord+"\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir), "git.serveUnreachable=true"))
	s.registerAt(t, g, dropped)
	g.runGitCommand("reset", "--quiet", "--hard", string(first))
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == first })
	if status, answer := askFor(t, s, http.MethodGet, commitPaths(g.Name, string(dropped), string(first))[0], ""); status != http.StatusOK || !strings.Contains(answer, droppedWord) {
		t.Errorf("%d %s", status, answer)
	}
}

// commitPaths returns the addresses that show something at a revision. The first one
// returns the text of a.txt.
func commitPaths(repository, name, base string) []string {
	q := func(pairs ...string) string {
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v.Encode()
	}
	escaped := url.PathEscape(name)
	return []string{
		"/api/source?" + q("repo", repository, "path", "a.txt", "ref", name),
		"/api/folder_contents?" + q("repoName", repository, "revisionName", name, "path", ""),
		"/api/commits?" + q("repo", repository, "ref", name),
		"/api/commits/authors?" + q("repo", repository, "ref", name),
		"/api/commit?" + q("repo", repository, "ref", name),
		"/api/diff?" + q("repo", repository, "base", base, "head", name),
		"/api/diff?" + q("repo", repository, "base", name, "head", base),
		"/api/blame?" + q("repo", repository, "path", "a.txt", "ref", name),
		"/browse/" + repository + "@" + escaped + "/-/blob/a.txt",
		"/browse/" + repository + "@" + escaped + "/-/tree/",
	}
}

// askFor returns the status and body of an anonymous request.
func askFor(t *testing.T, s *Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if json.Compact(&indented, raw) == nil {
		return response.StatusCode, indented.String()
	}
	return response.StatusCode, string(raw)
}
