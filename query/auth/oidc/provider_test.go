package oidc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

const ourselves = "http://127.0.0.1:7070"

func truePointer() *bool  { v := true; return &v }
func falsePointer() *bool { v := false; return &v }

var people = map[string]oidctest.Account{
	"ada":  {Email: "Ada@Example.com", Verified: truePointer(), Name: "Ada Lovelace"},
	"bob":  {Email: "bob@example.com", Verified: falsePointer()},
	"eve":  {Email: "eve@elsewhere.test", Verified: truePointer()},
	"fay":  {Email: "fay@example.com"},
	"gus":  {},
	"long": {Email: "long@example.com", Verified: truePointer(), Name: strings.Repeat("ä", 150)},
}

// world is a client with a real provider, whose responses a test may modify in transit.
type world struct {
	t        *testing.T
	provider *oidctest.Provider
	client   *oidc.Client
	now      func() time.Time
	change   func(*http.Request, *http.Response) // nil changes nothing
	seen     []*http.Request
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.seen = append(w.seen, r)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && w.change != nil {
		w.change(r, answer)
	}
	return answer, err
}

func startProvider(t *testing.T) *oidctest.Provider {
	return oidctest.Start(t, people, map[string]string{
		"quarry":  ourselves + "/auth/oidc/company/callback",
		"another": ourselves + "/auth/oidc/company/callback",
	})
}

func newWorld(t *testing.T, provider *oidctest.Provider, adjust func(*oidc.Provider)) *world {
	w := &world{t: t, provider: provider, now: time.Now}
	p := oidc.Provider{Name: "company", Issuer: provider.Issuer, ClientID: "quarry", ClientSecret: oidctest.ClientSecret}
	if adjust != nil {
		adjust(&p)
	}
	client, err := oidc.New(oidc.Options{
		Providers: []oidc.Provider{p}, PublicURL: ourselves + "/", Secret: []byte("sixteen bytes and more"), Transport: w,
		Now: func() time.Time { return w.now() },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.client = client
	return w
}

// startFlow returns the address that a browser is redirected to, and its cookie.
func (w *world) startFlow() *oidc.Departure {
	w.t.Helper()
	d, err := w.client.Depart("company", "carried")
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) finishFlow(back *url.URL, cookies ...*http.Cookie) (*oidc.Arrival, error) {
	r := httptest.NewRequest(http.MethodGet, back.String(), nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return w.client.Arrive(w.t.Context(), "company", r)
}

// signIn runs a complete sign-in.
func (w *world) signIn(subject string) (*oidc.Arrival, error) {
	w.t.Helper()
	d := w.startFlow()
	return w.finishFlow(w.provider.Visit(d.URL, subject), d.Cookie)
}

func TestSignIn(t *testing.T) {
	provider := startProvider(t)
	trusting := func(p *oidc.Provider) { p.TrustEmail = true }
	ours := func(p *oidc.Provider) { p.AllowedDomains = []string{"EXAMPLE.com"} }
	for _, c := range []struct {
		subject     string
		adjust      func(*oidc.Provider)
		email, name string
		err         error
	}{
		{subject: "ada", email: "ada@example.com", name: "Ada Lovelace"},
		{subject: "ada", adjust: ours, email: "ada@example.com", name: "Ada Lovelace"},
		{subject: "bob"}, // unverified: the identity without the address
		{subject: "bob", adjust: trusting},
		{subject: "bob", adjust: ours, err: oidc.ErrEmail},
		{subject: "eve", email: "eve@elsewhere.test"},
		{subject: "eve", adjust: ours, err: oidc.ErrDomain},
		{subject: "fay"},
		{subject: "fay", adjust: trusting, email: "fay@example.com"},
		{subject: "gus"},
		{subject: "long", email: "long@example.com", name: strings.Repeat("ä", 100)},
		{subject: "", err: oidc.ErrDenied},
	} {
		w := newWorld(t, provider, c.adjust)
		arrival, err := w.signIn(c.subject)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", c.subject, err, c.err)
		}
		if err != nil {
			continue
		}
		if arrival.Identity.Issuer != provider.Issuer || arrival.Identity.Subject != c.subject || arrival.Email != c.email ||
			arrival.Name != c.name || arrival.Carried != "carried" {
			t.Errorf("%s: arrived as %+v", c.subject, arrival)
		}
	}
}

func TestDepartureHasPKCEStateAndNonce(t *testing.T) {
	d := newWorld(t, startProvider(t), nil).startFlow()
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 26 || len(q.Get("nonce")) < 26 ||
		q.Get("response_type") != "code" || q.Get("scope") != "openid profile email" {
		t.Errorf("the provider is asked for %v", q)
	}
	if c := d.Cookie; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 {
		t.Errorf("cookie %+v", c)
	}
}

// TestArrivalsThatDoNotCount sends forged requests.
func TestArrivalsThatDoNotCount(t *testing.T) {
	provider := startProvider(t)
	fresh := func(t *testing.T) (*world, *oidc.Departure, *url.URL) {
		w := newWorld(t, provider, nil)
		d := w.startFlow()
		return w, d, provider.Visit(d.URL, "ada")
	}
	with := func(u *url.URL, name, value string) *url.URL {
		out, q := *u, u.Query()
		q.Set(name, value)
		out.RawQuery = q.Encode()
		return &out
	}
	for _, c := range []struct {
		name  string
		spoil func(w *world, d *oidc.Departure, back *url.URL) *url.URL
	}{
		{"no cookie", func(_ *world, d *oidc.Departure, back *url.URL) *url.URL { d.Cookie.Name = "other"; return back }},
		{"cookie of another departure", func(w *world, d *oidc.Departure, back *url.URL) *url.URL {
			d.Cookie = w.startFlow().Cookie
			return back
		}},
		{"changed cookie", func(_ *world, d *oidc.Departure, back *url.URL) *url.URL {
			d.Cookie.Value = d.Cookie.Value[:60] + "A" + d.Cookie.Value[61:]
			return back
		}},
		{"cookie cut short", func(_ *world, d *oidc.Departure, back *url.URL) *url.URL {
			d.Cookie.Value = d.Cookie.Value[:20]
			return back
		}},
		{"cookie of another server", func(_ *world, d *oidc.Departure, back *url.URL) *url.URL {
			other, err := oidc.New(oidc.Options{PublicURL: ourselves, Secret: []byte("another secret, as long"), Providers: []oidc.Provider{
				{Name: "company", Issuer: provider.Issuer, ClientID: "quarry"}}})
			if err != nil {
				t.Fatal(err)
			}
			departure, err := other.Depart("company", "")
			if err != nil {
				t.Fatal(err)
			}
			d.Cookie = departure.Cookie
			u, _ := url.Parse(departure.URL)
			return with(back, "state", u.Query().Get("state"))
		}},
		{"other state", func(_ *world, _ *oidc.Departure, back *url.URL) *url.URL { return with(back, "state", "x") }},
		{"no state", func(_ *world, _ *oidc.Departure, back *url.URL) *url.URL { return with(back, "state", "") }},
		{"other code", func(_ *world, _ *oidc.Departure, back *url.URL) *url.URL { return with(back, "code", "x") }},
		{"answer of another issuer", func(_ *world, _ *oidc.Departure, back *url.URL) *url.URL {
			return with(back, "iss", "https://evil.test")
		}},
		{"answer of no issuer", func(_ *world, _ *oidc.Departure, back *url.URL) *url.URL { return with(back, "iss", "") }},
		{"code of somebody else's departure", func(w *world, _ *oidc.Departure, back *url.URL) *url.URL {
			return with(back, "code", provider.Visit(w.startFlow().URL, "eve").Query().Get("code"))
		}},
		{"too late", func(w *world, _ *oidc.Departure, back *url.URL) *url.URL {
			w.now = func() time.Time { return time.Now().Add(oidc.MaxFlowAge) }
			return back
		}},
		{"expired code", func(_ *world, _ *oidc.Departure, back *url.URL) *url.URL {
			provider.SetClock(2 * time.Minute)
			return back
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer provider.SetClock(0)
			w, d, back := fresh(t)
			back = c.spoil(w, d, back)
			if arrival, err := w.finishFlow(back, d.Cookie); !errors.Is(err, oidc.ErrFlow) {
				t.Errorf("%+v, %v, want ErrFlow", arrival, err)
			}
		})
	}
}

// TestArrivalFromAnotherProvider sends the response of one provider to the callback of
// another.
func TestArrivalFromAnotherProvider(t *testing.T) {
	provider := startProvider(t)
	var providers []oidc.Provider
	for _, name := range []string{"company", "other"} {
		providers = append(providers, oidc.Provider{Name: name, Issuer: provider.Issuer, ClientID: "quarry", ClientSecret: oidctest.ClientSecret})
	}
	w := &world{t: t}
	client, err := oidc.New(oidc.Options{Providers: providers, PublicURL: ourselves, Secret: []byte("sixteen bytes and more"), Transport: w})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Depart("other", ""); err != nil {
		t.Fatal(err)
	}
	d, err := client.Depart("company", "")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, provider.Visit(d.URL, "ada").String(), nil)
	r.AddCookie(d.Cookie)
	asked := len(w.seen)
	if arrival, err := client.Arrive(t.Context(), "other", r); !errors.Is(err, oidc.ErrFlow) {
		t.Errorf("%+v, %v, want ErrFlow", arrival, err)
	}
	if len(w.seen) != asked {
		t.Error("the code went to the other provider")
	}
}

func TestNoArrivalTwice(t *testing.T) {
	w := newWorld(t, startProvider(t), nil)
	d := w.startFlow()
	back := w.provider.Visit(d.URL, "ada")
	if _, err := w.finishFlow(back, d.Cookie); err != nil {
		t.Fatal(err)
	}
	asked := len(w.seen)
	if _, err := w.finishFlow(back, d.Cookie); !errors.Is(err, oidc.ErrFlow) {
		t.Errorf("a second arrival: %v", err)
	}
	if len(w.seen) != asked {
		t.Error("the provider was asked again")
	}
	// Another process of the server does not know that the flow is used, but the provider
	// does.
	other := newWorld(t, w.provider, nil)
	if _, err := other.finishFlow(back, d.Cookie); !errors.Is(err, oidc.ErrFlow) {
		t.Errorf("a second arrival elsewhere: %v", err)
	}
}

// swapIDToken replaces the ID token in the response to an exchange with raw.
func swapIDToken(raw string) func(*http.Request, *http.Response) {
	return func(r *http.Request, answer *http.Response) {
		if r.Method != http.MethodPost {
			return
		}
		var fields map[string]any
		if json.NewDecoder(answer.Body).Decode(&fields) != nil {
			return
		}
		fields["id_token"] = raw
		delete(fields, "access_token")
		fields["access_token"] = "none"
		text, _ := json.Marshal(fields)
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
}

// tokenOf runs a real sign-in, with a separate client, and returns the ID token.
func tokenOf(t *testing.T, provider *oidctest.Provider, client string) (raw string) {
	t.Helper()
	w := newWorld(t, provider, func(p *oidc.Provider) { p.ClientID = client })
	w.change = func(r *http.Request, answer *http.Response) {
		if r.Method != http.MethodPost {
			return
		}
		text, _ := io.ReadAll(answer.Body)
		var fields struct {
			IDToken string `json:"id_token"`
		}
		_ = json.Unmarshal(text, &fields)
		raw, answer.Body = fields.IDToken, io.NopCloser(bytes.NewReader(text))
	}
	if _, err := w.signIn("ada"); err != nil || raw == "" {
		t.Fatalf("sign in as %s: token %q, %v", client, raw, err)
	}
	return raw
}

// TestTokensThatDoNotCount uses tokens that a real provider has signed where they do not
// belong.
func TestTokensThatDoNotCount(t *testing.T) {
	provider, stranger := startProvider(t), startProvider(t)
	for _, c := range []struct{ name, raw string }{
		{"nonce of another sign-in", tokenOf(t, provider, "quarry")},
		{"another audience", tokenOf(t, provider, "another")},
		{"another issuer", tokenOf(t, stranger, "quarry")},
		{"no signature", unsignedToken(tokenOf(t, provider, "quarry"))},
		{"no token", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, provider, nil)
			w.change = swapIDToken(c.raw)
			if arrival, err := w.signIn("ada"); !errors.Is(err, oidc.ErrToken) {
				t.Errorf("%+v, %v, want ErrToken", arrival, err)
			}
		})
	}
	t.Run("userinfo about somebody else", func(t *testing.T) {
		w := newWorld(t, provider, nil)
		w.change = func(r *http.Request, answer *http.Response) {
			if strings.HasSuffix(r.URL.Path, "/me") {
				answer.Body = io.NopCloser(strings.NewReader(`{"sub":"eve","email":"ada@example.com","email_verified":true}`))
			}
		}
		if arrival, err := w.signIn("ada"); !errors.Is(err, oidc.ErrToken) {
			t.Errorf("%+v, %v, want ErrToken", arrival, err)
		}
	})
}

// unsignedToken returns a token with the algorithm none.
func unsignedToken(raw string) string {
	parts := strings.Split(raw, ".")
	return "eyJhbGciOiJub25lIn0." + parts[1] + "."
}

func TestClocksThatDiffer(t *testing.T) {
	provider := startProvider(t)
	for _, c := range []struct {
		ahead time.Duration // the provider's clock
		err   error
	}{
		{30 * time.Second, nil}, {5 * time.Minute, oidc.ErrToken},
		{-10*time.Minute - 30*time.Second, nil}, {-12 * time.Minute, oidc.ErrToken}, // tokens are valid for ten minutes
	} {
		t.Run(fmt.Sprint(c.ahead), func(t *testing.T) {
			provider.SetClock(c.ahead)
			if _, err := newWorld(t, provider, nil).signIn("ada"); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%v, want %v", err, c.err)
			}
		})
	}
}

func TestProviderThatIsDown(t *testing.T) {
	var asked atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"issuer":"http://%s","authorization_endpoint":"http://%[1]s/a","token_endpoint":"http://%[1]s/t","jwks_uri":"http://%[1]s/k"}`, r.Host)
	}))
	defer up.Close()
	now := time.Now()
	client, err := oidc.New(oidc.Options{
		Providers: []oidc.Provider{{Name: "company", Issuer: up.URL, ClientID: "quarry"}}, PublicURL: ourselves,
		Secret: []byte("sixteen bytes and more"), Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatalf("a provider that is down keeps us from starting: %v", err)
	}
	for range 3 {
		if _, err := client.Depart("company", ""); !errors.Is(err, oidc.ErrUnavailable) {
			t.Fatalf("%v, want ErrUnavailable", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the provider was asked %d times within a moment", n)
	}
	now = now.Add(3 * time.Second)
	if _, err := client.Depart("company", ""); err != nil {
		t.Errorf("once it is up: %v", err)
	}
	// Old metadata is better than none.
	up.Close()
	now = now.Add(24 * time.Hour)
	if _, err := client.Depart("company", ""); err != nil {
		t.Errorf("when it is down again: %v", err)
	}
	// But the exchange fails then.
	d, err := client.Depart("company", "")
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(d.URL)
	r := httptest.NewRequest(http.MethodGet, client.CallbackURL("company")+"?code=x&state="+u.Query().Get("state"), nil)
	r.AddCookie(d.Cookie)
	if _, err := client.Arrive(t.Context(), "company", r); !errors.Is(err, oidc.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
}

func TestOptions(t *testing.T) {
	good := oidc.Provider{Name: "a", Issuer: "https://id.example.com/x", ClientID: "q"}
	for name, spoil := range map[string]func(*oidc.Provider){
		"name":         func(p *oidc.Provider) { p.Name = "a/b" },
		"no issuer":    func(p *oidc.Provider) { p.Issuer = "" },
		"plain http":   func(p *oidc.Provider) { p.Issuer = "http://id.example.com" },
		"with a query": func(p *oidc.Provider) { p.Issuer += "?x" },
		"no client":    func(p *oidc.Provider) { p.ClientID = "" },
		"domain":       func(p *oidc.Provider) { p.AllowedDomains = []string{"*.example.com"} },
	} {
		p := good
		spoil(&p)
		if p.Validate() == nil {
			t.Errorf("%s: %+v is taken", name, p)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := oidc.New(oidc.Options{Providers: []oidc.Provider{good, good}, Secret: []byte("sixteen bytes and more"), PublicURL: ourselves}); err == nil {
		t.Error("a name twice is taken")
	}
	c, err := oidc.New(oidc.Options{Providers: []oidc.Provider{good}, Secret: []byte("sixteen bytes and more"), PublicURL: "https://q.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if cookie := c.EndCookie(); cookie.Name != "__Host-quarry_oidc" || !cookie.Secure || cookie.MaxAge != -1 {
		t.Errorf("cookie %+v", cookie)
	}
	if _, err := c.Depart("b", ""); !errors.Is(err, oidc.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
}
