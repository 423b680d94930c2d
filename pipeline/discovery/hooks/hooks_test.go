package hooks

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	address = "https://quarry.example.org/webhooks/x/hub"
	secret  = "hunter2-hunter2"
)

// hasSecret reports whether a webhook has a secret, plain or as a signing token.
func hasSecret(in map[string]any) bool {
	return in["signing_token"] != nil || strings.Contains(fmt.Sprint(in), secret)
}

// serve keeps webhooks like a host: at any path, with IDs, in lists in the format of the
// kind. It rejects webhooks without a secret.
func serve(kind code.HostKind, there map[string][]map[string]any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if strings.Contains(path, "nobody") {
			hosttest.WriteNotFound(w)
			return
		}
		switch r.Method {
		case http.MethodGet:
			list := there[path]
			if list == nil {
				list = []map[string]any{}
			}
			if kind == code.BitbucketServer || kind == code.BitbucketCloud {
				hosttest.WriteJSON(w, http.StatusOK, map[string]any{"values": list})
				return
			}
			hosttest.WriteJSON(w, http.StatusOK, list)
		case http.MethodPost:
			var in map[string]any
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !hasSecret(in) {
				hosttest.WriteJSON(w, http.StatusUnprocessableEntity, map[string]string{"message": "no secret"})
				return
			}
			in["id"] = len(there[path]) + 7
			if kind == code.GitLab && in["signing_token"] != nil && !strings.Contains(path, "old") {
				in["signing_token_present"] = true
			}
			if kind == code.BitbucketCloud {
				in["uuid"] = "{u-1}"
			}
			there[path] = append(there[path], in)
			hosttest.WriteJSON(w, http.StatusCreated, in)
		case http.MethodDelete:
			at := strings.LastIndex(path, "/")
			list := path[:at]
			there[list] = slices.DeleteFunc(there[list], func(h map[string]any) bool {
				return strings.HasSuffix(path, "/"+fmt.Sprint(h["id"])) || strings.HasSuffix(path, "/"+url.PathEscape(fmt.Sprint(h["uuid"])))
			})
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

func TestHooks(t *testing.T) {
	for _, c := range []struct {
		kind    code.HostKind
		targets discovery.Targets
		paths   []string
	}{
		{code.GitHub, discovery.Targets{Orgs: []string{"acme"}, Repos: []string{"other/tool"}}, []string{"/api/v3/orgs/acme/hooks", "/api/v3/repos/other/tool/hooks"}},
		{code.GitLab, discovery.Targets{Groups: []string{"acme/team"}, Projects: []string{"other/tool"}}, []string{"/api/v4/groups/acme%2Fteam/hooks", "/api/v4/projects/other%2Ftool/hooks"}},
		{code.Gitea, discovery.Targets{Orgs: []string{"acme"}, Repos: []string{"other/tool"}}, []string{"/api/v1/orgs/acme/hooks", "/api/v1/repos/other/tool/hooks"}},
		{code.BitbucketServer, discovery.Targets{Projects: []string{"ACME"}, Repos: []string{"OTHER/tool"}}, []string{"/rest/api/1.0/projects/ACME/webhooks", "/rest/api/1.0/projects/OTHER/repos/tool/webhooks"}},
		{code.BitbucketCloud, discovery.Targets{Workspaces: []string{"acme"}, Repos: []string{"other/tool"}}, []string{"/2.0/repositories/other/tool/hooks", "/2.0/workspaces/acme/hooks"}},
	} {
		there := map[string][]map[string]any{}
		foreign := map[string]any{"id": 1, "uuid": "{u-0}", "active": true, "url": "https://ci.example.org/hook", "config": map[string]any{"url": "https://ci.example.org/hook"}}
		there[c.paths[0]] = []map[string]any{foreign}
		server := hosttest.NewServer(t, false, func(string) http.Handler { return serve(c.kind, there) })
		r, err := Open(discovery.Connection{Name: "hub", Kind: c.kind, URL: server.URL, Token: "t", Targets: c.targets}, hostapi.NewTransport(hostapi.Options{}).Client(), address, secret)
		if err != nil {
			t.Fatal(err)
		}
		checkLife(t, r, 2, func() {
			if n := len(there[c.paths[0]]) + len(there[c.paths[1]]); n != 3 {
				t.Errorf("%s: the host has %d webhooks, want 3: %v", c.kind, n, there)
			}
		})
		if len(there[c.paths[0]]) != 1 {
			t.Errorf("%s: the webhook of others is gone", c.kind)
		}
	}
}

// checkLife installs webhooks at the targets of r twice, and removes them twice.
func checkLife(t *testing.T, r *Registrar, targets int, checkInstalled func()) {
	t.Helper()
	check := func(step string, got []Result, want State) {
		t.Helper()
		for _, result := range got {
			if result.Err != nil || result.State != want {
				t.Errorf("%s: %s is %s, %v; want %s", step, result.Target, result.State, result.Err, want)
			}
		}
		if len(got) != targets {
			t.Errorf("%s: %d results, want %d", step, len(got), targets)
		}
	}
	check("before", r.ShowStatus(t.Context()), Absent)
	check("install", r.Install(t.Context()), Installed)
	check("after", r.ShowStatus(t.Context()), Active)
	check("install again", r.Install(t.Context()), Active)
	checkInstalled()
	check("remove", r.Remove(t.Context()), Removed)
	check("remove again", r.Remove(t.Context()), Absent)
}

func TestFailedTargets(t *testing.T) {
	server := hosttest.NewServer(t, false, func(string) http.Handler { return serve(code.Gitea, map[string][]map[string]any{}) })
	c := discovery.Connection{Name: "hub", Kind: code.Gitea, URL: server.URL, Targets: discovery.Targets{All: true, Orgs: []string{"nobody", "acme"}, Users: []string{"ann"}}}
	client := hostapi.NewTransport(hostapi.Options{}).Client()
	r, err := Open(c, client, address, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range r.Install(t.Context()) {
		switch {
		case got.Target == "nobody" && hostapi.CodeOf(got.Err) == hostapi.NotFound:
		case got.Target == "acme" && got.Err == nil && got.State == Installed:
		case (got.Target == "ann" || got.Target == "all") && errors.Is(got.Err, ErrByHand):
		default:
			t.Errorf("%+v", got)
		}
		if got.Err != nil && strings.Contains(got.Err.Error(), secret) {
			t.Errorf("the secret is shown: %v", got.Err)
		}
	}
	if _, err := Open(c, client, "", secret); err == nil {
		t.Error("webhooks without an address")
	}
	if _, err := Open(c, client, address, ""); err == nil {
		t.Error("webhooks without a secret")
	}
}

// TestSigningTokens checks that a webhook is removed if a version of GitLab that does not
// sign leaves out signing_token: its deliveries would be rejected.
func TestSigningTokens(t *testing.T) {
	there := map[string][]map[string]any{}
	server := hosttest.NewServer(t, false, func(string) http.Handler { return serve(code.GitLab, there) })
	client := hostapi.NewTransport(hostapi.Options{}).Client()
	c := discovery.Connection{Name: "hub", Kind: code.GitLab, URL: server.URL, Targets: discovery.Targets{Projects: []string{"new/tool", "old/tool"}}}
	r, err := Open(c, client, address, "whsec_"+base64.StdEncoding.EncodeToString([]byte(secret+"/"+secret+"!")))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Install(t.Context())
	if got[0].Err != nil || got[0].State != Installed || hostapi.CodeOf(got[1].Err) != hostapi.Rejected || got[1].State != Absent {
		t.Errorf("install: %+v", got)
	}
	if n := len(there["/api/v4/projects/new%2Ftool/hooks"]); n != 1 || len(there["/api/v4/projects/old%2Ftool/hooks"]) != 0 {
		t.Errorf("the host has %v", there)
	}
	if _, err := Open(c, client, address, "whsec_"+base64.StdEncoding.EncodeToString([]byte("sixteen bytes..."))); err == nil || strings.Contains(err.Error(), "c2l4") {
		t.Errorf("a token of 16 bytes: %v", err)
	}
}
