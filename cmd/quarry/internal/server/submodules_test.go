package server

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// TestSubmodulesLeadToTheirCommits follows the submodule links of a tree to the recorded
// commit of another repository, which has newer commits.
func TestSubmodulesLeadToTheirCommits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	makeRepository := func(name, stream string) (dir, head string) {
		dir = filepath.Join(root, name)
		runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
		runGit(t, bytes.NewReader([]byte(stream)), "-C", dir, "fast-import", "--quiet")
		return dir, runGit(t, nil, "-C", dir, "rev-parse", "main~1")
	}
	commit := func(text string) string {
		return "commit refs/heads/main\ncommitter A <a@example.org> 1767229200 +0000\ndata 1\nx\n" + text + "\n"
	}
	tool, then := makeRepository("tool.git", commit("M 100644 inline then.txt\ndata 6\nspoon\n")+commit("D then.txt\nM 100644 inline now.txt\ndata 5\nfork\n"))
	modules := "[submodule \"a\"]\n\tpath = lib/tool\n\turl = ../tool.git\n[submodule \"b\"]\n\tpath = lib/other\n\turl = https://ann:hunter2@git.example/<other>.git\n"
	whole, _ := makeRepository("whole.git", commit("M 100644 inline a.txt\ndata 2\na\n")+commit(fmt.Sprintf("M 100644 inline .gitmodules\ndata %d\n%s\nM 160000 %s lib/tool\nM 160000 %s lib/other\nM 160000 %s lib/unnamed\n", len(modules), modules, then, then, then)))
	s := runServer(t, testConfig(t, "git.allowedRoots="+root, "publicUrl=https://code.example", "access.anonymous=on"))
	for name, dir := range map[string]string{"tool": tool, "whole": whole} {
		var r registration
		if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":%q}`, dir, name), &r); status != http.StatusAccepted {
			t.Fatalf("register %s: %d %s", name, status, r.Message)
		}
		awaitStatus(t, s, r.RepoID, r.isApplied)
	}
	page := source.Address{Repository: "tool", Revision: then, Kind: source.PageTree}.String()
	address := func(kind source.PageKind, path string) string {
		return source.Address{Repository: "whole", Kind: kind, Path: path}.String()
	}
	for _, c := range []struct{ path, want, refused string }{
		{"/api/folder_contents?repoName=whole&revisionName=main&path=lib", `"submodule":{"commit":"` + then + `","cloneUrl":"` + tool + `","repoName":"tool","webUrl":"https://code.example` + page + `"}`, "hunter2"},
		{address(source.PageTree, "lib"), `href="` + page + `"`, "hunter2"},
		{address(source.PageBlob, "lib/tool"), `href="` + page + `"`, "register that one"},
		{address(source.PageBlob, "lib/other"), "https://git.example/%3Cother%3E.git", "hunter2"},
		{address(source.PageBlob, "lib/unnamed"), "register that one", "git.example"},
		{page, "then.txt", "now.txt"},
	} {
		status, body := getURL(t, s.URL()+c.path)
		if status != http.StatusOK || !strings.Contains(body, c.want) || strings.Contains(body, c.refused) {
			t.Errorf("%s: %d, want %q and no %q: %.4000s", c.path, status, c.want, c.refused, body)
		}
	}
}

// TestPinnedCommitsAreSearchable finds the commit of a submodule only by its ID, loses it
// when a forced push drops it, and finds it again when a branch leads to it.
func TestPinnedCommitsAreSearchable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tool, parent := newGitRepositoryIn(t, root, "tool"), newGitRepositoryIn(t, root, "parent")
	pinned := tool.commitFiles("then.txt", "spoon\n")
	tool.runGitCommand("rm", "--quiet", "then.txt")
	tool.commitFiles("now.txt", "fork\n")
	if err := os.MkdirAll(filepath.Join(parent.dir, "lib", "tool"), 0o755); err != nil { // or git would remove the entry
		t.Fatal(err)
	}
	parent.runGitCommand("update-index", "--add", "--cacheinfo", "160000,"+string(pinned)+",lib/tool")
	parent.commitFiles(".gitmodules", "[submodule \"a\"]\n\tpath = lib/tool\n\turl = ../tool\n")
	file := connectionsFile(t, root, "  - {name: shelf, kind: genericGitHost, submodules: true, discover: {repos: [\"file://"+root+"/*\"]}}\n")
	c, _, err := config.Loader{File: file, Set: []string{"data=" + filepath.Join(t.TempDir(), "data"), "listen=127.0.0.1:0"}}.Load()
	if err != nil {
		t.Fatal(err)
	}
	c.FitMemory(2<<30, 4)
	s := runServer(t, &c)
	webURL := ""
	search := func(query string) (files []string) {
		var answer struct {
			Files []struct {
				FileName struct{ Text string }
				WebURL   string
			}
		}
		if status := postJSON(t, s.URL()+"/api/search", fmt.Sprintf(`{"query":%q,"matches":10}`, query), &answer); status != http.StatusOK {
			t.Fatalf("search %s: %d", query, status)
		}
		for _, f := range answer.Files {
			files, webURL = append(files, f.FileName.Text), f.WebURL
		}
		return files
	}
	byCommit := "spoon rev:" + string(pinned)
	isFound := func() bool { return slices.Equal(search(byCommit), []string{"then.txt"}) }
	waitUntil(t, isFound)
	if status, body := getURL(t, webURL); status != http.StatusOK || !strings.Contains(webURL, "@"+string(pinned)+"/") || !strings.Contains(body, "spoon") {
		t.Errorf("%s: %d %.2000s", webURL, status, body)
	}
	for query, want := range map[string]int{
		"spoon rev:" + string(pinned[:9]):          1,
		"spoon rev:" + string(code.PinRef(pinned)): 1,
		"spoon":           0,
		"spoon rev:*":     0,
		"spoon rev:pins":  0,
		"spoon -rev:main": 0,
		"spoon (rev:main or rev:" + string(pinned) + ")": 1,
		"fork": 1,
	} {
		if found := search(query); len(found) != want {
			t.Errorf("%s: found %v, want %d files", query, found, want)
		}
	}
	known, err := s.repositories.Find(t.Context(), code.Repository{CloneURL: tool.CloneURL})
	if err != nil {
		t.Fatal(err)
	}
	page := source.Address{Repository: known.Name, Revision: string(pinned), Kind: source.PageTree}.String()
	if status, body := getURL(t, s.URL()+page); status != http.StatusOK || !strings.Contains(body, "then.txt") || strings.Contains(body, "refs/quarry/pins") {
		t.Errorf("page at the commit: %d %.2000s", status, body)
	}
	for _, remote := range []bool{false, true} {
		if found := verifyNow(t, s, verification.Request{Remote: remote}); len(found.lines) != 0 {
			t.Errorf("verify with remote %t: %q", remote, found.lines)
		}
	}

	// The history is replaced: the commit must be gone with it, at once.
	tool.runGitCommand("checkout", "--quiet", "--orphan", "fresh")
	tool.commitFiles("now.txt", "knife\n")
	tool.runGitCommand("branch", "--quiet", "--force", "main", "fresh")
	tool.runGitCommand("checkout", "--quiet", "main")
	if _, err := s.registrar.Refresh(t.Context(), known.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return len(search("knife")) == 1 })
	waitUntil(t, func() bool { return len(search(byCommit)) == 0 })

	// A branch leads to it again.
	tool.runGitCommand("reset", "--quiet", "--hard", string(pinned))
	tool.commitFiles("now.txt", "ladle\n")
	if _, err := s.registrar.Refresh(t.Context(), known.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, isFound)
}
