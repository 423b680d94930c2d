package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// hintWorld is a server with two connections to one code host: hub, which discovers the
// organization acme with a token, and spare, of which an attacker knows the secret.
type hintWorld struct {
	*Server
	t    *testing.T
	kind code.HostKind
	host *hosttest.Host
	base string // URL of the host
	root string // directory of its git repositories
	sent int
}

const (
	hintToken  = "s3cret-of-the-host"
	hintSecret = "0123456789abcdef"
)

// startHintWorld starts a server whose connections have the settings of change, if not
// nil.
func startHintWorld(t *testing.T, kind code.HostKind, change func(hub, spare *config.Connection)) *hintWorld {
	t.Helper()
	w := &hintWorld{t: t, kind: kind, host: &hosttest.Host{Token: hintToken}, root: t.TempDir()}
	git := gittest.HTTPHandler(t, w.root)
	var api http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/info/refs") || strings.HasSuffix(r.URL.Path, "git-upload-pack") {
			// The repositories are private: git needs the token.
			if user, password, _ := r.BasicAuth(); user != hintToken && password != hintToken {
				rw.Header().Set("WWW-Authenticate", "Basic")
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			git.ServeHTTP(rw, r)
			return
		}
		api.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.base, api = server.URL, w.host.Handler(server.URL)
	t.Setenv("HINT_TOKEN", hintToken)
	hub := config.Connection{Name: "hub", Kind: kind, URL: w.base, AutoRegister: true, Token: config.NewSecret(hintToken), Secrets: []config.Secret{config.NewSecret(hintSecret)}}
	spare := config.Connection{Name: "spare", Kind: kind, URL: w.base, AutoRegister: true, Secrets: []config.Secret{config.NewSecret(hintSecret)}}
	if kind == code.GitHub || kind == code.Gitea {
		hub.Discover = config.Discover{Orgs: []string{"acme"}}
	}
	if change != nil {
		change(&hub, &spare)
	}
	c := testConfig(t, "git.allowedNetworks=127.0.0.0/8")
	c.Connections = []config.Connection{hub, spare}
	w.Server = nil
	w.addRepository(hosttest.Repo{ID: 1, Owner: "acme", Name: "vault", Private: true, Branch: "main"}, "vuvuzela")
	w.Server = runServer(t, c)
	return w
}

// addRepository creates a repository at the host, with a file that contains text.
func (w *hintWorld) addRepository(r hosttest.Repo, text string) {
	w.t.Helper()
	bare := filepath.Join(w.root, r.Owner, r.Name+".git")
	g := gittest.New(w.t)
	g.CommitFiles("a.txt", text+"\n")
	if err := os.MkdirAll(filepath.Dir(bare), 0o755); err != nil {
		w.t.Fatal(err)
	}
	g.Git("clone", "--quiet", "--bare", g.Dir, bare)
	w.host.Put(r)
}

// id returns the ID of a repository in Quarry.
func (w *hintWorld) id(r hosttest.Repo) code.RepositoryID {
	return code.NewRepositoryID(strings.TrimPrefix(w.base, "http://"), hosttest.Identity(w.kind, r))
}

// deliver sends a signed delivery and returns the status.
func (w *hintWorld) deliver(connection, event string, payload map[string]any) int {
	w.t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		w.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL()+"/webhooks/"+string(w.kind)+"/"+connection, strings.NewReader(string(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.sent++ // the host's ID is not signed, so an attacker chooses it
	if w.kind == code.Gitea {
		request.Header.Set("X-Gitea-Event", event)
		request.Header.Set("X-Gitea-Delivery", fmt.Sprint("d-", w.sent))
		request.Header.Set("X-Gitea-Signature", ingesttest.SignHMAC("", body, []byte(hintSecret)))
	} else {
		request.Header.Set("X-GitHub-Event", event)
		request.Header.Set("X-GitHub-Delivery", fmt.Sprint("d-", w.sent))
		request.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", body, []byte(hintSecret)))
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = response.Body.Close() // only the status is needed
	return response.StatusCode
}

// repositoryEvent returns the payload of an event about a repository.
func (w *hintWorld) repositoryEvent(action string, r hosttest.Repo) map[string]any {
	return map[string]any{"action": action, "repository": hosttest.Describe(w.kind, w.base, r)}
}

// pushEvent returns the payload of a push of main.
func (w *hintWorld) pushEvent(r hosttest.Repo) map[string]any {
	return map[string]any{
		"ref": "refs/heads/main", "before": strings.Repeat("0", 40), "after": strings.Repeat("1", 40), "repository": hosttest.Describe(w.kind, w.base, r),
	}
}

// find returns a registered repository, and whether it is registered.
func (w *hintWorld) find(id code.RepositoryID) (code.Repository, bool) {
	known, ok := w.versions.Live().Catalog.Snapshot().ByID(id)
	if !ok {
		return code.Repository{}, false
	}
	return known.Repository, true
}

// seesAnonymously reports whether an anonymous search finds a word.
func (w *hintWorld) seesAnonymously(word string) bool {
	w.t.Helper()
	return strings.Contains(askAnonymously(w.t, http.MethodPost, w.URL()+"/api/search", `{"query":"`+word+`","matches":10}`), "a.txt")
}

// awaitIndexed waits until the owner finds a word.
func (w *hintWorld) awaitIndexed(word string) {
	w.t.Helper()
	waitUntil(w.t, func() bool {
		_, body := w.asOperator(w.t, http.MethodPost, "/api/search", `{"query":"`+word+`","matches":10}`, "reading")
		return strings.Contains(body, "a.txt")
	})
}

// settle waits until the hints of the deliveries so far have been followed: a public
// repository of the host that is pushed to last must be registered.
func (w *hintWorld) settle() {
	w.t.Helper()
	last := hosttest.Repo{ID: 1000 + w.sent, Owner: "acme", Name: fmt.Sprint("last-", w.sent), Branch: "main"}
	w.addRepository(last, "lastword")
	if status := w.deliver("hub", "push", w.pushEvent(last)); status != http.StatusAccepted {
		w.t.Fatalf("a push of a repository of the host: %d", status)
	}
	waitUntil(w.t, func() bool { _, ok := w.find(w.id(last)); return ok })
	waitUntil(w.t, func() bool { return w.hints.Pending() == 0 })
}

// TestForgedDeliveries sends deliveries that a holder of the secret of any connection of
// the host can make. None changes what an anonymous caller finds.
func TestForgedDeliveries(t *testing.T) {
	vault := hosttest.Repo{ID: 1, Owner: "acme", Name: "vault", Private: true, Branch: "main"}
	public := vault
	public.Private = false
	for _, connection := range []string{"hub", "spare"} {
		t.Run(connection, func(t *testing.T) {
			w := startHintWorld(t, code.GitHub, nil)
			w.awaitIndexed("vuvuzela")
			id := w.id(vault)

			// The visibility of the payload does not count, also not when it is sent again.
			for range 2 {
				w.deliver(connection, "repository", w.repositoryEvent("publicized", public))
				w.settle()
				if known, ok := w.find(id); !ok || !known.Private || w.seesAnonymously("vuvuzela") {
					t.Errorf("after publicized: registered %v as %+v, an anonymous search finds its text: %v", ok, known, w.seesAnonymously("vuvuzela"))
				}
			}

			// Neither does its clone URL.
			w.addRepository(hosttest.Repo{ID: 2, Owner: "secret", Name: "plans", Private: true, Branch: "main"}, "ocarina")
			open := hosttest.Repo{ID: 3, Owner: "acme", Name: "open", Branch: "main"}
			w.addRepository(open, "theorbo")
			w.deliver("hub", "push", w.pushEvent(open))
			w.awaitIndexed("theorbo")
			forged := w.repositoryEvent("edited", open)
			forged["repository"].(map[string]any)["clone_url"] = w.base + "/secret/plans.git"
			w.deliver(connection, "repository", forged)
			push := w.pushEvent(open)
			push["repository"] = forged["repository"]
			w.deliver(connection, "push", push)
			w.settle()
			if known, _ := w.find(w.id(open)); known.CloneURL != w.base+"/acme/open.git" || w.seesAnonymously("ocarina") {
				t.Errorf("after edited: clone URL %s, an anonymous search finds the other repository: %v", known.CloneURL, w.seesAnonymously("ocarina"))
			}

			// An unlisted repository has the visibility of the host.
			hidden := hosttest.Repo{ID: 4, Owner: "secret", Name: "notes", Private: true, Branch: "main"}
			w.addRepository(hidden, "cittern")
			hidden.Private = false
			w.deliver(connection, "push", w.pushEvent(hidden))
			w.settle()
			if known, ok := w.find(w.id(hidden)); ok && !known.Private || w.seesAnonymously("cittern") {
				t.Errorf("after a push: registered %v as %+v, an anonymous search finds its text: %v", ok, known, w.seesAnonymously("cittern"))
			}

			// What the host still has stays.
			w.deliver(connection, "repository", w.repositoryEvent("deleted", vault))
			w.settle()
			if _, ok := w.find(id); !ok {
				t.Error("after deleted: the repository is gone, although the host has it")
			}
		})
	}
}

// TestTrueDeliveries checks that deliveries which the host confirms take effect, by
// whichever connection of the host they arrive.
func TestTrueDeliveries(t *testing.T) {
	w := startHintWorld(t, code.GitHub, nil)
	vault := hosttest.Repo{ID: 1, Owner: "acme", Name: "vault", Branch: "main"}
	w.awaitIndexed("vuvuzela")
	w.host.Put(vault)
	w.deliver("spare", "repository", w.repositoryEvent("publicized", vault))
	waitUntil(t, func() bool { return w.seesAnonymously("vuvuzela") })
	w.host.Delete(1)
	w.deliver("spare", "repository", w.repositoryEvent("deleted", vault))
	waitUntil(t, func() bool { _, ok := w.find(w.id(vault)); return !ok })
	w.checkAudited("repo.registered", `"cause":"sync"`)
	w.checkAudited("repo.changed", `"cause":"reading"`, `"delivery":"d-1"`, `"private":"false"`)
	w.checkAudited("repo.removed", `"cause":"reading"`, `"delivery":"d-2"`)
}

// checkAudited waits for an entry of the audit log whose line has all parts.
func (w *hintWorld) checkAudited(action string, parts ...string) {
	w.t.Helper()
	body := ""
	eventuallyOr(w.t, func() bool {
		_, body = w.asOperator(w.t, http.MethodGet, "/api/ee/audit/export", "", "reading")
		for line := range strings.Lines(body) {
			has := strings.Contains(line, `"action":"`+action+`"`)
			for _, part := range parts {
				has = has && strings.Contains(line, part)
			}
			if has {
				return true
			}
		}
		return false
	}, func() string { return action + " is not in the audit log:\n" + body })
}

// TestOldPublicizedDelivery sends a delivery again after the repository was made private:
// under a new ID, because the ID is not signed.
func TestOldPublicizedDelivery(t *testing.T) {
	w := startHintWorld(t, code.GitHub, nil)
	w.awaitIndexed("vuvuzela")
	vault := hosttest.Repo{ID: 1, Owner: "acme", Name: "vault", Private: true, Branch: "main"}
	public := vault
	public.Private = false
	old := w.repositoryEvent("publicized", public)
	w.host.Put(public)
	w.deliver("hub", "repository", old)
	waitUntil(t, func() bool { return w.seesAnonymously("vuvuzela") })
	w.host.Put(vault)
	w.deliver("hub", "repository", w.repositoryEvent("privatized", vault))
	waitUntil(t, func() bool { return !w.seesAnonymously("vuvuzela") })
	w.deliver("hub", "repository", old)
	w.settle()
	if w.seesAnonymously("vuvuzela") {
		known, _ := w.find(w.id(vault))
		t.Errorf("an old delivery made the repository public again: %+v\n%s", known, askAnonymously(t, http.MethodPost, w.URL()+"/api/search", `{"query":"vuvuzela","matches":10}`))
	}
}

// TestPushOfAPrivateRepository follows a repository that becomes private at a host that
// sends no event for it: the next push says so, and its text is not public for a moment,
// even if the host cannot be read.
func TestPushOfAPrivateRepository(t *testing.T) {
	w := startHintWorld(t, code.Gitea, nil)
	open := hosttest.Repo{ID: 7, Owner: "acme", Name: "open", Branch: "main"}
	w.addRepository(open, "theorbo")
	w.deliver("hub", "push", w.pushEvent(open))
	waitUntil(t, func() bool { return w.seesAnonymously("theorbo") })
	open.Private = true
	w.host.Put(open)
	w.host.SetDown(true)
	tree := gittest.New(t)
	tree.CommitFiles("a.txt", "cittern\n")
	tree.Git("push", "--quiet", "--force", filepath.Join(w.root, "acme", "open.git"), "HEAD:refs/heads/main")
	push := w.pushEvent(open)
	if status := w.deliver("hub", "push", push); status != http.StatusAccepted {
		t.Fatalf("status %d", status)
	}
	waitUntil(t, func() bool {
		if w.seesAnonymously("cittern") {
			known, _ := w.find(w.id(open))
			t.Fatalf("an anonymous search finds the text of a push that says that the repository is private; registered as %+v\n%s", known, askAnonymously(t, http.MethodPost, w.URL()+"/api/search", `{"query":"cittern","matches":10}`))
		}
		_, body := w.asOperator(t, http.MethodPost, "/api/search", `{"query":"cittern","matches":10}`, "reading")
		return strings.Contains(body, "a.txt")
	})
	if known, _ := w.find(w.id(open)); !known.Private || w.seesAnonymously("cittern") {
		t.Errorf("registered as %+v", known)
	}
	w.checkAudited("repo.changed", `"cause":"delivery"`, `"private":"true"`)
}
