package server

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
)

// TestSubmodulesLeadToTheirCommits follows the submodule links of a tree to the recorded
// commit of another repository, which has newer commits.
func TestSubmodulesLeadToTheirCommits(t *testing.T) {
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
