package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/query/web"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestSetUp(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser
	b.get("/").expectPage(http.StatusOK, "searches code", "Three steps to the first search", "setup.link")
	b.get("/sign-in").expectPage(http.StatusOK, "no owner yet", "setup.link")
	b.openLink("/setup?token=wrong").submitForm("/setup", "", "email=ada@example.com", "password="+password).
		expectPage(http.StatusForbidden, "not the latest link that the server printed", "[email: ada@example.com]")
	link := "/setup?token=" + w.accounts.SetupValue()
	b.openLink(link).submitForm("/setup", "", "email=ada", "password="+password).expectPage(http.StatusUnprocessableEntity, "Want an email address.")
	if !strings.Contains(b.page, `aria-describedby="email-error"`) || !strings.Contains(b.page, `id="email-error"`) {
		t.Error("the error is not next to its field")
	}
	b.submitForm("/setup", "", "email=ada@example.com", "password=short").expectPage(http.StatusUnprocessableEntity, "Want 8 to 1024 characters.")
	if strings.Contains(b.page, "short\"") {
		t.Error("a password is shown again")
	}
	b.submitForm("/setup", "", "name=Ada", "email=ada@example.com", "password="+password).leadsTo("/?done=set-up").
		expectPage(http.StatusOK, "You are the owner")
	b.get(link).expectPage(http.StatusGone, "This server is set up.")
	w.newBrowser().postForm("/setup", url.Values{"token": {"x"}}).expectPage(http.StatusGone)
}

func TestSignInAndOut(t *testing.T) {
	w := newWorld(t, nil)
	w.setUp()
	b := w.newBrowser()
	b.get("/settings/sessions").leadsTo("/sign-in?return=%2Fsettings%2Fsessions").
		submitForm("/sign-in", "", "email=ada@example.com", "password=wrong").expectPage(http.StatusForbidden, "is wrong", "[email: ada@example.com]").
		submitForm("/sign-in", "", "email=ADA@example.com", "password="+password).
		leadsTo("/settings/sessions").expectPage(http.StatusOK, "this one")
	b.get("/sign-in").leadsTo("/")
	b.get("/welcome").leadsTo("/")
	b.submitForm("/sign-out", "").leadsTo("/sign-in?done=signed-out").expectPage(http.StatusOK, "You are signed out.")
	b.get("/settings/keys").leadsTo("/sign-in?return=%2Fsettings%2Fkeys")
	b.postForm("/sign-out", nil).leadsTo("/sign-in?return=%2Fsettings")
}

func TestPathsWithoutAPage(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser
	b.get("/browse/example.com/open").expectPage(http.StatusNotFound, "There is no such page.")
	if b.get("/sign-out").expectPage(http.StatusMethodNotAllowed, "page with the form"); b.header.Get("Allow") != "POST" {
		t.Errorf("Allow: %q", b.header.Get("Allow"))
	}
	if w.routes["unknown"] != 1 || w.routes["/sign-out"] != 1 {
		t.Errorf("routes %v", w.routes)
	}
}

func TestAccountsThatAreNotReadYet(t *testing.T) {
	w := newWorld(t, nil)
	w.setUp()
	w.ready = fmt.Errorf("%w: 3 of 5 records", web.ErrNotReady)
	for _, path := range []string{"/", "/preferences", "/sign-in", "/setup", "/settings/keys"} {
		w.browser.get(path).expectPage(http.StatusServiceUnavailable, "still loading its accounts")
	}
	w.ready = nil
	w.browser.get("/settings/keys").expectPage(http.StatusOK)
}

func TestTooManySignIns(t *testing.T) {
	w := newWorld(t, nil)
	w.setUp()
	b := w.newBrowser().get("/sign-in")
	for range 100 {
		if b.submitForm("/sign-in", "", "email=ada@example.com", "password=wrong"); b.status != http.StatusForbidden {
			break
		}
	}
	if b.expectPage(http.StatusTooManyRequests, "Please wait"); b.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestKeys(t *testing.T) {
	w := newWorld(t, nil)
	b := w.setUp()
	b.get("/settings/keys/new").expectPage(http.StatusOK, "[search checked]", "[git checked]", "[admin]").
		submitForm("/settings/keys/new", "", "name=", "days=90").
		expectPage(http.StatusUnprocessableEntity, "Choose at least one").
		submitForm("/settings/keys/new", "", "name=laptop", "scope=search", "days=soon").expectPage(http.StatusUnprocessableEntity, "Choose one from the list.").
		submitForm("/settings/keys/new", "", "name=laptop", "scope=search", "days=7", "repositories=example.com/open example.com/none").
		expectPage(http.StatusUnprocessableEntity, `There is no repository "example.com/none".`, "example.com/open").
		submitForm("/settings/keys/new", "", "name=laptop", "scope=search", "days=7", "repositories=example.com/open\nexample.com/closed").
		expectPage(http.StatusOK, "API Key created", "shown only once")
	value := b.shownText()
	r, _ := http.NewRequest(http.MethodGet, w.server.URL+"/", nil)
	r.Header.Set("Authorization", "Bearer "+value)
	p, err := w.accounts.Authenticate(r)
	if err != nil || len(p.Scopes) != 1 || p.Scopes[0] != account.ScopeSearch || len(p.Repositories) != 2 {
		t.Fatalf("the key is %+v, %v", p, err)
	}
	b.get("/settings/keys/new").submitForm("/settings/keys/new", "", "name=laptop", "scope=git", "days=0").
		expectPage(http.StatusConflict, "You already have a key with this name.")
	b.get("/settings/keys").expectPage(http.StatusOK, "laptop", "for example.com/open, example.com/closed", "Permanently delete laptop")
	if strings.Contains(b.page, value) {
		t.Error("the value is shown again")
	}
	b.submitForm("/settings/keys/delete", "").leadsTo("/settings/keys?done=key-deleted").expectPage(http.StatusOK, "The key is deleted.", "You have no keys.")
	if _, err := w.accounts.Authenticate(r); err == nil {
		t.Error("a deleted key works")
	}
	b.postForm("/settings/keys/delete", url.Values{"key": {"gone"}, "csrf": {formTokenOf(b)}}).expectPage(http.StatusNotFound, "This key no longer exists")
}

// TestSavedSearches saves, shares, opens, changes and deletes searches, and checks that
// no other user can access one that is not shared.
func TestSavedSearches(t *testing.T) {
	w := newWorld(t, nil)
	const edit = "/settings/saved/edit/"
	ada := w.setUp()
	bob := w.joinMember("bob")
	ada.get("/settings/saved/new?q=lang%3Ago+Open%26&re=1").expectPage(http.StatusOK, "lang:go Open&", "[1 checked]").
		submitForm("/settings/saved/new", "", "name= ", "query=x").expectPage(http.StatusUnprocessableEntity, "Want 1 to 100 characters of printable text.").
		submitForm("/settings/saved/new", "", "name=<b>files</b>", "query=lang:go Open&", "re=1", "shared=1").leadsTo("/settings/saved?done=search-saved").
		expectPage(http.StatusOK, "The search is saved.", "<b>files</b>", "shared")
	ada.get("/settings/saved/new").submitForm("/settings/saved/new", "", "name=<b>files</b>", "query=x").expectPage(http.StatusConflict, "You already have a saved search with this name.")
	ada.get("/settings/saved/new").submitForm("/settings/saved/new", "", "name=own", "query=repo:secret a\r\nb").leadsTo("/settings/saved?done=search-saved")
	shared := regexp.MustCompile(`href="(/saved/[0-9a-f]+)"><bdi>&lt;b`).FindStringSubmatch(ada.page)[1]
	own := regexp.MustCompile(`href="(/saved/[0-9a-f]+)"><bdi>own`).FindStringSubmatch(ada.page)[1]
	ada.get(own).leadsTo("/search?q=repo%3Asecret+a%0Ab")

	bob.get("/settings/saved").expectPage(http.StatusOK, "<b>files", "shared by another user")
	if strings.Contains(bob.page, "secret") || strings.Contains(bob.page, "ada@example.com") || strings.Contains(bob.page, edit+shared[7:]) || strings.Contains(bob.page, "for good") {
		t.Error("a member sees more than what is shared, or may change it")
	}
	csrf := formTokenOf(bob)
	bob.get(shared).leadsTo("/search?q=lang%3Ago+Open%26&re=1")
	for _, path := range []string{own, edit + own[7:], edit + shared[7:]} {
		bob.get(path).expectPage(http.StatusNotFound, "saved search does not exist")
	}
	taken := url.Values{"name": {"x"}, "query": {"x"}, "search": {strings.TrimPrefix(shared, "/saved/")}, "csrf": {csrf}}
	bob.postForm(edit+shared[7:], taken).expectPage(http.StatusNotFound)
	bob.postForm("/settings/saved/delete", taken).expectPage(http.StatusForbidden, "You may not do this.")
	w.newBrowser().get(shared).leadsTo("/sign-in?return=" + url.QueryEscape(shared))

	ada.get(edit+shared[7:]).expectPage(http.StatusOK, "[1 checked]").submitForm(edit+shared[7:], "", "name=files", "query=Open").leadsTo("/settings/saved?done=search-saved")
	bob.get("/settings/saved").expectPage(http.StatusOK, "There are no saved searches.")
	bob.get(shared).expectPage(http.StatusNotFound)
	ada.get("/settings/saved").submitForm("/settings/saved/delete", "").leadsTo("/settings/saved?done=search-deleted").expectPage(http.StatusOK, "The saved search is deleted.", "own")
}

// TestSavedContext saves filters on repositories as a search context, finds it on the pages that
// list contexts, and searches in it.
func TestSavedContext(t *testing.T) {
	f := &fakeSearches{canceled: make(chan struct{}, 1)}
	w := newSearchWorld(t, f, nil)
	ada := w.setUp()
	r, err := http.NewRequest(http.MethodGet, w.server.URL+"/search/contexts", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	ada.doRequest(r)
	ada.expectPage(http.StatusOK, "New search context")
	ada.get("/settings/saved/new?q=repo%3A").submitForm("/settings/saved/new", "", "name=my team", "query=repo:kettle or repo:pot").leadsTo("/settings/saved?done=search-saved").
		expectPage(http.StatusOK, `context:"my team"`)
	ada.doRequest(r)
	ada.expectPage(http.StatusOK, `context:"my team"`, "repo:kettle or repo:pot", "Edit")
	ada.get("/").expectPage(http.StatusOK, `context:"my team"`)
	ada.get("/search/contexts?name=TEAM").expectPage(http.StatusOK, `["my team"]`)
	ada.get("/search?q=context%3A%22my+team%22+boil").expectPage(http.StatusOK, "No match")
	if named := syntax.Contexts(f.request.Query.Root); len(named) != 1 || named[0].Means == nil || named[0].Means.String() != "repo:kettle or repo:pot" {
		t.Errorf("the search is %v, want the filters of the saved search", f.request.Query.Root)
	}
	w.joinMember("bob").get("/search?q=context%3A%22my+team%22+boil").expectPage(http.StatusBadRequest, "There is no search context")
}

// formTokenOf returns the form token on the last page.
func formTokenOf(b *browser) string {
	found := regexp.MustCompile(`name="csrf" value="([^"]*)"`).FindStringSubmatch(b.page)
	if found == nil {
		return ""
	}
	return found[1]
}

// TestMembersSeeTheirOwn requests, as a member, pages that only owners may see.
func TestMembersSeeTheirOwn(t *testing.T) {
	w := newWorld(t, nil)
	w.setUp()
	bob := w.joinMember("bob")
	bob.get("/settings/members").expectPage(http.StatusForbidden, "Only owners can view this page.")
	if n := len(w.notes.records); n == 0 || w.notes.records[n-1].Action != audit.RequestDenied ||
		w.notes.records[n-1].Metadata["route"] != "GET /settings/members" || w.notes.records[n-1].Actor.Kind != account.ActorUser {
		t.Errorf("written down: %+v", w.notes.records)
	}
	csrf := formTokenOf(bob)
	for _, path := range []string{"/settings/members", "/settings/members/invite", "/settings/members/revoke"} {
		bob.postForm(path, url.Values{"csrf": {csrf}, "do": {"owner"}}).expectPage(http.StatusForbidden, "Only owners")
	}
	bob.get("/settings/keys/new").expectPage(http.StatusOK, "[search checked]")
	if strings.Contains(bob.page, `value="admin"`) {
		t.Error("a member is offered the scope admin")
	}
	bob.submitForm("/settings/keys/new", "", "name=k", "scope=admin", "days=7").expectPage(http.StatusForbidden, "You may not do this.")
	// A repository that bob may not see does not exist for him.
	bob.submitForm("/settings/keys/new", "", "name=k", "scope=search", "days=7", "repositories=example.com/closed").
		expectPage(http.StatusUnprocessableEntity, `There is no repository "example.com/closed".`)
}

func TestMembers(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	bob := w.joinMember("bob")
	ada.get("/settings/members").expectPage(http.StatusOK, "bob@example.com", "you").
		submitForm("/settings/members", `value="suspended"`, "do=suspended").leadsTo("/settings/members?done=suspended").expectPage(http.StatusOK, "suspended")
	bob.get("/settings/keys").leadsTo("/sign-in?return=%2Fsettings%2Fkeys").
		submitForm("/sign-in", "", "email=bob@example.com", "password="+password).expectPage(http.StatusForbidden, "may not sign in")
	ada.submitForm("/settings/members", `value="reinstated"`, "do=reinstated").leadsTo("/settings/members?done=reinstated")
	bob.submitForm("/sign-in", "", "email=bob@example.com", "password="+password).leadsTo("/settings/keys")
	ada.submitForm("/settings/members", `value="owner"`, "do=owner").leadsTo("/settings/members?done=role")
	bob.get("/settings/members").expectPage(http.StatusOK, "ada@example.com")
	ada.submitForm("/settings/members", `value="removed"`, "do=removed").leadsTo("/settings/members?done=removed")
	if strings.Contains(ada.page, "bob@example.com") {
		t.Error("bob is still there")
	}
	ada.submitForm("/settings/members", `value="member"`, "do=member").expectPage(http.StatusConflict, "last active owner")
	ada.get("/settings/members").postForm("/settings/members", url.Values{"csrf": {formTokenOf(ada)}, "do": {"crowned"}}).expectPage(http.StatusNotFound)
}

func TestManyMembers(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	for i := range 250 {
		if _, err := w.directory.Append(t.Context(), &event.UserCreated{
			User: account.UserID(fmt.Sprintf("u%03d", i)), Email: fmt.Sprintf("user%03d@example.com", i), Role: account.RoleMember,
			State: account.StateActive, By: account.Actor{Kind: account.ActorSystem}, At: time.Now().Add(time.Duration(i) * time.Second),
		}); err != nil {
			t.Fatal(err)
		}
	}
	ada.get("/settings/members").expectPage(http.StatusOK, "251 members", "user098@example.com", "Next page")
	if strings.Contains(ada.page, "user099@") || strings.Contains(ada.page, "Previous page") {
		t.Error("the first page has more than it should")
	}
	ada.get("/settings/members?page=2").expectPage(http.StatusOK, "user249@example.com", "Previous page")
	if strings.Contains(ada.page, "Next page") {
		t.Error("the last page has one behind it")
	}
	for _, page := range []string{"-1", "3", "x", "99999999999999999999"} {
		ada.get("/settings/members?page="+page).expectPage(http.StatusOK, "user000@example.com")
	}
	ada.get("/settings/members?query=USER1").expectPage(http.StatusOK, "100 members", "user100@example.com", "user199@example.com")
	ada.get("/settings/members?query=nobody").expectPage(http.StatusOK, "0 members")
}

func TestInvitations(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	ada.get("/settings/members").submitForm("/settings/members/invite", "", "email=bob", "role=MEMBER", "days=7").
		expectPage(http.StatusUnprocessableEntity, "Want an email address.")
	ada.submitForm("/settings/members/invite", "", "email=bob@example.com", "role=KING", "days=7").
		expectPage(http.StatusUnprocessableEntity, "Want OWNER or MEMBER.")
	ada.submitForm("/settings/members/invite", "", "email=bob@example.com", "role=OWNER", "days=1").expectPage(http.StatusOK, "The invitation is created.")
	link := strings.TrimPrefix(ada.shownText(), w.server.URL)
	bob := w.newBrowser()
	bob.openLink(link).expectPage(http.StatusOK, "as one of its owners", "[email: bob@example.com]", "The invitation is for this address.")
	bob.submitForm("/invite", "", "email=eve@example.com", "password="+password).expectPage(http.StatusForbidden, "for another email address")
	bob.openLink(link).submitForm("/invite", "", "email=bob@example.com", "password="+password).leadsTo("/?done=joined")
	w.newBrowser().get(link).expectPage(http.StatusForbidden, "This invitation has expired, was used or revoked")
	ada.get("/settings/members").submitForm("/settings/members/invite", "", "email=", "role=MEMBER", "days=7")
	link = strings.TrimPrefix(ada.shownText(), w.server.URL)
	ada.get("/settings/members").expectPage(http.StatusOK, "anyone with the link").
		submitForm("/settings/members/revoke", "").leadsTo("/settings/members?done=invitation-ended")
	w.newBrowser().get(link).expectPage(http.StatusForbidden)
	ada.submitForm("/settings/members/invite", "", "email=", "role=MEMBER", "days=1")
	link = strings.TrimPrefix(ada.shownText(), w.server.URL)
	w.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	w.newBrowser().get(link).expectPage(http.StatusForbidden)
}

func TestProfileAndSessions(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	ada.get("/settings/profile").submitForm("/settings/profile", "", "name=Ada Lovelace").leadsTo("/settings/profile?done=renamed").
		expectPage(http.StatusOK, "[name: Ada Lovelace]")
	other := w.newBrowser()
	other.get("/sign-in").submitForm("/sign-in", "", "email=ada@example.com", "password="+password).leadsTo("/")
	ada.submitForm("/settings/profile/password", "", "old=wrong", "password=another password").expectPage(http.StatusUnprocessableEntity, "It is another.")
	ada.submitForm("/settings/profile/password", "", "old="+password, "password=another password").leadsTo("/settings/profile?done=password")
	other.get("/settings").leadsTo("/sign-in?return=%2Fsettings").
		submitForm("/sign-in", "", "email=ada@example.com", "password=another password", "return=/settings").leadsTo("/settings").leadsTo("/settings/keys")
	other.get("/settings/sessions").expectPage(http.StatusOK, "this one").submitForm("/settings/sessions/end", ">End<").
		leadsTo("/settings/sessions?done=session-ended")
	ada.get("/settings/sessions").leadsTo("/sign-in?return=%2Fsettings%2Fsessions")
	other.submitForm("/settings/sessions/end", `name="all"`).leadsTo("/sign-in?done=sessions-ended")
	other.get("/settings/keys").leadsTo("/sign-in?return=%2Fsettings%2Fkeys")
}

// notes is an audit log that can be full.
type notes struct {
	records []audit.Record
	fail    error
}

func (n *notes) Note(_ context.Context, rec audit.Record) error {
	if n.fail == nil {
		n.records = append(n.records, rec)
	}
	return n.fail
}

func (n *notes) Record(ctx context.Context, rec audit.Record) error { return n.Note(ctx, rec) }

func TestTheListOfMembersIsWrittenDown(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	ada.get("/settings/members").expectPage(http.StatusOK)
	if len(w.notes.records) != 1 || w.notes.records[0].Action != audit.ListedUsers || w.notes.records[0].Actor.Kind != account.ActorUser {
		t.Errorf("written down: %+v", w.notes.records)
	}
	w.notes.fail = errors.New("full")
	ada.get("/settings/members").expectPage(http.StatusServiceUnavailable)
	if strings.Contains(ada.page, "Invite a member") {
		t.Error("the list is shown all the same")
	}
}

// TestForms sends forms that do not come from our pages.
func TestForms(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	good := url.Values{"csrf": {formTokenOf(ada)}, "name": {"changed"}}
	send := func(adjust func(*http.Request), values url.Values) *browser {
		r, err := http.NewRequest(http.MethodPost, w.server.URL+"/settings/profile", strings.NewReader(values.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		adjust(r)
		ada.doRequest(r)
		return ada
	}
	nothing := func(*http.Request) {}
	if b := send(func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") }, good); b.status != http.StatusForbidden {
		t.Errorf("another origin: %d", b.status)
	}
	if b := send(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, good); b.status != http.StatusForbidden {
		t.Errorf("a neighbouring domain: %d", b.status)
	}
	send(nothing, url.Values{"name": {"changed"}}).expectPage(http.StatusForbidden, "to another session")
	send(nothing, url.Values{"name": {"changed"}, "csrf": {strings.Repeat("0", 64)}}).expectPage(http.StatusForbidden, "to another session")
	send(func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, good).expectPage(http.StatusUnsupportedMediaType)
	send(nothing, url.Values{"csrf": good["csrf"], "name": {strings.Repeat("x", 70<<10)}}).expectPage(http.StatusRequestEntityTooLarge)
	bob := w.joinMember("bob")
	send(nothing, url.Values{"csrf": {formTokenOf(bob)}, "name": {"changed"}}).expectPage(http.StatusForbidden, "to another session")
	if u, _ := w.directory.UserByEmail("ada@example.com"); u.Name != "Ada" {
		t.Errorf("one of them has changed the name to %q", u.Name)
	}
	send(nothing, good).leadsTo("/settings/profile?done=renamed")
}

// scriptTag matches the one script that a page may have: one of our files.
var scriptTag = regexp.MustCompile(`<script src="/static/[a-z]+-[0-9a-f]{12}\.js" type="module"></script>`)

// TestEveryPage checks what must hold for every page.
func TestEveryPage(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	for _, path := range []string{"/", "/preferences", "/sign-in", "/setup", "/invite?token=x", "/welcome", "/settings/keys", "/settings/keys/new",
		"/settings/profile", "/settings/sessions", "/settings/members", "/settings/keys?done=%3Cscript%3E"} {
		for _, b := range []*browser{ada, w.newBrowser()} {
			b.get(path)
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
				"Cache-Control":           "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
			} {
				if got := b.header.Get(name); got != want {
					t.Errorf("%s: %s is %q", path, name, got)
				}
			}
			if b.status == http.StatusSeeOther {
				continue
			}
			page := scriptTag.ReplaceAllString(b.page, "")
			for _, bad := range []string{"<script", "<style", "javascript:", " style=", "onclick", "%!", "ZgotmplZ"} {
				if strings.Contains(strings.ToLower(page), strings.ToLower(bad)) {
					t.Errorf("%s has %q", path, bad)
				}
			}
			checkLabels(t, path, b.page)
		}
	}
	css := regexp.MustCompile(`/static/quarry-[0-9a-f]{12}\.css`).FindString(ada.page)
	ada.get(css)
	if ada.status != http.StatusOK || ada.header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(ada.header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %d %v", css, ada.status, ada.header)
	}
	if ada.get("/static/quarry.css"); ada.status != http.StatusNotFound {
		t.Errorf("/static/quarry.css: %d", ada.status)
	}
}

// checkLabels fails unless every visible field has a label, and every ID is unique.
func checkLabels(t *testing.T, path, page string) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if seen[id[1]] {
			t.Errorf("%s: the ID %s is there twice", path, id[1])
		}
		seen[id[1]] = true
	}
	for _, field := range regexp.MustCompile(`<(?:input|select|textarea) id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `<label for="`+field[1]+`"`) {
			t.Errorf("%s: the field %s has no label", path, field[1])
		}
	}
	for _, reference := range regexp.MustCompile(`aria-describedby="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		for id := range strings.FieldsSeq(reference[1]) {
			if !seen[id] {
				t.Errorf("%s: described by %s, which is not there", path, id)
			}
		}
	}
}

func TestFailuresAreNotShown(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	w.directory.Fail(errors.New("disk 7 is on fire"))
	ada.get("/settings/keys/new").submitForm("/settings/keys/new", "", "name=laptop", "scope=search", "days=7").
		expectPage(http.StatusServiceUnavailable, "cannot save this right now")
	if strings.Contains(ada.page, "disk 7") {
		t.Error("a page tells of the disk")
	}
	// Metrics have a label for each page, and no other labels.
	for route := range w.routes {
		if strings.Contains(route, "?") || strings.Contains(route, "qo_") {
			t.Errorf("route %q", route)
		}
	}
}

// TestSessionsRotate checks that pages send the new value.
func TestSessionsRotate(t *testing.T) {
	w := newWorld(t, nil)
	ada := w.setUp()
	w.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	ada.get("/settings/keys").expectPage(http.StatusOK)
	if !strings.Contains(ada.header.Get("Set-Cookie"), "quarry_session=qs_") {
		t.Errorf("no new value after a day: %v", ada.header)
	}
	ada.submitForm("/sign-out", "").leadsTo("/sign-in?done=signed-out")
}

// TestLostPassword walks from the owner's button to the new password.
func TestLostPassword(t *testing.T) {
	var log notes
	w := newWorld(t, nil, func(o *auth.Options) { o.Recorder = &log })
	ada := w.setUp()
	bob := w.joinMember("bob")
	ada.get("/settings/members").submitForm("/settings/members/reset", "").expectPage(http.StatusOK, "The link is created.", "Send it to bob@example.com")
	if len(log.records) != 1 || log.records[0].Action != audit.CreatedReset || log.records[0].Target == "" {
		t.Errorf("written down: %+v", log.records)
	}
	link := strings.TrimPrefix(ada.shownText(), w.server.URL)
	stranger := w.newBrowser()
	stranger.openLink(link).expectPage(http.StatusOK, "For bob@example.com")
	if stranger.at != "/reset-password" {
		t.Errorf("the value stays in the address %s", stranger.at)
	}
	stranger.submitForm("/reset-password", "", "password=short").expectPage(http.StatusUnprocessableEntity, "8 to 1024")
	stranger.submitForm("/reset-password", "", "password=another password").leadsTo("/?done=password-reset")
	if bob.get("/settings/keys"); bob.status != http.StatusSeeOther {
		t.Errorf("a session from before: %d", bob.status)
	}
	w.newBrowser().get(link).expectPage(http.StatusForbidden, "This link has expired or was used")
	w.newBrowser().get("/reset-password").expectPage(http.StatusForbidden)
	// Nothing is shown that the audit log does not have.
	log.fail = errors.New("full")
	ada.submitForm("/settings/members/reset", "").expectPage(http.StatusServiceUnavailable)
	if strings.Contains(ada.page, "reset-password?") {
		t.Error("the link is shown all the same")
	}
}

// TestNotFoundHasOneForm checks that an address without a page looks as a file that does not exist: no
// alarm, and a way on.
func TestNotFoundHasOneForm(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser.get("/nothing-here").expectPage(http.StatusNotFound, "Not found", "There is no such page.", "Home page", "Sign in")
	if strings.Contains(b.page, `class="problem"`) || !strings.Contains(b.page, `<p class="lead">`) {
		t.Errorf("the page is\n%s", b.page)
	}
}
