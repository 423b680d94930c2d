package ingest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/azuredevops"
	"github.com/quarrysearch/quarry/ingest/bitbucketcloud"
	"github.com/quarrysearch/quarry/ingest/bitbucketserver"
	"github.com/quarrysearch/quarry/ingest/gitea"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/gitlab"
	"github.com/quarrysearch/quarry/schemas/code"
)

// samplesModule contains recorded payloads of six kinds of hosts (MIT license).
const samplesModule = "github.com/go-playground/webhooks/v6@v6.4.0"

// TestPublicSamples translates payloads recorded by another project. They are downloaded
// through the module proxy; without a proxy the test is skipped.
func TestPublicSamples(t *testing.T) {
	dir := samplesDir(t)
	for _, c := range []struct {
		file, url, header, name string
		open                    ingest.Open
		outcome                 ingest.Outcome
		repository              string
		pushes                  int
	}{
		{"github/push.json", "", "X-GitHub-Event", "push", github.Open, ingest.Pushed, "github.com/binkkatal/sample_app", 1},
		{"github/ping.json", "", "X-GitHub-Event", "ping", github.Open, ingest.Ignored, "", 0},
		{"gitlab/push-event.json", "http://example.com", "X-Gitlab-Event", "Push Hook", gitlab.Open, ingest.Pushed, "example.com/mike/diaspora", 1},
		{"gitlab/tag-event.json", "http://example.com", "X-Gitlab-Event", "Tag Push Hook", gitlab.Open, ingest.Pushed, "example.com/jsmith/example", 1},
		{"gitlab/system-push-event.json", "http://example.com", "X-Gitlab-Event", "System Hook", gitlab.Open, ingest.Pushed, "example.com/mike/diaspora", 1},
		{"gitlab/system-project-renamed.json", "", "X-Gitlab-Event", "System Hook", gitlab.Open, ingest.Changed, "gitlab.com/jsmith/underscore", 0},
		{"gitlab/system-project-destroyed.json", "", "X-Gitlab-Event", "System Hook", gitlab.Open, ingest.Removed, "gitlab.com/jsmith/underscore", 0},
		{"gitlab/issue-event.json", "", "X-Gitlab-Event", "Issue Hook", gitlab.Open, ingest.Ignored, "", 0},
		{"gitea/push-event.json", "http://localhost:3000", "X-Gitea-Event", "push", gitea.Open, ingest.Pushed, "localhost:3000/example/example", 1},
		{"gitea/create-event.json", "http://localhost:3000", "X-Gitea-Event", "create", gitea.Open, ingest.Pushed, "", 1},
		{"gitea/delete-event.json", "http://localhost:3000", "X-Gitea-Event", "delete", gitea.Open, ingest.Pushed, "", 1},
		{"bitbucket/repo-push.json", "", "X-Event-Key", "repo:push", bitbucketcloud.Open, ingest.Pushed, "", 1},
		{"bitbucket/repo-fork.json", "", "X-Event-Key", "repo:fork", bitbucketcloud.Open, ingest.Ignored, "", 0},
		{"bitbucket-server/repo-refs-changed.json", "https://server.bitbucket.local", "X-Event-Key", "repo:refs_changed", bitbucketserver.Open, ingest.Pushed, "server.bitbucket.local/~gopher/webhook-test", 1},
		{"bitbucket-server/repo-modified.json", "https://server.bitbucket.local", "X-Event-Key", "repo:modified", bitbucketserver.Open, ingest.Changed, "", 0},
		{"azuredevops/git.push.json", "https://dev.azure.com", "", "", azuredevops.Open, ingest.Pushed, "", 1},
		{"azuredevops/build.complete.json", "https://dev.azure.com", "", "", azuredevops.Open, ingest.Ignored, "", 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			payload, err := os.ReadFile(filepath.Join(dir, "testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			translator, err := c.open(ingest.Connection{Name: "samples", URL: c.url, Secrets: []string{"secret"}})
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			if c.header != "" {
				header.Set(c.header, c.name)
			}
			d, err := translator.Translate(&ingest.Request{Header: header, Body: payload})
			if err != nil {
				t.Fatal(err)
			}
			if d.Outcome != c.outcome || len(d.Pushes) != c.pushes || c.repository != "" && d.Repository.Name != c.repository {
				t.Errorf("%s of %s with %d pushes, want %s of %q with %d", d.Outcome, d.Repository.Name, len(d.Pushes), c.outcome, c.repository, c.pushes)
			}
		})
	}
}

// samplesDir downloads the module of samples, outside of this module.
func samplesDir(t *testing.T) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", samplesModule)
	download.Dir = t.TempDir()
	out, err := download.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); err != nil || jsonErr != nil || module.Dir == "" {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatalf("cannot download %s: %v %s", samplesModule, err, module.Error)
		}
		t.Skipf("the sample payloads of %s cannot be downloaded: %v %s", samplesModule, err, module.Error)
	}
	return module.Dir
}

// samplesPackage contains the recorded payloads that GitHub publishes (MIT license).
const samplesPackage = "@octokit/webhooks-examples@7.6.1"

// TestGitHubSamples translates every payload in GitHub's package, which is downloaded
// from the npm registry.
func TestGitHubSamples(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(unpackSamples(t), "package", "api.github.com", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatal(err)
	}
	translator, err := github.Open(ingest.Connection{Name: "samples", Secrets: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]map[ingest.Outcome]int{}
	for _, e := range events {
		outcomes[e.Name] = map[ingest.Outcome]int{}
		for i, payload := range e.Examples {
			d, err := translator.Translate(&ingest.Request{Header: http.Header{"X-Github-Event": {e.Name}}, Body: payload})
			if err != nil {
				t.Errorf("%s %d: %v", e.Name, i, err)
			}
			if d.Outcome != ingest.Ignored && (d.Outcome != ingest.AccessChanged || d.Repository.ID != 0) && (d.Repository.Kind != code.GitHub || d.Repository.DefaultBranch == "") {
				t.Errorf("%s %d: %+v", e.Name, i, d)
			}
			outcomes[e.Name][d.Outcome]++
		}
	}
	for name, got := range outcomes {
		pushed, changed := got[ingest.Pushed], got[ingest.Changed]
		if name != "push" && pushed > 0 || name == "push" && pushed != 7 || name != "repository" && changed > 0 || name == "repository" && changed != 11 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if len(outcomes) != 58 {
		t.Errorf("%d events", len(outcomes))
	}
}

// unpackSamples downloads and unpacks the package of samples.
func unpackSamples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	pack := exec.CommandContext(t.Context(), "npm", "pack", "--silent", samplesPackage)
	pack.Dir = dir
	out, err := pack.Output()
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skipf("the sample payloads of %s cannot be downloaded: %v", samplesPackage, err)
	}
	if err != nil {
		t.Fatalf("npm pack %s: %v", samplesPackage, err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "xzf", strings.TrimSpace(string(out)))
	unpack.Dir = dir
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v %s", err, out)
	}
	return dir
}
