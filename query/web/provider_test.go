package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// federation is a world with a real provider.
type federation struct {
	*world
	provider *oidctest.Provider
}

func newFederation(t *testing.T, set ...func(*auth.Options)) *federation {
	yes, no := true, false
	f := &federation{}
	f.world = newWorld(t, func(publicURL string) []oidc.Provider {
		f.provider = oidctest.Start(t, map[string]oidctest.Account{
			"ada":   {Email: "ada@example.com", Verified: &yes, Name: "Ada Lovelace"},
			"bob":   {Email: "bob@example.com", Verified: &yes, Name: "Bob", GitHubID: "1042"},
			"false": {Email: "ada@example.com", Verified: &no, Name: "Not Ada"},
			"none":  {},
		}, map[string]string{"quarry": publicURL + "/auth/oidc/company/callback"})
		return []oidc.Provider{{Name: "company", Title: "Our Company", Issuer: f.provider.Issuer, ClientID: "quarry", ClientSecret: oidctest.ClientSecret, HostClaim: "github_id"}}
	}, set...)
	return f
}

// visitProvider presses the provider's button on the last page, signs in there, and
// returns.
func (f *federation) visitProvider(b *browser, subject string) *browser {
	f.t.Helper()
	_, rest, found := strings.Cut(b.page, `href="/auth/oidc/company?`)
	if !found {
		f.t.Fatalf("%s has no button:\n%s", b.at, b.pageText())
	}
	query, _, _ := strings.Cut(rest, `"`)
	b.get("/auth/oidc/company?" + unescapeHTML(query))
	if b.status != http.StatusSeeOther {
		f.t.Fatalf("the button: %d\n%s", b.status, b.pageText())
	}
	return b.get(f.provider.Visit(b.header.Get("Location"), subject).String())
}

func TestProviderNewcomerWaits(t *testing.T) {
	f := newFederation(t)
	ada := f.setUp()
	bob := f.newBrowser()
	f.visitProvider(bob.get("/sign-in?return=/settings/sessions").expectPage(http.StatusOK, "Continue with Our Company"), "bob").
		leadsTo("/welcome").expectPage(http.StatusOK, "waiting for approval")
	f.visitProvider(bob.get("/sign-in"), "bob").leadsTo("/welcome") // not a second user
	ada.get("/settings/members").expectPage(http.StatusOK, "Waiting for approval", "bob@example.com").
		submitForm("/settings/members", ">Approve<", "do=approved").leadsTo("/settings/members?done=approved")
	f.visitProvider(bob.get("/sign-in?return=/settings/sessions"), "bob").leadsTo("/settings/sessions").expectPage(http.StatusOK, "this one")
	ada.submitForm("/settings/members", `value="suspended"`, "do=suspended").leadsTo("/settings/members?done=suspended")
	bob.get("/settings/sessions").followRedirect()
	f.visitProvider(bob, "bob").expectPage(http.StatusForbidden, "You may not sign in here.")
}

func TestProviderInvitation(t *testing.T) {
	f := newFederation(t)
	ada := f.setUp()
	ada.get("/settings/members").submitForm("/settings/members/invite", "", "email=bob@example.com", "role=OWNER", "days=1").expectPage(http.StatusOK)
	link := strings.TrimPrefix(ada.shownText(), f.server.URL)
	f.visitProvider(f.newBrowser().openLink(link), "none").expectPage(http.StatusForbidden, "could be matched")
	bob := f.newBrowser()
	f.visitProvider(bob.openLink(link), "bob").leadsTo("/settings/keys").expectPage(http.StatusOK, "API Keys", "Members")
	f.newBrowser().get(link).expectPage(http.StatusForbidden)
	ada.get("/settings/members").submitForm("/settings/members/invite", "", "email=carol@example.com", "role=MEMBER", "days=1").expectPage(http.StatusOK)
	link = strings.TrimPrefix(ada.shownText(), f.server.URL)
	ada.get("/settings/members").submitForm("/settings/members", `value="removed"`, "do=removed").leadsTo("/settings/members?done=removed")
	f.visitProvider(f.newBrowser().openLink(link), "bob").expectPage(http.StatusForbidden, "for another email address")
}

func TestProviderAndPassword(t *testing.T) {
	f := newFederation(t)
	f.setUp()
	b := f.newBrowser()
	for _, subject := range []string{"ada", "false", "none"} {
		// The address of a user with a password is not enough unless configured, and an
		// unverified address never is.
		f.visitProvider(b.get("/sign-in"), subject).expectPage(http.StatusForbidden, "could be matched")
	}
	f.visitProvider(b.get("/sign-in"), "").expectPage(http.StatusForbidden, "The provider did not sign you in.", "Continue with Our Company")

	linking := newFederation(t, func(o *auth.Options) { o.LinkByEmail = true })
	linking.setUp()
	b = linking.newBrowser()
	linking.visitProvider(b.get("/sign-in"), "false").expectPage(http.StatusForbidden, "could be matched")
	linking.visitProvider(b.get("/sign-in?return=/settings/profile"), "ada").leadsTo("/settings/profile").expectPage(http.StatusOK, "ada@example.com")
	u, _ := linking.directory.UserByEmail("ada@example.com")
	if len(u.Identities) != 1 || u.Identities[0] != (account.Identity{Issuer: linking.provider.Issuer, Subject: "ada"}) {
		t.Errorf("identities %v", u.Identities)
	}
}

// TestProviderNamesHostUser checks that a user is linked to the code host user that the
// provider names as long as it does, and that the address counts as verified as long as
// the provider sends it.
func TestProviderNamesHostUser(t *testing.T) {
	f := newFederation(t, func(o *auth.Options) { o.AdmitAll = true })
	f.setUp()
	check := func(step string, want []account.Identity, verified bool) {
		t.Helper()
		f.visitProvider(f.newBrowser().get("/sign-in?return=/settings/profile"), "bob").leadsTo("/settings/profile")
		u, _ := f.directory.UserByEmail("bob@example.com")
		if !slices.Equal(u.Identities, want) || u.EmailVerified != verified {
			t.Errorf("%s: identities %v, verified %t, want %v and %t", step, u.Identities, u.EmailVerified, want, verified)
		}
	}
	self := account.Identity{Issuer: f.provider.Issuer, Subject: "bob"}
	atHost := account.Identity{Issuer: f.provider.Issuer + account.HostClaimSeparator + "github_id", Subject: "1042"}
	check("a newcomer", []account.Identity{self, atHost}, true)
	check("again", []account.Identity{self, atHost}, true)
	f.provider.DropClaim("bob", "email_verified")
	check("the address is no longer verified", []account.Identity{self, atHost}, false)
	f.provider.DropClaim("bob", "github_id")
	check("the claim is dropped", []account.Identity{self}, false)
}

// connectProvider goes from the profile to the provider and back.
func (f *federation) connectProvider(b *browser, subject string) *browser {
	f.t.Helper()
	b.get("/settings/profile").submitForm("/settings/profile/connect/company", "").expectPage(http.StatusOK, "Continue to Our Company")
	_, rest, _ := strings.Cut(b.page, `<a class="button" href="`)
	address, _, _ := strings.Cut(rest, `"`)
	return b.get(f.provider.Visit(unescapeHTML(address), subject).String())
}

func TestProviderIsConnected(t *testing.T) {
	f := newFederation(t)
	ada := f.setUp()
	bob := f.joinMember("bob")
	f.connectProvider(ada, "none").leadsTo("/settings/profile?done=connected").expectPage(http.StatusOK, "connected")
	f.visitProvider(f.newBrowser().get("/sign-in"), "none").leadsTo("/")
	// An identity belongs to one user.
	f.connectProvider(bob, "none").expectPage(http.StatusForbidden, "could be matched")
	// The same user must return: from their own form, in their browser.
	bob.postForm("/settings/profile/connect/company", nil).expectPage(http.StatusForbidden, "another session")
	bob.get("/settings/profile").submitForm("/settings/profile/connect/company", "").expectPage(http.StatusOK)
	_, rest, _ := strings.Cut(bob.page, `<a class="button" href="`)
	address, _, _ := strings.Cut(rest, `"`)
	back := f.provider.Visit(unescapeHTML(address), "bob").String()
	bob.get("/settings/profile").submitForm("/sign-out", "").leadsTo("/sign-in?done=signed-out")
	bob.submitForm("/sign-in", "", "email=ada@example.com", "password="+password).leadsTo("/")
	bob.get(back).expectPage(http.StatusBadRequest, "started in another browser")
	if _, found := f.directory.UserByIdentity(account.Identity{Issuer: f.provider.Issuer, Subject: "bob"}); found {
		t.Error("the identity was given to somebody")
	}
}

func TestProviderArrivals(t *testing.T) {
	f := newFederation(t, func(o *auth.Options) { o.AdmitAll = true })
	f.setUp()
	// From another site, the user must still press the button.
	b := f.newBrowser()
	r, err := http.NewRequest(http.MethodGet, f.server.URL+"/auth/oidc/company", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	b.doRequest(r)
	b.expectPage(http.StatusOK, "Continue with Our Company")
	// Open redirects through the provider.
	f.visitProvider(b.get("/sign-in"), "bob").leadsTo("/")
	b = f.newBrowser().get("/auth/oidc/company?return=//evil.test")
	b.get(f.provider.Visit(b.header.Get("Location"), "bob").String()).leadsTo("/")
	// An attacker's callback in this browser must not sign the user in as someone else.
	eve := f.newBrowser().get("/auth/oidc/company")
	back := f.provider.Visit(eve.header.Get("Location"), "bob").String()
	f.newBrowser().get(back).expectPage(http.StatusBadRequest, "started in another browser")
	eve.get(back).leadsTo("/")
	eve.get(back).expectPage(http.StatusBadRequest, "or has already ended")
	if strings.Contains(eve.page, "code=") {
		t.Error("a page shows the code")
	}
	f.newBrowser().get("/auth/oidc/nobody").expectPage(http.StatusNotFound, "no such provider")
	f.newBrowser().get("/auth/oidc/nobody/callback?code=x").expectPage(http.StatusNotFound, "no such provider")
	f.newBrowser().get("/auth/oidc/company?invited=yes&invitation=" + strings.Repeat("x", 600)).expectPage(http.StatusForbidden)
	f.newBrowser().get("/auth/oidc/company/callback?error=" + url.QueryEscape("<b>oops</b>") + "&state=x").expectPage(http.StatusBadRequest)
}

func TestProviderIsDown(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	w := newWorld(t, func(string) []oidc.Provider {
		return []oidc.Provider{{Name: "company", Issuer: down.URL, ClientID: "quarry"}}
	})
	w.setUp()
	b := w.newBrowser().get("/auth/oidc/company").expectPage(http.StatusBadGateway, "cannot be reached", "Email address")
	if strings.Contains(b.page, "connection refused") || strings.Contains(b.page, down.URL) {
		t.Errorf("the page tells more than it should:\n%s", b.pageText())
	}
	if r := w.notes.records; len(r) != 1 || r[0].Action != audit.SignInFailed || r[0].Metadata["reason"] != "unavailable" {
		t.Errorf("written down: %+v", r)
	}
	// Passwords still work.
	b.submitForm("/sign-in", "", "email=ada@example.com", "password="+password).leadsTo("/")
}
