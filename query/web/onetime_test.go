package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/web"
)

// TestOneTimeValuesLeaveTheAddress checks that the pages of setup links and invitations
// redirect to an address without the value, keep it in a cookie that scripts cannot read,
// and remove that once it was used.
func TestOneTimeValuesLeaveTheAddress(t *testing.T) {
	w := newWorld(t, nil)
	value := w.accounts.SetupValue()
	b := w.newBrowser()
	b.get("/setup?token=" + value)
	cookie := b.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "quarry_setup="+value+";") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "Max-Age=3600") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("the cookie of a setup link: %s", cookie)
	}
	if strings.Contains(b.header.Get("Location")+b.page, value) || b.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the redirect contains the value or may be stored: %v %s", b.header, b.page)
	}
	b.leadsTo("/setup")
	b.get("/setup").submitForm("/setup", "", "email=ada@example.com", "password="+password).leadsTo("/?done=set-up") // a reload keeps the value
	b.get("/settings/members").submitForm("/settings/members/invite", "", "email=", "role=MEMBER", "days=7")
	link := strings.TrimPrefix(b.shownText(), w.server.URL)
	bob := w.newBrowser()
	bob.openLink(link).expectPage(http.StatusOK, "as a member")
	if !strings.HasPrefix(link, "/invite?token=") || bob.at != "/invite" {
		t.Errorf("the page of %.14s… is at %s", link, bob.at)
	}
	bob.submitForm("/invite", "", "email=bob@example.com", "password="+password)
	if !strings.Contains(strings.Join(bob.header.Values("Set-Cookie"), "\n"), "quarry_invitation=; Path=/; Max-Age=0") {
		t.Errorf("the used invitation is still in the browser: %q", bob.header.Values("Set-Cookie"))
	}
	bob.get("/invite").expectPage(http.StatusForbidden)
}

// TestOneTimeValuesByHTTPS checks that by https no other host can set the cookie of a
// one-time value, and that only values that can be one are stored.
func TestOneTimeValuesByHTTPS(t *testing.T) {
	w := newWorld(t, nil)
	s, err := web.New(web.Options{
		Accounts: w.accounts, Repositories: repositories{}, Secret: []byte(secret), PublicURL: "https://code.example", Audit: &w.notes, Front: countingFront{w: w},
	})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		w.accounts.SetupValue(): "__Host-quarry_setup=" + w.accounts.SetupValue() + "; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax",
		"a%3Bb":                 "__Host-quarry_setup=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax",
	} {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "https://code.example/setup?token="+value, nil))
		if got := answer.Header().Get("Set-Cookie"); got != want || answer.Header().Get("Location") != "/setup" {
			t.Errorf("%.20s: %s to %s, want %s", value, got, answer.Header().Get("Location"), want)
		}
	}
	for cookie, want := range map[string]bool{"__Host-quarry_setup": true, "quarry_setup": false} {
		r, answer := httptest.NewRequest(http.MethodGet, "https://code.example/setup", nil), httptest.NewRecorder()
		r.AddCookie(&http.Cookie{Name: cookie, Value: w.accounts.SetupValue()})
		s.ServeHTTP(answer, r)
		if got := strings.Contains(answer.Body.String(), w.accounts.SetupValue()); got != want {
			t.Errorf("the cookie %s counts: %t, want %t", cookie, got, want)
		}
	}
}
