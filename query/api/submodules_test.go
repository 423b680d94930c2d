package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// moduleGit is a repository whose directory lib has a submodule for each row of moduleCases.
type moduleGit struct {
	failingGit
	modules string
	content error
}

// pinned is the commit that the submodules point to.
const pinned = code.CommitID("5555555555555555555555555555555555555555")

func (g *moduleGit) Directories(context.Context, code.RepositoryID, code.CommitID, []string, int) (map[string][]source.Entry, error) {
	entries := []source.Entry{{Name: "a.go", Kind: source.KindBlob}}
	for _, c := range moduleCases {
		entries = append(entries, source.Entry{Name: c.name, Kind: source.KindCommit, Commit: pinned})
	}
	return map[string][]source.Entry{"": {{Name: "lib", Kind: source.KindTree}}, "lib": entries}, nil
}

func (g *moduleGit) Content(_ context.Context, _ code.RepositoryID, _ code.CommitID, path string, most int64) ([]byte, error) {
	if path != ".gitmodules" || g.content != nil {
		return nil, g.content
	}
	if int64(len(g.modules)) > most {
		return nil, source.ErrTooLarge
	}
	return []byte(g.modules), nil
}

// moduleCases are URLs in .gitmodules of github.com/meadow/kettle, with the API's
// results.
var moduleCases = []struct{ name, url, clone, repository string }{
	{"absolute", "https://github.com/meadow/kettle", "https://github.com/meadow/kettle", "github.com/meadow/kettle"},
	{"ssh", "git@github.com:meadow/kettle.git", "ssh://git@github.com/meadow/kettle.git", "github.com/meadow/kettle"},
	{"relative", "../kettle.git", "https://github.com/meadow/kettle.git", "github.com/meadow/kettle"},
	{"climbing", "./../../meadow/kettle", "https://github.com/meadow/kettle", "github.com/meadow/kettle"},
	{"hidden", "/srv/git/Bare", "/srv/git/Bare", "srv/git/Bare"},
	{"unknown", "https://git.example/x.git", "https://git.example/x.git", ""},
	{"metadata", "http://169.254.169.254/latest/meta-data", "http://169.254.169.254/latest/meta-data", ""},
	{"password", "https://ann:hunter2@git.example/y.git", "https://git.example/y.git", ""},
	{"program", "ext::sh -c id", "", ""},
	{"option", "-u./payload", "", ""},
	{"above", "../../../etc/passwd", "", ""},
	{"again", "../x/../../kettle", "", ""},
	{"file", "file:///etc/passwd", "file:///etc/passwd", ""},
	{"control", "https://git.example/a\\nb", "", ""},
	{"script", "javascript:alert(1)", "ssh://javascript/alert%281%29", ""},
	{"address", "git@[::1]:x", "", ""},
	{"long", "https://git.example/" + strings.Repeat("a", code.MaxURLBytes), "", ""},
	{"nowhere", "", "", ""},
}

// modulesText returns a .gitmodules file with moduleCases.
func modulesText() string {
	var b strings.Builder
	for _, c := range moduleCases {
		b.WriteString("[submodule \"" + c.name + "\"]\n\tpath = lib/" + c.name + "\n\turl = \"" + c.url + "\"\n")
	}
	return b.String()
}

// TestSubmodules lists submodules as an owner, who may read both repositories, and as a
// member, who may read one.
func TestSubmodules(t *testing.T) {
	w := newWorld()
	w.gate.invisible = map[string]bool{bare.Name: true}
	git := &moduleGit{modules: modulesText()}
	o := without429(w.serverOptions())
	o.Source = newBrowser(git)
	s := newServer(t, o)
	type item struct {
		Name      string `json:"name"`
		Submodule *struct {
			Commit, CloneURL, RepoName, WebURL string
		} `json:"submodule"`
	}
	list := func(credential string) (text string, items map[string]item) {
		t.Helper()
		rec := sendRequest(s, http.MethodGet, "/api/folder_contents?repoName=github.com/meadow/kettle&revisionName=trunk&path=lib", "", credential)
		var all []item
		if err := json.Unmarshal(rec.Body.Bytes(), &all); rec.Code != http.StatusOK || err != nil || len(all) != 1+len(moduleCases) {
			t.Fatalf("%d %.300s: %v", rec.Code, rec.Body, err)
		}
		items = map[string]item{}
		for _, i := range all {
			items[i.Name] = i
		}
		return rec.Body.String(), items
	}
	for _, credential := range []string{"owner", "member"} {
		text, items := list(credential)
		for _, c := range moduleCases {
			got, repository, page := items[c.name].Submodule, c.repository, ""
			if credential == "member" && repository == bare.Name {
				repository = ""
			}
			if repository != "" {
				page = "/browse/" + repository + "@" + string(pinned) + "/-/tree/"
			}
			if got == nil || got.Commit != string(pinned) || got.CloneURL != c.clone || got.RepoName != repository || !strings.HasSuffix(got.WebURL, page) || (got.WebURL == "") != (page == "") {
				t.Errorf("%s, %.80q: %+v, want %q in %q", credential, c.url, got, c.clone, repository)
			}
		}
		if items["a.go"].Submodule != nil || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", credential, text)
		}
	}
	// A file that is invalid, too large, or cannot be read now.
	for _, broken := range []*moduleGit{{modules: "[submodule"}, {modules: strings.Repeat("# \n", 1<<20)}, {content: source.ErrNoPath}} {
		git.modules, git.content = broken.modules, broken.content
		if _, items := list("owner"); items["absolute"].Submodule == nil || items["absolute"].Submodule.CloneURL != "" {
			t.Errorf("%.20q, %v: %+v", broken.modules, broken.content, items["absolute"].Submodule)
		}
	}
	git.content = source.ErrUnavailable
	if _, items := list("owner"); items["absolute"].Submodule != nil {
		t.Errorf("without a mirror: %+v", items["absolute"].Submodule)
	}
}
