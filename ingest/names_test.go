package ingest_test

import (
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/azuredevops"
	"github.com/quarrysearch/quarry/ingest/bitbucketcloud"
	"github.com/quarrysearch/quarry/ingest/bitbucketserver"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/gerrit"
	"github.com/quarrysearch/quarry/ingest/gitea"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/gitlab"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

const newCommit = "00000000000000000000000000000000000000aa"

// TestNamesAndLinks checks the names, clone URLs and pages of repositories for each kind
// of host, including hosts with a path and a port.
func TestNamesAndLinks(t *testing.T) {
	moves := `"ref":"refs/heads/main","before":"` + ingest.Zeros + `","after":"` + newCommit + `"`
	for _, c := range []struct {
		kind                              code.HostKind
		open                              ingest.Open
		url, header, event, payload       string
		name, display, clone, web, source string // source is the page of src/a.go at main
	}{
		{
			code.GitHub, github.Open, "", "X-GitHub-Event", "push",
			`{` + moves + `,"repository":{"id":1,"full_name":"meadow/kettle","clone_url":"https://github.com/meadow/kettle.git","html_url":"https://github.com/meadow/kettle"}}`,
			"github.com/meadow/kettle", "meadow/kettle", "https://github.com/meadow/kettle.git", "https://github.com/meadow/kettle",
			"https://github.com/meadow/kettle/blob/main/src/a.go",
		},
		{
			code.GitLab, gitlab.Open, "https://git.example:8443/gitlab", "X-Gitlab-Event", "Push Hook",
			`{"object_kind":"push",` + moves + `,"project_id":1,"project":{"id":1,"path_with_namespace":"meadow/tea/kettle","git_http_url":"https://git.example:8443/gitlab/meadow/tea/kettle.git","web_url":"https://git.example:8443/gitlab/meadow/tea/kettle"}}`,
			"git.example:8443/gitlab/meadow/tea/kettle", "meadow/tea/kettle", "https://git.example:8443/gitlab/meadow/tea/kettle.git", "https://git.example:8443/gitlab/meadow/tea/kettle",
			"https://git.example:8443/gitlab/meadow/tea/kettle/-/blob/main/src/a.go",
		},
		{
			code.Gitea, gitea.Open, "http://git.example:3000", "X-Gitea-Event", "push",
			`{` + moves + `,"repository":{"id":1,"full_name":"meadow/kettle","clone_url":"http://git.example:3000/meadow/kettle.git","html_url":"http://git.example:3000/meadow/kettle"}}`,
			"git.example:3000/meadow/kettle", "meadow/kettle", "http://git.example:3000/meadow/kettle.git", "http://git.example:3000/meadow/kettle",
			"http://git.example:3000/meadow/kettle/src/branch/main/src/a.go",
		},
		{
			code.Gerrit, gerrit.Open, "https://review.example/a", "", "",
			`{"type":"ref-updated","refUpdate":{"oldRev":"` + ingest.Zeros + `","newRev":"` + newCommit + `","refName":"refs/heads/main","project":"meadow/kettle"}}`,
			"review.example/meadow/kettle", "meadow/kettle", "https://review.example/a/meadow/kettle", "https://review.example/plugins/gitiles/meadow/kettle",
			"https://review.example/plugins/gitiles/meadow/kettle/+/main/src/a.go",
		},
		{
			code.BitbucketServer, bitbucketserver.Open, "https://bb.example", "X-Event-Key", "repo:refs_changed",
			`{"eventKey":"repo:refs_changed","repository":{"id":1,"slug":"kettle","name":"Kettle","project":{"key":"MEADOW"}},"changes":[{"ref":{"id":"refs/heads/main","type":"BRANCH"},"refId":"refs/heads/main","fromHash":"` + ingest.Zeros + `","toHash":"` + newCommit + `","type":"ADD"}]}`,
			"bb.example/MEADOW/kettle", "MEADOW/kettle", "https://bb.example/scm/meadow/kettle.git", "https://bb.example/projects/MEADOW/repos/kettle",
			"https://bb.example/projects/MEADOW/repos/kettle/browse/src/a.go?at=main",
		},
		{
			code.BitbucketCloud, bitbucketcloud.Open, "", "X-Event-Key", "repo:push",
			`{"repository":{"uuid":"{1}","full_name":"meadow/kettle","project":{"key":"TEA"},"links":{"html":{"href":"https://bitbucket.org/meadow/kettle"}}},"push":{"changes":[{"old":null,"new":{"type":"branch","name":"main","target":{"hash":"` + newCommit + `"}}}]}}`,
			"bitbucket.org/meadow/TEA/kettle", "meadow/TEA/kettle", "https://bitbucket.org/meadow/kettle.git", "https://bitbucket.org/meadow/kettle",
			"https://bitbucket.org/meadow/kettle/src/main/src/a.go",
		},
		{
			code.AzureDevOps, azuredevops.Open, "", "", "",
			`{"eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main","oldObjectId":"` + ingest.Zeros + `","newObjectId":"` + newCommit + `"}],"repository":{"id":"1","name":"kettle","remoteUrl":"https://meadow@dev.azure.com/meadow/Tea%20Time/_git/kettle","project":{"name":"Tea Time"}}}}`,
			"dev.azure.com/Tea Time/kettle", "Tea Time/kettle", "https://dev.azure.com/meadow/Tea%20Time/_git/kettle", "https://dev.azure.com/meadow/Tea%20Time/_git/kettle",
			"https://dev.azure.com/meadow/Tea%20Time/_git/kettle?path=/src/a.go&version=GBmain",
		},
		{
			code.GenericGitHost, generic.Open, "", "", "",
			`{"repository":"https://git.example:8080/tea%20time/kettle.git",` + moves + `}`,
			"git.example:8080/tea time/kettle", "", "https://git.example:8080/tea%20time/kettle.git", "", "",
		},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			translator, err := c.open(ingest.Connection{Name: "names", Kind: c.kind, URL: c.url, Secrets: []string{"whsec_c2VjcmV0IG9mIG1vcmUgdGhhbiAyNCBieXRlcw=="}})
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			if c.header != "" {
				header.Set(c.header, c.event)
			}
			d, err := translator.Translate(&ingest.Request{Header: header, Body: []byte(c.payload)})
			if err != nil {
				t.Fatal(err)
			}
			r := d.Repository
			if d.Outcome != ingest.Pushed || r.Kind != c.kind {
				t.Errorf("%s of a %s", d.Outcome, r.Kind)
			}
			if r.Name != c.name || r.DisplayName != c.display || r.CloneURL != c.clone || r.WebURL != c.web {
				t.Errorf("have %q, %q, %s, %s\nwant %q, %q, %s, %s", r.Name, r.DisplayName, r.CloneURL, r.WebURL, c.name, c.display, c.clone, c.web)
			}
			if got := pageurl.New(&r).FileURL("refs/heads/main", "src/a.go"); got != c.source {
				t.Errorf("source: %s, want %s", got, c.source)
			}
		})
	}
}
