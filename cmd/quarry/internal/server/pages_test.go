package server

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// visitor simulates a browser.
type visitor struct {
	t      *testing.T
	client *http.Client
	base   string
}

func newVisitor(t *testing.T, s *Server) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, &http.Client{Jar: jar, Transport: http.DefaultTransport}, s.URL()}
}

// requestPage returns the status, the content type and the text of the response. A nil
// form sends a GET.
func (v *visitor) requestPage(path, accept string, form url.Values) (int, string, string) {
	v.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return answer.StatusCode, kind, string(text)
}

func TestPagesAndAPIShareAListener(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	v := newVisitor(t, s)
	const page, program = "text/html,application/xhtml+xml,*/*;q=0.8", "*/*"
	for _, c := range []struct {
		path, accept string
		status       int
		kind, says   string
	}{
		{"/", program, http.StatusOK, "text/html", "searches code"},
		{"/search?q=nothing", program, http.StatusOK, "text/html", "No match"},
		{"/search?q=(a&re=1", program, http.StatusBadRequest, "text/html", "Invalid query"},
		{"/sign-in", page, http.StatusOK, "text/html", "Password"},
		{"/settings/keys", page, http.StatusOK, "text/html", "Password"},
		{"/browse/x", page, http.StatusNotFound, "text/html", "There is no such page, or you may not view"},
		{"/browse/x", program, http.StatusNotFound, "text/html", "There is no such page, or you may not view"},
		{"/nowhere", page, http.StatusNotFound, "text/html", "There is no such page."},
		{"/nowhere", program, http.StatusNotFound, "application/json", "NOT_FOUND"},
		{"/api/x", page, http.StatusNotFound, "application/json", "NOT_FOUND"},
		{"/healthz", page, http.StatusOK, "application/json", "ok"},
		{"/api/version", page, http.StatusOK, "application/json", "version"},
		{"/static/x", page, http.StatusNotFound, "text/plain", "no such file"},
	} {
		if status, kind, text := v.requestPage(c.path, c.accept, nil); status != c.status || kind != c.kind || !strings.Contains(text, c.says) {
			t.Errorf("%s for %s: %d %s, want %d %s with %q", c.path, c.accept, status, kind, c.status, c.kind, c.says)
		}
	}
	form := url.Values{"token": {s.auth.SetupValue()}, "email": {"ada@example.com"}, "password": {"correct horse battery"}}
	if status, _, text := v.requestPage("/setup", page, form); status != http.StatusOK || !strings.Contains(text, "You are the owner") {
		t.Fatalf("set-up: %d\n%s", status, text)
	}
	if status, _, text := v.requestPage("/settings/members", page, nil); status != http.StatusOK || !strings.Contains(text, "ada@example.com") {
		t.Errorf("members: %d\n%s", status, text)
	}
	for _, path := range []string{"/?x=" + strings.Repeat("y", 10), "/setup?token=qo_x", "/nothing/at/all"} {
		v.requestPage(path, page, nil)
	}
	if _, metrics := getURL(t, s.MetricsURL()+"/metrics"); strings.Contains(metrics, `route="/nothing`) || !strings.Contains(metrics, `route="/settings/members"`) {
		t.Error("the metrics of pages are not by page")
	}
}

func TestProvidersOfTheConfiguration(t *testing.T) {
	t.Setenv("OIDC_SECRET", "s3cret")
	c := testConfig(t)
	c.Access.OIDC = []config.OIDC{{
		Name: "company", Title: "Our Company", Issuer: "http://127.0.0.1:1", ClientID: "quarry", ClientSecret: config.NewSecret("env:OIDC_SECRET"),
	}}
	s := runServer(t, c)
	v := newVisitor(t, s)
	if _, _, text := v.requestPage("/sign-in", "text/html", nil); !strings.Contains(text, "Continue with Our Company") {
		t.Errorf("no button:\n%s", text)
	}
	// An unavailable provider does not prevent the start; signing in with it shows an
	// error.
	if status, _, text := v.requestPage("/auth/oidc/company", "text/html", nil); status != http.StatusBadGateway || !strings.Contains(text, "cannot be reached") {
		t.Errorf("a provider that is down: %d\n%s", status, text)
	}
	if out, err := c.YAML(); err != nil || strings.Contains(string(out), os.Getenv("OIDC_SECRET")) {
		t.Errorf("the printed configuration shows the secret, or %v", err)
	}
}
