package clienttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

// world is a server behind a proxy that keeps the last response.
type world struct {
	url      string // URL of the proxy
	root     string // directory of the repositories
	token    string // token that creates the owner
	operator string // token of the operator
	provider *oidctest.Provider
	host     string // URL of a code host that serves pictures

	mu struct {
		sync.Mutex
		last *exchange
	}
}

// exchange is a request as the proxy saw it, and its response.
type exchange struct {
	method, path string
	status       int
	header       http.Header
	body         string
}

// hookSecret signs deliveries.
const hookSecret = "a secret of the tests of clients"

// picture begins like a GIF file and is text, like everything that drivers print.
const picture = "GIF89a of a saucer"

func newWorld(t *testing.T, binary string) *world {
	t.Helper()
	w := &world{root: t.TempDir()}
	for _, name := range []string{"kettle", "doomed", "broken", "saucer"} {
		testserver.MakeRepository(t, filepath.Join(w.root, name))
	}
	var upstream *url.URL
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Accept-Encoding") // the recorded bodies are not compressed
		},
		ModifyResponse: w.recordAnswer,
	})
	t.Cleanup(proxy.Close)
	w.url = proxy.URL
	yes := true
	w.provider = oidctest.Start(t, map[string]oidctest.Account{"edith": {Email: "edith@example.com", Verified: &yes, Name: "Edith"}},
		map[string]string{"quarry": w.url + "/auth/oidc/company/callback"})
	w.host = startHost(t, w.root)
	server := testserver.Start(t, binary, w.root, "--config", w.writeConfig(t), "--set", "pipeline.maxAttempts=1",
		"--set", "git.allowedProtocols=file,http", "--set", "git.allowedNetworks=127.0.0.0/8")
	w.token, w.operator = server.SetupToken, server.OperatorToken
	var err error
	if upstream, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
	return w
}

// startHost runs a Gitea that serves the repositories below root, and a picture of saucer.
func startHost(t *testing.T, root string) string {
	routes := http.NewServeMux()
	routes.Handle("/", gittest.HTTPHandler(t, root))
	routes.HandleFunc("/picture", func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, picture) })
	host := httptest.NewServer(routes)
	routes.HandleFunc("/api/v1/repositories/5", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, describeSaucer(host.URL))
	})
	t.Cleanup(host.Close)
	return host.URL
}

// writeConfig writes the configuration file as JSON, which is a subset of YAML.
func (w *world) writeConfig(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"publicUrl": w.url,
		"connections": []any{map[string]any{
			"name": "local", "kind": "genericGitHost", "autoRegister": true, "secrets": []string{"whsec_" + base64.StdEncoding.EncodeToString([]byte(hookSecret))},
		}, map[string]any{
			"name": "pictured", "kind": "gitea", "url": w.host, "autoRegister": true, "secrets": []string{hookSecret},
		}},
		"access": map[string]any{"oidc": []any{map[string]any{
			"name": "company", "issuer": w.provider.Issuer, "clientId": "quarry", "clientSecret": oidctest.ClientSecret,
		}}},
	})
	path := filepath.Join(t.TempDir(), "quarry.yaml")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// recordAnswer keeps a copy of a response and passes it on.
func (w *world) recordAnswer(r *http.Response) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(b))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.last = &exchange{method: r.Request.Method, path: r.Request.URL.Path, status: r.StatusCode, header: r.Header, body: string(b)}
	return nil
}

// takeLast returns the last exchange and forgets it. It returns nil if there is none.
func (w *world) takeLast() *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.mu.last
	w.mu.last = nil
	return last
}

// runStep runs a "do" entry of the table.
func (w *world) runStep(t *testing.T, what string) {
	t.Helper()
	switch what {
	case "push":
		w.deliverPush(t)
	case "pushPictured":
		w.deliverPicturedPush(t)
	case "damage": // prevents all fetches
		objects := filepath.Join(w.root, "broken", ".git", "objects")
		if err := os.Rename(objects, objects+".away"); err != nil {
			t.Fatal(err)
		}
	case "signInWithProvider":
		w.signInWithProvider(t)
	default:
		t.Fatalf("do: %q is not known", what)
	}
	w.takeLast()
}

// deliverPush delivers a push of the repository kettle, which registers it.
func (w *world) deliverPush(t *testing.T) {
	t.Helper()
	body := `{"repository":` + strconv.Quote(filepath.Join(w.root, "kettle")) + `,"ref":"refs/heads/main"}`
	header := http.Header{}
	signature.SetStandard(header, "msg_kettle", time.Now(), []byte(body), []byte(hookSecret))
	w.deliver(t, "/webhooks/genericGitHost/local", body, header)
}

// deliverPicturedPush delivers a push of the repository saucer, whose host serves a
// picture of it.
func (w *world) deliverPicturedPush(t *testing.T) {
	t.Helper()
	body := fmt.Sprintf(`{"ref": "refs/heads/main", "before": "%040d", "after": "%040d", "repository": %s}`, 0, 1, describeSaucer(w.host))
	w.deliver(t, "/webhooks/gitea/pictured", body, http.Header{
		"X-Gitea-Event": {"push"}, "X-Gitea-Signature": {ingesttest.SignHMAC("", []byte(body), []byte(hookSecret))},
	})
}

// describeSaucer returns what the host says about the repository saucer.
func describeSaucer(host string) string {
	return fmt.Sprintf(`{"id": 5, "full_name": "saucer", "private": false, "clone_url": "%s/saucer", "avatar_url": "%[1]s/picture"}`, host)
}

// deliver posts a delivery, which the server must accept.
func (w *world) deliver(t *testing.T, path, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if said, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusAccepted {
		t.Fatalf("push: %s: %s", answer.Status, said)
	}
}

// signInWithProvider signs in a user without an invitation, who must then be approved.
func (w *world) signInWithProvider(t *testing.T) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(address string) (*http.Response, string) {
		answer, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		page, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(page)
	}
	_, page := get(w.url + "/sign-in")
	_, rest, _ := strings.Cut(page, `href="/auth/oidc/company?`)
	query, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no link to the provider in %s", page)
	}
	leave, _ := get(w.url + "/auth/oidc/company?" + html.UnescapeString(query))
	if arrival, page := get(w.provider.Visit(leave.Header.Get("Location"), "edith").String()); arrival.StatusCode >= 400 {
		t.Fatalf("arrival from the provider: %s: %s", arrival.Status, page)
	}
}
