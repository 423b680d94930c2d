package codehosts

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestWebhooksAndDiscoveryAgree compares what webhooks and discovery report about one
// repository of each kind of host. Identity, name and clone URL must be equal, or the
// repository would be registered twice.
func TestWebhooksAndDiscoveryAgree(t *testing.T) {
	const (
		zeros  = "0000000000000000000000000000000000000000"
		commit = "1111111111111111111111111111111111111111"
	)
	for _, c := range []struct {
		kind    code.HostKind
		web     string // base URL of pages
		secret  string
		header  http.Header
		webhook string // BASE and MOVE are replaced
		path    string // path of the API
		answer  string
		targets discovery.Targets
	}{
		{code.GitHub, "", "s", http.Header{"X-Github-Event": {"push"}},
			`{"ref":"refs/heads/main","before":"ZEROS","after":"COMMIT","repository":{"id":7,"full_name":"o/r","description":"A \u0007 kettle,\n\tof tin ","clone_url":"BASE/o/r.git","html_url":"BASE/o/r","default_branch":"main","owner":{"avatar_url":"IMAGE"}}}`,
			"/api/v3/repos/o/r", `{"id":7,"full_name":"o/r","description":"A \u0007 kettle,\n\tof tin ","clone_url":"BASE/o/r.git","html_url":"BASE/o/r","default_branch":"main","owner":{"avatar_url":"IMAGE"}}`, discovery.Targets{Repos: []string{"o/r"}}},
		{code.GitLab, "", "s", http.Header{"X-Gitlab-Event": {"Push Hook"}},
			`{"object_kind":"push","event_name":"push","ref":"refs/heads/main","before":"ZEROS","after":"COMMIT","project_id":7,"project":{"id":7,"path_with_namespace":"o/r","description":"A \u0007 kettle,\n\tof tin ","git_http_url":"BASE/o/r.git","web_url":"BASE/o/r","avatar_url":"IMAGE","default_branch":"main","visibility_level":20}}`,
			"/api/v4/projects/o/r", `{"id":7,"path_with_namespace":"o/r","description":"A \u0007 kettle,\n\tof tin ","http_url_to_repo":"BASE/o/r.git","web_url":"BASE/o/r","avatar_url":"IMAGE","default_branch":"main","visibility":"public"}`, discovery.Targets{Projects: []string{"o/r"}}},
		{code.GitLab, "https://pages.example/gitlab/", "s", http.Header{"X-Gitlab-Event": {"Push Hook"}},
			`{"object_kind":"push","event_name":"push","ref":"refs/heads/main","before":"ZEROS","after":"COMMIT","project_id":7,"project":{"id":7,"path_with_namespace":"o/r","description":"A \u0007 kettle,\n\tof tin ","git_http_url":"BASE/o/r.git","web_url":"BASE/o/r","avatar_url":"IMAGE","default_branch":"main","visibility_level":20}}`,
			"/api/v4/projects/o/r", `{"id":7,"path_with_namespace":"o/r","description":"A \u0007 kettle,\n\tof tin ","http_url_to_repo":"BASE/o/r.git","web_url":"BASE/o/r","avatar_url":"IMAGE","default_branch":"main","visibility":"public"}`, discovery.Targets{Projects: []string{"o/r"}}},
		{code.Gitea, "", "s", http.Header{"X-Gitea-Event": {"push"}},
			`{"ref":"refs/heads/main","before":"ZEROS","after":"COMMIT","repository":{"id":7,"full_name":"o/r","description":"A \u0007 kettle,\n\tof tin ","clone_url":"BASE/o/r.git","html_url":"BASE/o/r","avatar_url":"IMAGE","default_branch":"main"}}`,
			"/api/v1/repos/o/r", `{"id":7,"full_name":"o/r","description":"A \u0007 kettle,\n\tof tin ","clone_url":"BASE/o/r.git","html_url":"BASE/o/r","avatar_url":"IMAGE","default_branch":"main"}`, discovery.Targets{Repos: []string{"o/r"}}},
		{code.Gerrit, "", "s", http.Header{},
			`{"type":"ref-updated","refUpdate":{"oldRev":"ZEROS","newRev":"COMMIT","refName":"refs/heads/main","project":"o/r"}}`,
			"/a/projects/", `)]}'` + "\n" + `{"o/r":{"id":"o%2Fr","description":"A \u0007 kettle,\n\tof tin ","state":"ACTIVE"}}`, discovery.Targets{All: true}},
		{code.BitbucketServer, "", "s", http.Header{"X-Event-Key": {"repo:refs_changed"}},
			`{"eventKey":"repo:refs_changed","repository":{"id":7,"slug":"r","description":"A \u0007 kettle,\n\tof tin ","public":true,"project":{"key":"O"},"links":{"clone":[{"name":"http","href":"BASE/scm/o/r.git"}]}},"changes":[{"ref":{"id":"refs/heads/main"},"fromHash":"ZEROS","toHash":"COMMIT","type":"ADD"}]}`,
			"/rest/api/1.0/projects/O/repos/r", `{"id":7,"slug":"r","description":"A \u0007 kettle,\n\tof tin ","public":true,"project":{"key":"O"},"links":{"clone":[{"name":"http","href":"BASE/scm/o/r.git"}]}}`, discovery.Targets{Repos: []string{"O/r"}}},
		{code.BitbucketCloud, "", "s", http.Header{"X-Event-Key": {"repo:push"}},
			`{"repository":{"uuid":"{7}","full_name":"o/r","description":"A \u0007 kettle,\n\tof tin ","is_private":false,"project":{"key":"P"},"links":{"html":{"href":"BASE/o/r"},"avatar":{"href":"IMAGE"}}},"push":{"changes":[{"old":null,"new":{"type":"branch","name":"main","target":{"hash":"COMMIT"}}}]}}`,
			"/2.0/repositories/o/r", `{"uuid":"{7}","full_name":"o/r","description":"A \u0007 kettle,\n\tof tin ","is_private":false,"project":{"key":"P"},"links":{"html":{"href":"BASE/o/r"},"avatar":{"href":"IMAGE"}}}`, discovery.Targets{Repos: []string{"o/r"}}},
		{code.AzureDevOps, "", "u:p", http.Header{},
			`{"id":"e","eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main","oldObjectId":"ZEROS","newObjectId":"COMMIT"}],"repository":{"id":"guid","name":"r","remoteUrl":"BASE/o/p/_git/r","defaultBranch":"refs/heads/main","project":{"name":"p","visibility":"public"}}}}`,
			"/o/p/_apis/git/repositories/r", `{"id":"guid","name":"r","remoteUrl":"BASE/o/p/_git/r","defaultBranch":"refs/heads/main","project":{"name":"p","visibility":"public"}}`, discovery.Targets{Repos: []string{"o/p/r"}}},
	} {
		var base, image string
		fill := func(s string) string {
			return strings.NewReplacer("BASE", base, "ZEROS", zeros, "COMMIT", commit, "IMAGE", image).Replace(s)
		}
		server := hosttest.NewServer(t, false, func(string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.path {
					hosttest.WriteNotFound(w)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(fill(c.answer))) // the client notices an incomplete response
			})
		})
		base = server.URL
		translator, err := Translators()[c.kind](ingest.Connection{Name: "c", Kind: c.kind, URL: base, WebURL: c.web, Secrets: []string{c.secret}})
		if err != nil {
			t.Fatal(err)
		}
		pictured := slices.Contains([]code.HostKind{code.GitHub, code.GitLab, code.Gitea, code.BitbucketCloud}, c.kind)
		for from, want := range map[string]string{
			"https://pictures.example/a?s=64": "https://pictures.example/a?s=64", "": "", "javascript:alert(1)": "", "/a.png": "",
			"https://ann:s3cret@pictures.example/a": "", "https://pictures.example/" + strings.Repeat("a", code.MaxURLBytes): "",
		} {
			image = from
			delivered, err := translator.Translate(&ingest.Request{Header: c.header, Body: []byte(fill(c.webhook))})
			if err != nil {
				t.Fatalf("%s: %v", c.kind, err)
			}
			got := hosttest.ListAll(t, Listers()[c.kind], discovery.Connection{Name: "c", Kind: c.kind, URL: base, WebURL: c.web, User: "u", Token: "t", Targets: c.targets}, hostapi.NewTransport(hostapi.Options{}).Client())
			if len(got.Found) != 1 {
				t.Errorf("%s: found %v, issues %v", c.kind, got.Found, got.Issues)
				continue
			}
			listed, hooked := got.Found[0].Repository, delivered.Repository
			if listed.ID != hooked.ID || listed.Kind != hooked.Kind || listed.Name != hooked.Name || listed.DisplayName != hooked.DisplayName ||
				listed.CloneURL != hooked.CloneURL || listed.WebURL != hooked.WebURL || listed.ImageURL != hooked.ImageURL || listed.Private != hooked.Private {
				t.Errorf("%s: discovery says %+v\nwebhook says %+v", c.kind, listed, hooked)
			}
			if c.web != "" && listed.WebURL != "https://pages.example/gitlab/o/r" {
				t.Errorf("%s: pages are at %s", c.kind, listed.WebURL)
			}
			description := "A kettle, of tin"
			if c.kind == code.AzureDevOps {
				description = "" // this kind has no description
			}
			if listed.Description != description || hooked.Description != listed.Description && c.kind != code.Gerrit {
				t.Errorf("%s: discovery describes it as %q, the webhook as %q", c.kind, listed.Description, hooked.Description)
			}
			if !pictured {
				want = ""
			}
			if listed.ImageURL != want {
				t.Errorf("%s: the picture of %.80q is %.80q, want %q", c.kind, from, listed.ImageURL, want)
			}
		}
	}
}
