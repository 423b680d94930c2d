package server

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// publicPath is the path below which the servers of these tests are reached.
const publicPath = "/tools/quarry"

// pathProxy is a reverse proxy that serves a server below publicPath. Every other address
// of its host belongs to other applications.
type pathProxy struct {
	*httptest.Server
	target atomic.Pointer[url.URL]
	mu     struct {
		sync.Mutex
		outside []string // the other addresses that were requested
	}
}

// newPathProxy starts a proxy that passes publicPath on, or removes it.
func newPathProxy(t *testing.T, removes bool) *pathProxy {
	p := &pathProxy{}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		target := p.target.Load()
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
		r.SetXForwarded()
	}}
	var served http.Handler = forward
	if removes {
		served = http.StripPrefix(publicPath, forward)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, publicPath+"/") {
			p.mu.Lock()
			p.mu.outside = append(p.mu.outside, r.URL.Path)
			p.mu.Unlock()
			http.Error(w, "another application", http.StatusNotFound)
			return
		}
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// base returns the public URL of the server.
func (p *pathProxy) base() string { return p.URL + publicPath }

// runBelowPath runs a server behind the proxy, with settings.
func runBelowPath(t *testing.T, p *pathProxy, change func(*config.Config), set ...string) *Server {
	t.Helper()
	c := testConfig(t, append([]string{"publicUrl=" + p.base() + "/", "limits.anonymousPerSecond=0", "limits.perSecond=0", "access.trustedProxies=127.0.0.1"}, set...)...)
	if change != nil {
		change(c)
	}
	s := runServer(t, c)
	target, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	p.target.Store(target)
	return s
}

// addressOnPage matches the addresses on a page, with the attribute that has them.
var addressOnPage = regexp.MustCompile(`\s(href|src|action|formaction)="([^"]*)"`)

// pageCrawler follows the addresses on pages.
type pageCrawler struct {
	v       *visitor
	pending []string
	seen    map[string]bool
	// kinds counts the addresses of each attribute.
	kinds map[string]int
}

// maxCrawled bounds the pages of a crawl.
const maxCrawled = 500

// add adds an address, unless one with the same path and the same parameters was added.
func (c *pageCrawler) add(at *url.URL) {
	key := at.Path + "?" + strings.Join(slices.Sorted(func(yield func(string) bool) {
		for name := range at.Query() {
			if !yield(name) {
				return
			}
		}
	}), "&")
	if !c.seen[key] && len(c.seen) < maxCrawled {
		c.seen[key] = true
		c.pending = append(c.pending, at.String())
	}
}

// postForm matches the action of a form that is sent with POST.
var postForm = regexp.MustCompile(`<form[^>]* method="post"[^>]* action="([^"]*)"`)

// crawl requests every address that the pages lead to, with GET, and sends every other form
// empty. None may be unknown.
func (c *pageCrawler) crawl() {
	posted := map[string]bool{}
	for len(c.pending) > 0 {
		here := c.parse(c.pending[0])
		c.pending = c.pending[1:]
		status, kind, text := c.v.requestPage(strings.TrimPrefix(here.String(), c.v.base), htmlPage, nil)
		if status == http.StatusNotFound || status >= http.StatusInternalServerError {
			c.v.t.Errorf("%s: %d", here, status)
		}
		if kind != htmlPage {
			continue
		}
		for _, found := range postForm.FindAllStringSubmatch(text, -1) {
			action := strings.TrimPrefix(here.ResolveReference(c.parse(html.UnescapeString(found[1]))).String(), c.v.base)
			if posted[action] {
				continue
			}
			posted[action] = true
			if status, _, _ := c.v.requestPage(action, htmlPage, url.Values{}); status == http.StatusNotFound {
				c.v.t.Errorf("the form of %s is sent to %s: %d", here, action, status)
			}
		}
		c.addLinks(here, text)
	}
}

// addLinks adds the addresses of this server on a page, which all lead below the path.
func (c *pageCrawler) addLinks(here *url.URL, text string) {
	forms := map[string]bool{}
	for _, found := range postForm.FindAllStringSubmatch(text, -1) {
		forms[found[1]] = true
	}
	for _, found := range addressOnPage.FindAllStringSubmatch(text, -1) {
		to := here.ResolveReference(c.parse(html.UnescapeString(found[2])))
		if to.Host != here.Host {
			continue
		}
		c.kinds[found[1]]++
		to.Fragment = ""
		switch {
		case !strings.HasPrefix(to.Path, publicPath+"/"):
			c.v.t.Errorf("%s leads to %s, which is not below %s", here, to, publicPath)
		case found[1] != "action" || !forms[found[2]]:
			c.add(to)
		}
	}
}

func (c *pageCrawler) parse(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		c.v.t.Fatal(err)
	}
	return u
}

// TestServedBelowAPath runs a server below a path of a host, behind a proxy that passes the
// path on and behind one that removes it: every address on every page leads below the path,
// and so do redirects, cookies, links in answers of the API and of agents, and the client.
func TestServedBelowAPath(t *testing.T) {
	t.Parallel()
	for name, removes := range map[string]bool{"the proxy passes the path on": false, "the proxy removes the path": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPathProxy(t, removes)
			root := t.TempDir()
			dir := filepath.Join(root, "kettle.git")
			runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
			runGit(t, strings.NewReader(visitedHistory(t)), "-C", dir, "fast-import", "--quiet", "--done")
			spoon := newGitRepository(t, "spoon")
			s := runBelowPath(t, p, nil, "git.allowedRoots="+root+","+filepath.Dir(spoon.dir))
			s.registerAt(t, spoon, spoon.commitFiles("spoon.go", "package spoon\n\nfunc Stir() {}\n"))
			s.addDeadLetters(t, 1)
			owner := newVisitor(t, s)
			owner.base = p.base()
			if status, _, text := owner.requestPage("/setup?token="+s.auth.SetupValue(), htmlPage, nil); status != http.StatusOK || !strings.Contains(text, `action="`+publicPath+`/setup"`) {
				t.Fatalf("set-up: %d\n%s", status, text)
			}
			if status, _, text := owner.requestPage("/setup", htmlPage, url.Values{"token": {s.auth.SetupValue()}, "email": {"ada@example.com"}, "password": {"correct horse battery"}}); status != http.StatusOK {
				t.Fatalf("set-up: %d\n%s", status, text)
			}
			checkCookies(t, owner)
			if status, text := owner.submitPage("/admin/register", "/admin/register", url.Values{"address": {dir}, "name": {"team/kettle"}}); status != http.StatusOK {
				t.Fatalf("register: %d\n%s", status, text)
			}
			waitUntil(t, func() bool { return strings.Contains(owner.mustShow("/search?q=boil"), "kettle.go") })
			c := &pageCrawler{v: owner, seen: map[string]bool{}, kinds: map[string]int{}}
			for _, page := range []string{
				"/", "/search?q=boil", "/search?q=a(b&re=1", "/search?q=nothing_is_named_so", "/search/groups?q=boil", "/search/contexts", "/symbols?name=Boil", "/find?q=ket", "/find?q=%3E", "/find?q=%40Boil", "/why?file=team/kettle/cup.bin",
				"/browse/team/kettle", "/browse/team/kettle/-/blob/kettle.go?blame=1", "/browse/team/kettle/-/compare/HEAD~1...HEAD", "/settings/saved/new?q=boil", "/settings/members", "/api/docs",
				"/~/repos", "/~/browse/team/kettle/-/blob/kettle.go", "/opensearch.xml",
			} {
				c.add(c.parse(p.base() + page))
			}
			c.crawl()
			for _, missing := range []string{"/nowhere", "/browse/team/none", "/browse/team/kettle/-/blob/none"} {
				status, _, text := owner.requestPage(missing, htmlPage, nil)
				if c.addLinks(c.parse(p.base()+missing), text); status != http.StatusNotFound {
					t.Errorf("%s: %d", missing, status)
				}
			}
			if len(c.seen) < 100 || c.kinds["href"] < 1000 || c.kinds["action"] < 100 || c.kinds["src"] < 50 {
				t.Errorf("%d pages with %v addresses: the crawl has not seen much", len(c.seen), c.kinds)
			}
			if text := owner.mustShow("/"); !strings.Contains(text, `data-path="`+publicPath+`"`) {
				t.Errorf("scripts do not learn the path:\n%s", text)
			}
			checkRedirectsBelowPath(t, owner)
			checkAPIBelowPath(t, s, p)
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.mu.outside) > 0 {
				t.Errorf("addresses of other applications: %q", p.mu.outside)
			}
			if status, _ := getURL(t, s.URL()+"/healthz"); status != http.StatusOK {
				t.Errorf("a health check without the path: %d", status)
			}
		})
	}
}

// checkCookies checks that the browser sends cookies only below the path.
func checkCookies(t *testing.T, v *visitor) {
	t.Helper()
	for path, want := range map[string]bool{publicPath: true, publicPath + "/repos": true, "/": false, publicPath + "x": false} {
		at, err := url.Parse(v.base)
		if err != nil {
			t.Fatal(err)
		}
		at.Path = path
		if got := len(v.client.Jar.Cookies(at)) > 0; got != want {
			t.Errorf("%s gets a cookie: %t, want %t", path, got, want)
		}
	}
}

// checkRedirectsBelowPath checks redirects of pages, of the multiplexer and to the sign-in
// page.
func checkRedirectsBelowPath(t *testing.T, v *visitor) {
	t.Helper()
	stranger := &http.Client{Transport: http.DefaultTransport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for from, want := range map[string]string{
		"/browse": "/browse/", "/settings/keys?x=1": "/sign-in?return=" + url.QueryEscape("/settings/keys?x=1"),
		"/~/search?query=a": "/search?query=a", "/~": "/", "/~//evil.example/": "/~/evil.example/",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+from, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", htmlPage)
		answer, err := stranger.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close() // the header is enough
		if got := answer.Header.Get("Location"); got != publicPath+want {
			t.Errorf("%s leads to %s, want %s", from, got, publicPath+want)
		}
	}
}

// checkAPIBelowPath calls the API, its streams, its document and the tools of agents.
func checkAPIBelowPath(t *testing.T, s *Server, p *pathProxy) {
	t.Helper()
	api, err := client.New(p.base(), client.Options{APIKey: operator.Token(s.o.Config.Data)})
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for r, err := range api.ListRepositoriesAll(t.Context(), client.ListRepositoriesParams{PerPage: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		names++
		if !strings.HasPrefix(r.WebURL, p.base()+"/browse/") {
			t.Errorf("the page of %s is %s", r.RepoName, r.WebURL)
		}
	}
	if names != 2 {
		t.Errorf("%d repositories on pages of one, want 2", names)
	}
	status, answer := requestStatus(t, http.MethodGet, p.base()+"/api/openapi.json", "")
	var d openapi.Document
	if err := json.Unmarshal([]byte(answer), &d); err != nil || status != http.StatusOK || len(d.Servers) != 1 || d.Servers[0].URL != p.base() {
		t.Errorf("OpenAPI document: %d, servers %+v, %v", status, d.Servers, err)
	}
	if name := d.Components.SecuritySchemes.Get("sessionCookie").Name; name != "path_quarry_session" {
		t.Errorf("the document names the session cookie %s", name)
	}
	key := operator.Token(s.o.Config.Data)
	for _, c := range []struct{ method, path, body, says string }{
		{http.MethodPost, "/api/search", `{"query":"Stir","matches":5}`, p.base() + "/browse/"},
		{http.MethodPost, "/api/stream_search", `{"query":"Stir","matches":5}`, p.base() + "/browse/"},
		{http.MethodGet, "/api/events", "", "position"},
		{http.MethodPost, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"repo":"spoon","path":"spoon.go"}}}`, p.base() + "/browse/"},
		{http.MethodPost, "/webhooks/github/none", `{}`, "no such connection"},
		{http.MethodGet, "/readyz", "", `"status":"ok"`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, p.base()+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it has been read
		if err != nil || !strings.Contains(string(text), c.says) {
			t.Errorf("%s %s does not say %q: %d %s", c.method, c.path, c.says, response.StatusCode, text)
		}
	}
}

// TestSignInBelowAPath signs in with a provider, which leads back below the path.
func TestSignInBelowAPath(t *testing.T) {
	t.Parallel()
	p, yes := newPathProxy(t, false), true
	provider := oidctest.Start(t, map[string]oidctest.Account{"edith": {Email: "edith@example.com", Verified: &yes, Name: "Edith"}}, map[string]string{"quarry": p.base() + "/auth/oidc/company/callback"})
	s := runBelowPath(t, p, func(c *config.Config) {
		c.Access.AdmitAll = true
		c.Access.OIDC = []config.OIDC{{Name: "company", Issuer: provider.Issuer, ClientID: "quarry", ClientSecret: config.NewSecret(oidctest.ClientSecret)}}
	})
	owner := newVisitor(t, s)
	owner.base = p.base()
	if status, _, text := owner.requestPage("/setup", htmlPage, url.Values{"token": {s.auth.SetupValue()}, "email": {"ada@example.com"}, "password": {"correct horse battery"}}); status != http.StatusOK {
		t.Fatalf("set-up: %d\n%s", status, text)
	}
	v := newVisitor(t, s)
	v.base = p.base()
	v.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), p.URL) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+"/auth/oidc/company?return="+publicPath+"/settings/profile", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := v.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // the header is enough
	back := provider.Visit(answer.Header.Get("Location"), "edith").String()
	if !strings.HasPrefix(back, p.base()+"/auth/oidc/company/callback?") {
		t.Fatalf("the provider leads to %s", back)
	}
	if status, _, text := v.requestPage(strings.TrimPrefix(back, v.base), htmlPage, nil); status != http.StatusOK || !strings.Contains(text, "edith@example.com") {
		t.Errorf("after the sign-in: %d\n%s", status, text)
	}
}

// TestScriptsBelowAPath uses the scripts of pages in a real browser.
func TestScriptsBelowAPath(t *testing.T) {
	t.Parallel()
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	p := newPathProxy(t, false)
	spoon := newGitRepository(t, "spoon")
	s := runBelowPath(t, p, nil, "git.allowedRoots="+filepath.Dir(spoon.dir), "access.anonymous=on")
	s.registerAt(t, spoon, spoon.commitFiles("spoon.go", "package spoon\n\n// Stir stirs.\nfunc Stir() {}\n\nfunc twice() {\n\tStir()\n\tStir()\n}\n"))
	argument, err := json.Marshal(map[string]any{"modules": modules, "browser": program, "base": p.base()})
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "node", "testdata/belowpath.mjs", string(argument)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if outside := slices.DeleteFunc(p.mu.outside, func(path string) bool { return path == "/favicon.ico" }); len(outside) > 0 {
		t.Errorf("addresses of other applications: %q", outside)
	}
}

// TestReserved checks that no path of the public URL is that of one of our own pages.
func TestReserved(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	paths := append(s.pages.Paths(), "/webhooks/", "/admin/events", "/metrics", "/debug/pprof/", "/auth/oidc/")
	for _, path := range document.Paths {
		paths = append(paths, path.Name)
	}
	for _, path := range paths {
		element, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if element != "" && element != "{$}" && !publicurl.IsReserved(element) {
			t.Errorf("%s is served, but publicUrl may be %s", path, fmt.Sprintf("https://code.example/%s", element))
		}
	}
}
