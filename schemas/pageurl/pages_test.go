package pageurl_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

const commit = code.CommitID("0123456789abcdef0123456789abcdef01234567")

// links are the URLs on one host for the file "d r/a&b.go" and lines 3 to 7.
type links struct {
	kind                           code.HostKind
	web                            string
	root, file, lines, line        string // at the branch feature/x
	tagFile, commitFile, headFile  string
	tagRoot, commitRoot, commitURL string
}

// TestPages checks the pages of each kind of host, at a branch, a tag, a commit and the
// default branch.
func TestPages(t *testing.T) {
	const sha = string(commit)
	for _, want := range []links{
		{
			kind: code.GitHub, web: "https://github.com/o/r",
			root:    "https://github.com/o/r/tree/feature/x",
			file:    "https://github.com/o/r/blob/feature/x/d%20r/a&b.go",
			lines:   "https://github.com/o/r/blob/feature/x/d%20r/a&b.go#L3-L7",
			line:    "https://github.com/o/r/blob/feature/x/d%20r/a&b.go#L3",
			tagFile: "https://github.com/o/r/blob/v1/d%20r/a&b.go", commitFile: "https://github.com/o/r/blob/" + sha + "/d%20r/a&b.go",
			headFile: "https://github.com/o/r/blob/HEAD/d%20r/a&b.go",
			tagRoot:  "https://github.com/o/r/tree/v1", commitRoot: "https://github.com/o/r/tree/" + sha, commitURL: "https://github.com/o/r/commit/" + sha,
		},
		{
			kind: code.GitLab, web: "https://gitlab.example/g/s/r/",
			root:    "https://gitlab.example/g/s/r/-/tree/feature/x",
			file:    "https://gitlab.example/g/s/r/-/blob/feature/x/d%20r/a&b.go",
			lines:   "https://gitlab.example/g/s/r/-/blob/feature/x/d%20r/a&b.go#L3-7",
			line:    "https://gitlab.example/g/s/r/-/blob/feature/x/d%20r/a&b.go#L3",
			tagFile: "https://gitlab.example/g/s/r/-/blob/v1/d%20r/a&b.go", commitFile: "https://gitlab.example/g/s/r/-/blob/" + sha + "/d%20r/a&b.go",
			headFile: "https://gitlab.example/g/s/r/-/blob/HEAD/d%20r/a&b.go",
			tagRoot:  "https://gitlab.example/g/s/r/-/tree/v1", commitRoot: "https://gitlab.example/g/s/r/-/tree/" + sha, commitURL: "https://gitlab.example/g/s/r/-/commit/" + sha,
		},
		{
			kind: code.Gitea, web: "http://gitea.example:3000/sub/o/r",
			root:    "http://gitea.example:3000/sub/o/r/src/branch/feature/x",
			file:    "http://gitea.example:3000/sub/o/r/src/branch/feature/x/d%20r/a&b.go",
			lines:   "http://gitea.example:3000/sub/o/r/src/branch/feature/x/d%20r/a&b.go#L3-L7",
			line:    "http://gitea.example:3000/sub/o/r/src/branch/feature/x/d%20r/a&b.go#L3",
			tagFile: "http://gitea.example:3000/sub/o/r/src/tag/v1/d%20r/a&b.go", commitFile: "http://gitea.example:3000/sub/o/r/src/commit/" + sha + "/d%20r/a&b.go",
			headFile: "http://gitea.example:3000/sub/o/r/src/branch/HEAD/d%20r/a&b.go",
			tagRoot:  "http://gitea.example:3000/sub/o/r/src/tag/v1", commitRoot: "http://gitea.example:3000/sub/o/r/src/commit/" + sha, commitURL: "http://gitea.example:3000/sub/o/r/commit/" + sha,
		},
		{
			kind: code.AzureDevOps, web: "https://dev.azure.com/o/p/_git/r",
			root:    "https://dev.azure.com/o/p/_git/r?version=GBfeature/x",
			file:    "https://dev.azure.com/o/p/_git/r?path=/d%20r/a%26b.go&version=GBfeature/x",
			lines:   "https://dev.azure.com/o/p/_git/r?path=/d%20r/a%26b.go&version=GBfeature/x&line=3&lineEnd=8&lineStartColumn=1&lineEndColumn=1",
			line:    "https://dev.azure.com/o/p/_git/r?path=/d%20r/a%26b.go&version=GBfeature/x&line=3&lineEnd=4&lineStartColumn=1&lineEndColumn=1",
			tagFile: "https://dev.azure.com/o/p/_git/r?path=/d%20r/a%26b.go&version=GTv1", commitFile: "https://dev.azure.com/o/p/_git/r?path=/d%20r/a%26b.go&version=GC" + sha,
			headFile: "https://dev.azure.com/o/p/_git/r?path=/d%20r/a%26b.go",
			tagRoot:  "https://dev.azure.com/o/p/_git/r?version=GTv1", commitRoot: "https://dev.azure.com/o/p/_git/r?version=GC" + sha, commitURL: "https://dev.azure.com/o/p/_git/r/commit/" + sha,
		},
		{
			kind: code.BitbucketCloud, web: "https://bitbucket.org/w/r",
			root:    "https://bitbucket.org/w/r?at=feature/x",
			file:    "https://bitbucket.org/w/r/src/feature/x/d%20r/a&b.go",
			lines:   "https://bitbucket.org/w/r/src/feature/x/d%20r/a&b.go#lines-3:7",
			line:    "https://bitbucket.org/w/r/src/feature/x/d%20r/a&b.go#lines-3",
			tagFile: "https://bitbucket.org/w/r/src/v1/d%20r/a&b.go", commitFile: "https://bitbucket.org/w/r/src/" + sha + "/d%20r/a&b.go",
			headFile: "https://bitbucket.org/w/r/src/HEAD/d%20r/a&b.go",
			tagRoot:  "https://bitbucket.org/w/r?at=v1", commitRoot: "https://bitbucket.org/w/r?at=" + sha, commitURL: "https://bitbucket.org/w/r/commits/" + sha,
		},
		{
			kind: code.BitbucketServer, web: "https://bb.example/projects/K/repos/r",
			root:    "https://bb.example/projects/K/repos/r?at=feature/x",
			file:    "https://bb.example/projects/K/repos/r/browse/d%20r/a&b.go?at=feature/x",
			lines:   "https://bb.example/projects/K/repos/r/browse/d%20r/a&b.go?at=feature/x#3-7",
			line:    "https://bb.example/projects/K/repos/r/browse/d%20r/a&b.go?at=feature/x#3",
			tagFile: "https://bb.example/projects/K/repos/r/browse/d%20r/a&b.go?at=v1", commitFile: "https://bb.example/projects/K/repos/r/browse/d%20r/a&b.go?at=" + sha,
			headFile: "https://bb.example/projects/K/repos/r/browse/d%20r/a&b.go",
			tagRoot:  "https://bb.example/projects/K/repos/r?at=v1", commitRoot: "https://bb.example/projects/K/repos/r?at=" + sha, commitURL: "https://bb.example/projects/K/repos/r/commits/" + sha,
		},
		{
			kind: code.Gerrit, web: "https://review.example/plugins/gitiles/p/r",
			root:    "https://review.example/plugins/gitiles/p/r/+/feature/x",
			file:    "https://review.example/plugins/gitiles/p/r/+/feature/x/d%20r/a&b.go",
			lines:   "https://review.example/plugins/gitiles/p/r/+/feature/x/d%20r/a&b.go#3",
			line:    "https://review.example/plugins/gitiles/p/r/+/feature/x/d%20r/a&b.go#3",
			tagFile: "https://review.example/plugins/gitiles/p/r/+/refs/tags/v1/d%20r/a&b.go", commitFile: "https://review.example/plugins/gitiles/p/r/+/" + sha + "/d%20r/a&b.go",
			headFile: "https://review.example/plugins/gitiles/p/r/+/HEAD/d%20r/a&b.go",
			tagRoot:  "https://review.example/plugins/gitiles/p/r/+/refs/tags/v1", commitRoot: "https://review.example/plugins/gitiles/p/r/+/" + sha, commitURL: "https://review.example/plugins/gitiles/p/r/+/" + sha,
		},
		{kind: code.GenericGitHost, web: "https://git.example/cgit/r"},
	} {
		t.Run(string(want.kind), func(t *testing.T) {
			p := pageurl.New(&code.Repository{Kind: want.kind, WebURL: want.web})
			const branch, tag, path = code.Ref("refs/heads/feature/x"), code.Ref("refs/tags/v1"), "d r/a&b.go"
			got := links{
				kind: want.kind, web: want.web,
				root: p.RefURL(branch), file: p.FileURL(branch, path), lines: p.LinesURL(branch, path, 3, 7), line: p.LinesURL(branch, path, 3, 3),
				tagFile: p.FileURL(tag, path), commitFile: p.FileURL(code.Ref(commit), path), headFile: p.FileURL("", path),
				tagRoot: p.RefURL(tag), commitRoot: p.RefURL(code.Ref(commit)), commitURL: p.CommitURL(commit),
			}
			if got != want {
				t.Errorf("have %+v\nwant %+v", got, want)
			}
			if got, want := p.RepositoryURL(), strings.TrimSuffix(want.web, "/"); got != want {
				t.Errorf("repository %s, want %s", got, want)
			}
			if short := p.FileURL("feature/x", path); short != want.file {
				t.Errorf("short name: %s, want %s", short, want.file)
			}
			known := pageurl.New(&code.Repository{Kind: want.kind, WebURL: want.web, DefaultBranch: "feature/x"})
			if head := known.FileURL("", path); head != want.file {
				t.Errorf("default branch: %s, want %s", head, want.file)
			}
		})
	}
}

// TestPagesOfHostileURLs checks that no text from a payload becomes a link to a script,
// and that a page whose URL has a query has no pages below it.
func TestPagesOfHostileURLs(t *testing.T) {
	for _, web := range []string{"", "javascript:alert(1)", "//h/x", "HTTPS://h/x", "https://h/\nx", "ftp://h/x", "data:text/html,x"} {
		p := pageurl.New(&code.Repository{Kind: code.GitHub, WebURL: web})
		if p.RepositoryURL() != "" || p.FileURL("refs/heads/m", "a") != "" || p.CommitURL(commit) != "" || p.RefURL("") != "" {
			t.Errorf("%q has pages", web)
		}
	}
	p := pageurl.New(&code.Repository{Kind: code.GitHub, WebURL: "https://h/?p=x"})
	if p.RepositoryURL() != "https://h/?p=x" || p.FileURL("", "a") != "" || p.LinesURL("", "a", 1, 2) != "" {
		t.Error("a page with a query has pages below it")
	}
}

func TestAppendPath(t *testing.T) {
	for c := range 256 {
		path := "a/" + string([]byte{byte(c)}) + "é"
		if got, want := string(pageurl.AppendPath(nil, path, false)), url.PathEscape(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// FuzzPages checks the URLs of arbitrary paths at arbitrary refs: the host does not
// change, nothing is added to the query, and the path can be decoded again.
func FuzzPages(f *testing.F) {
	f.Add("d r/x.go", "refs/heads/m", "github")
	f.Add("a?b#c&version=GBx", "refs/tags/a#b", "azuredevops")
	f.Add("\x00\xff+%2e", "refs/heads/&x=\"<", "bitbucketServer")
	f.Fuzz(func(t *testing.T, path, ref, kind string) {
		r := &code.Repository{Kind: code.HostKind(kind), WebURL: "https://h.example/o/r"}
		p := pageurl.New(r)
		for _, address := range []string{p.FileURL(code.Ref(ref), path), p.RefURL(code.Ref(ref)), p.CommitURL(code.CommitID(ref))} {
			if address == "" {
				continue
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatalf("%q: %v", address, err)
			}
			if u.Host != "h.example" || u.Fragment != "" || !strings.HasPrefix(u.Path, "/o/r") {
				t.Fatalf("%q leads to %+v", address, u)
			}
			for key := range u.Query() {
				if key != "path" && key != "version" && key != "at" {
					t.Fatalf("%q has the parameter %q", address, key)
				}
			}
		}
		if r.Kind == code.AzureDevOps {
			u, _ := url.Parse(p.FileURL(code.Ref(ref), path))
			if got := u.Query().Get("path"); got != "/"+path {
				t.Fatalf("path %q is read as %q", path, got)
			}
		}
	})
}
