package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/authtest"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/web"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

const secret = "thirty-two bytes, as is the least"

// repositories are two repositories, the second of which is private.
type repositories struct{}

// testContexts are search contexts: of the public repository, of the private one, and of
// both.
var testContexts = map[string]corpus.Context{
	"open":   func(name string) bool { return name == "example.com/open" },
	"closed": func(name string) bool { return name == "example.com/closed" },
	"Opera":  func(string) bool { return true },
}

var known = []*corpus.Repository{
	{Repository: code.Repository{ID: 1, Name: "example.com/open"}, IndexedAt: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)},
	{Repository: code.Repository{ID: 2, Name: "example.com/closed", Private: true}},
}

func (repositories) Repositories(context.Context) ([]*corpus.Repository, error) { return known, nil }

func (repositories) Find(_ context.Context, wanted code.Repository) (code.Repository, error) {
	for _, r := range known {
		if r.ID == wanted.ID {
			return r.Repository, nil
		}
	}
	return code.Repository{}, code.ErrNotFound
}

// world is a server of pages over accounts in memory.
type world struct {
	t         testing.TB
	accounts  *auth.Service
	directory *authtest.Directory
	server    *httptest.Server
	now       func() time.Time
	mu        sync.Mutex
	routes    map[string]int // counted by countingFront
	browser   *browser
	notes     notes
	ready     error
	searches  *fakeSearches // nil: the server does not search
	refuse    error         // the error that refuses searches
	// refuseQueries refuses searches for queries with a word; queries counts all
	// searches.
	refuseQueries map[string]error
	queries       map[string]int
}

// newWorld serves pages; providers gets the server's address.
func newWorld(t testing.TB, providers func(publicURL string) []oidc.Provider, set ...func(*auth.Options)) *world {
	t.Helper()
	return newSearchWorld(t, nil, providers, set...)
}

// newSearchWorld is newWorld with pages that search.
func newSearchWorld(t testing.TB, searches *fakeSearches, providers func(publicURL string) []oidc.Provider, set ...func(*auth.Options)) *world {
	t.Helper()
	return newAPIWorld(t, nil, searches, providers, set...)
}

// newAPIWorld is newSearchWorld with pages that call operations of an API.
func newAPIWorld(t testing.TB, operations http.Handler, searches *fakeSearches, providers func(publicURL string) []oidc.Provider, set ...func(*auth.Options)) *world {
	t.Helper()
	w := &world{t: t, searches: searches, directory: authtest.New(), routes: map[string]int{}, queries: map[string]int{}, now: time.Now}
	o := auth.Options{
		Directory: w.directory, Appender: w.directory, Secret: []byte(secret), Catalog: repositories{},
		Hashing: auth.Hashing{MemoryKiB: 8, Passes: 1, Waiting: 1 << 10, Wait: time.Hour}, Now: func() time.Time { return w.now() },
	}
	for _, f := range set {
		f(&o)
	}
	var err error
	if w.accounts, err = auth.NewService(o); err != nil {
		t.Fatal(err)
	}
	var handler http.Handler
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/queries" {
			w.mu.Lock()
			defer w.mu.Unlock()
			_ = json.NewEncoder(rw).Encode(w.queries)
			return
		}
		if r.URL.Path == "/release" { // lets one search go on that waits
			select {
			case w.searches.pause <- struct{}{}:
			case <-r.Context().Done():
			}
			return
		}
		if r.URL.Path == "/probe" {
			w.requireKey(rw, r)
			return
		}
		handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.server.Close)
	options := web.Options{
		Accounts: w.accounts, Repositories: repositories{}, Secret: []byte(secret), PublicURL: w.server.URL, Version: "v1.2.3",
		API: operations, Audit: &w.notes, Front: countingFront{w: w}, Ready: func() error { return w.ready }, Now: func() time.Time { return w.now() },
	}
	options.Status, _ = operations.(web.Status)
	if worker, ok := operations.(interface {
		Work(id code.RepositoryID) (indexing.Status, bool)
	}); ok {
		options.Work = worker.Work
	}
	if all, ok := operations.(web.Repositories); ok {
		options.Repositories = all
	}
	if hosts, ok := operations.(interface {
		PreviewConnection(ctx context.Context, in web.ConnectionPreview) (web.ConnectionFound, error)
		PreviewRegistration(ctx context.Context, in *wire.RegisterRequest) (string, wire.RefSelection, wire.Error)
	}); ok {
		options.PreviewConnection, options.PreviewRegistration = hosts.PreviewConnection, hosts.PreviewRegistration
	}
	if front, ok := operations.(interface{ Replicas() []sharding.Replica }); ok {
		options.Replicas = front.Replicas
	}
	if searches != nil {
		options.Search, options.Contexts = searches, testContexts
	}
	if providers != nil {
		options.Providers, err = oidc.New(oidc.Options{
			Providers: providers(w.server.URL), PublicURL: w.server.URL, Secret: []byte(secret),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if handler, err = web.New(options); err != nil {
		t.Fatal(err)
	}
	w.browser = w.newBrowser()
	return w
}

// countingFront implements what pages need of front.Front. There are no pages about code
// here: cmd/quarry tests them with the whole server.
type countingFront struct {
	web.Front
	w *world
}

// Page implements web.Front.
func (f countingFront) Page(route string, page http.Handler) http.Handler {
	w := f.w
	checked := http.NewCrossOriginProtection().Handler(page)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.routes[route]++
		w.mu.Unlock()
		rw.Header().Set("X-Request-Id", "request-1")
		checked.ServeHTTP(rw, r)
	})
}

// SearchPage implements web.Front.
func (f countingFront) SearchPage(route string, page http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return f.Page(route, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.w.mu.Lock()
		f.w.queries[r.FormValue("q")]++
		f.w.mu.Unlock()
		for word, refuse := range f.w.refuseQueries {
			if strings.Contains(r.FormValue("q"), word) {
				fail(rw, r, refuse)
				return
			}
		}
		if f.w.refuse != nil {
			fail(rw, r, f.w.refuse)
			return
		}
		principal, err := f.w.accounts.Authenticate(r)
		if err != nil {
			principal = &auth.Principal{}
		}
		page.ServeHTTP(rw, r.WithContext(auth.With(r.Context(), principal)))
	}))
}

// browser stores cookies, does not follow redirects automatically, and submits forms as
// they are on the page, including hidden fields.
type browser struct {
	w      *world
	client *http.Client
	page   string // the last page
	status int
	header http.Header
	at     string
}

func (w *world) newBrowser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &browser{w: w, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b *browser) doRequest(r *http.Request) {
	b.w.t.Helper()
	answer, err := b.client.Do(r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	_ = answer.Body.Close()
	b.page, b.status, b.header, b.at = string(body), answer.StatusCode, answer.Header, r.URL.RequestURI()
}

func (b *browser) get(path string) *browser {
	b.w.t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.w.server.URL + path
	}
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		b.w.t.Fatal(err)
	}
	b.doRequest(r)
	return b
}

// followRedirect follows the redirect of the last response.
func (b *browser) followRedirect() *browser {
	b.w.t.Helper()
	location := b.header.Get("Location")
	if location == "" {
		b.w.t.Fatalf("%s answers %d and leads nowhere:\n%s", b.at, b.status, b.pageText())
	}
	return b.get(location)
}

var (
	formTag   = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)"[^>]*>(.*?)</form>`)
	hiddenTag = regexp.MustCompile(`<input type="hidden" name="([^"]*)"(?: autocomplete="[^"]*")? value="([^"]*)"`)
)

// submitForm sends the first form of the page that leads to action and contains the text
// with, including its hidden fields and the given fields, name=value.
func (b *browser) submitForm(action, with string, fields ...string) *browser {
	b.w.t.Helper()
	for _, form := range formTag.FindAllStringSubmatch(b.page, -1) {
		if form[1] != action || !strings.Contains(form[2], with) {
			continue
		}
		values := url.Values{}
		for _, hidden := range hiddenTag.FindAllStringSubmatch(form[2], -1) {
			values.Set(hidden[1], unescapeHTML(hidden[2]))
		}
		for _, field := range fields {
			name, value, _ := strings.Cut(field, "=")
			values.Add(name, value)
		}
		return b.postForm(action, values)
	}
	b.w.t.Fatalf("%s has no form for %s with %q:\n%s", b.at, action, with, b.page)
	return b
}

func (b *browser) postForm(path string, values url.Values) *browser {
	b.w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, b.w.server.URL+path, strings.NewReader(values.Encode()))
	if err != nil {
		b.w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	b.doRequest(r)
	return b
}

func unescapeHTML(s string) string {
	return strings.NewReplacer("&#43;", "+", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

var (
	mainTag  = regexp.MustCompile(`(?s)<main[^>]*>(.*)</main>`)
	anyTag   = regexp.MustCompile(`(?s)<[^>]*>`)
	fieldTag = regexp.MustCompile(`(?s)<input id="([^"]*)"[^>]*? value="([^"]*)"[^>]*>`)
	boxTag   = regexp.MustCompile(`<input type="checkbox"[^>]* value="([^"]*)"( checked)?>`)
	blanks   = regexp.MustCompile(`\s*\n\s*`)
	values   = regexp.MustCompile(`(q[sio]|sbk)_[0-9a-f]{64}`)
	begins   = regexp.MustCompile(`sbk_[0-9a-f]{6}…`)
)

// pageText returns the visible text of the page, line by line, without what varies from
// run to run.
func (b *browser) pageText() string {
	main := mainTag.FindStringSubmatch(b.page)
	if main == nil {
		return b.page
	}
	text := fieldTag.ReplaceAllString(main[1], "[$1: $2]")
	text = boxTag.ReplaceAllString(text, "[$1$2]")
	text = anyTag.ReplaceAllString(text, "\n")
	text = values.ReplaceAllString(unescapeHTML(text), "${1}_VALUE")
	text = begins.ReplaceAllString(text, "sbk_PREFIX…")
	text = strings.ReplaceAll(text, b.w.server.URL, "SERVER")
	return strings.TrimSpace(blanks.ReplaceAllString("\n"+text, "\n"))
}

// expectPage fails unless the page has the status and contains all of words.
func (b *browser) expectPage(status int, words ...string) *browser {
	b.w.t.Helper()
	text := b.pageText()
	if b.status != status {
		b.w.t.Fatalf("%s: status %d, want %d:\n%s", b.at, b.status, status, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			b.w.t.Errorf("%s does not say %q:\n%s", b.at, word, text)
		}
	}
	return b
}

// leadsTo fails unless the last response redirects there, and follows it.
func (b *browser) leadsTo(path string) *browser {
	b.w.t.Helper()
	if b.status != http.StatusSeeOther || b.header.Get("Location") != path {
		b.w.t.Fatalf("%s: %d to %q, want %q:\n%s", b.at, b.status, b.header.Get("Location"), path, b.pageText())
	}
	return b.followRedirect()
}

// openLink opens a link with a one-time value. It fails unless the page is at an address
// without the value.
func (b *browser) openLink(link string) *browser {
	b.w.t.Helper()
	path, _, _ := strings.Cut(strings.TrimPrefix(link, b.w.server.URL), "?")
	return b.get(link).leadsTo(path)
}

// shownText returns the value that the page shows only once.
func (b *browser) shownText() string {
	b.w.t.Helper()
	found := regexp.MustCompile(`id="value">([^<]*)<`).FindStringSubmatch(b.page)
	if found == nil {
		b.w.t.Fatalf("%s shows no value:\n%s", b.at, b.pageText())
	}
	return unescapeHTML(found[1])
}

const password = "correct horse battery"

// setUp creates the first owner, ada, who is signed in with the world's browser.
func (w *world) setUp() *browser {
	w.t.Helper()
	w.browser.openLink("/setup?token="+w.accounts.SetupValue()).submitForm("/setup", "", "name=Ada", "email=ada@example.com", "password="+password)
	return w.browser.leadsTo("/?done=set-up")
}

// joinMember creates a member by an invitation, and returns the browser in which they are
// signed in.
func (w *world) joinMember(name string) *browser {
	w.t.Helper()
	w.browser.get("/settings/members").submitForm("/settings/members/invite", "", "email=", "role=MEMBER", "days=7").expectPage(http.StatusOK)
	link := strings.TrimPrefix(w.browser.shownText(), w.server.URL)
	b := w.newBrowser()
	b.openLink(link).submitForm("/invite", "", "name="+name, fmt.Sprintf("email=%s@example.com", name), "password="+password)
	b.leadsTo("/?done=joined")
	return b
}
