package auth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestCookieOfPublicURL checks that by https the session cookie has a prefix that no other
// host of the domain can plant, that below a path it is sent there alone, and that a cookie
// with another name is ignored.
func TestCookieOfPublicURL(t *testing.T) {
	for _, c := range []struct{ url, mine, other, path string }{
		{"http://code.example", "quarry_session", "__Host-quarry_session", "/"},
		{"https://code.example", "__Host-quarry_session", "quarry_session", "/"},
		{"http://code.example/quarry", "path_quarry_session", "quarry_session", "/quarry"},
		{"https://code.example/tools/quarry/", "__Secure-quarry_session", "__Host-quarry_session", "/tools/quarry"},
	} {
		public, err := publicurl.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, func(o *auth.Options) { o.Anonymous, o.PublicURL = true, public })
		in, secure, mine, other := w.signInOwner(), strings.HasPrefix(c.url, "https:"), c.mine, c.other
		for name, cookie := range map[string]*http.Cookie{"session": w.Cookie(in), "removal": w.NoCookie()} {
			if cookie.Name != mine || cookie.Secure != secure || cookie.Path != c.path || cookie.Domain != "" || !cookie.HttpOnly {
				t.Errorf("%s: the cookie of a %s is %s, want %s", c.url, name, cookie, mine)
			}
		}
		for cookies, want := range map[string]account.ActorKind{
			mine + "=" + in.Value:                          account.ActorUser,
			other + "=" + in.Value:                         account.ActorAnonymous,
			other + "=qs_0; " + mine + "=" + in.Value:      account.ActorUser,
			strings.ToLower(mine) + "x=1; " + other + "=1": account.ActorAnonymous,
		} {
			p, err := w.Authenticate(newRequest("Cookie", cookies))
			if err != nil || p.Actor.Kind != want {
				t.Errorf("%s: %.40s: %v, %v; want %s", c.url, cookies, p, err, want)
			}
		}
	}
}

func TestCredentialsInHeaders(t *testing.T) {
	w := newWorld(t, func(o *auth.Options) { o.Anonymous = true })
	in := w.signInOwner()
	key := w.createKey(w.authenticateAs(in.Value), auth.NewKey{Name: "k"})
	other := w.createKey(w.authenticateAs(in.Value), auth.NewKey{Name: "other"})
	bob := w.signInMember(w.authenticateAs(in.Value), "bob@example.org")
	_, token := w.mintToken(w.authenticateAs(key), 1)
	cookie := auth.CookieName + "=" + in.Value
	cases := []struct {
		name    string
		headers []string
		want    account.ActorKind // empty: refused
	}{
		{"nothing", nil, account.ActorAnonymous},
		{"bearer", []string{"Authorization", "Bearer " + key}, account.ActorKey},
		{"scheme in other case", []string{"Authorization", "bEaReR  " + key}, account.ActorKey},
		{"own header", []string{"X-Service-Api-Key", key}, account.ActorKey},
		{"alias", []string{"X-Sourcebot-Api-Key", key}, account.ActorKey},
		{"token", []string{"Authorization", "Bearer " + token}, account.ActorToken},
		{"operator", []string{"Authorization", "Bearer " + operator}, account.ActorOperator},
		{"session", []string{"Cookie", cookie}, account.ActorUser},
		{"session among others", []string{"Cookie", "a=b; " + cookie + "; c=d"}, account.ActorUser},
		{"session twice", []string{"Cookie", cookie + "; " + cookie}, account.ActorUser},
		{"the same in three headers", []string{"Authorization", "Bearer " + key, "X-Service-Api-Key", key, "X-Sourcebot-Api-Key", key}, account.ActorKey},
		{"key and session of one user", []string{"Authorization", "Bearer " + key, "Cookie", cookie}, account.ActorKey},
		{"foreign cookies", []string{"Cookie", "xquarry_session=1; quarry_sessio=2"}, account.ActorAnonymous},

		{"two headers of one name", []string{"Authorization", "Bearer " + key, "Authorization", "Bearer " + key}, ""},
		{"two keys", []string{"Authorization", "Bearer " + key, "X-Service-Api-Key", other}, ""},
		{"two keys in the aliases", []string{"X-Service-Api-Key", key, "X-Sourcebot-Api-Key", other}, ""},
		{"own header twice", []string{"X-Service-Api-Key", key, "X-Service-Api-Key", key}, ""},
		{"key and session of two users", []string{"Authorization", "Bearer " + key, "Cookie", auth.CookieName + "=" + bob.Value}, ""},
		{"operator and session", []string{"Authorization", "Bearer " + operator, "Cookie", cookie}, ""},
		{"key and bad session", []string{"Authorization", "Bearer " + key, "Cookie", auth.CookieName + "=x"}, ""},
		{"good session and bad key", []string{"X-Service-Api-Key", "x", "Cookie", cookie}, ""},
		{"two sessions", []string{"Cookie", cookie + "; " + auth.CookieName + "=" + bob.Value}, ""},
		{"empty bearer", []string{"Authorization", "Bearer "}, ""},
		{"no scheme", []string{"Authorization", key}, ""},
		{"basic", []string{"Authorization", "Basic " + key}, ""},
		{"empty header", []string{"Authorization", ""}, ""},
		{"empty own header", []string{"X-Service-Api-Key", ""}, ""},
		{"session as bearer", []string{"Authorization", "Bearer " + in.Value}, ""},
		{"key as session", []string{"Cookie", auth.CookieName + "=" + key}, ""},
		{"setup value", []string{"Authorization", "Bearer " + w.SetupValue()}, ""},
		{"upper case", []string{"Authorization", "Bearer " + strings.ToUpper(key)}, ""},
		{"truncated", []string{"Authorization", "Bearer " + key[:len(key)-1]}, ""},
		{"longer", []string{"Authorization", "Bearer " + key + "0"}, ""},
		{"space after", []string{"Authorization", "Bearer " + key + " "}, ""},
		{"changed", []string{"Authorization", "Bearer " + flipSecret(key)}, ""},
		{"key of an older release", []string{"Authorization", "Bearer " + account.PrefixKey + secretOf(key)}, account.ActorKey},
		{"key of an older established server", []string{"X-Sourcebot-Api-Key", account.LegacyPrefixKey + secretOf(key)}, account.ActorKey},
		{"token of an older release", []string{"Authorization", "Bearer " + account.PrefixToken + secretOf(token)}, account.ActorToken},
		{"prefix of another kind", []string{"Authorization", "Bearer " + account.PublicPrefixToken + secretOf(key)}, ""},
		{"former prefix of another kind", []string{"Authorization", "Bearer " + account.PrefixToken + secretOf(key)}, ""},
		{"prefix of no kind", []string{"Authorization", "Bearer sbscim_" + secretOf(key)}, ""},
		{"no prefix", []string{"Authorization", "Bearer " + secretOf(key)}, ""},
		{"two prefixes", []string{"Authorization", "Bearer " + account.LegacyPrefixKey + key}, ""},
		{"legacy prefix, truncated", []string{"Authorization", "Bearer " + account.LegacyPrefixKey + secretOf(key)[1:]}, ""},
		{"a megabyte", []string{"Authorization", "Bearer qk_" + strings.Repeat("a", 1<<20)}, ""},
		{"list", []string{"Authorization", "Bearer " + key + ", Bearer " + other}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := w.Authenticate(newRequest(c.headers...))
			if c.want == "" {
				if !errors.Is(err, auth.ErrUnauthenticated) || err.Error() != auth.ErrUnauthenticated.Error() {
					t.Fatalf("%+v, error %v; want the one error", p, err)
				}
				return
			}
			if err != nil || p.Actor.Kind != c.want {
				t.Fatalf("%+v, error %v; want %s", p, err, c.want)
			}
		})
	}
}

// TestPrefixesOfTheEstablishedInterface checks that keys and tokens have the form of the
// established interface, and that one issued before with another prefix is the same
// credential.
func TestPrefixesOfTheEstablishedInterface(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	key, value, err := w.CreateKey(t.Context(), owner, auth.NewKey{Name: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^sbk_[0-9a-f]{64}$`).MatchString(value) || key.Prefix != value[:10] {
		t.Errorf("key %q with the prefix %q", value, key.Prefix)
	}
	_, token := w.mintToken(w.authenticateAs(value), 1)
	if !regexp.MustCompile(`^sbst_[0-9a-f]{64}$`).MatchString(token) {
		t.Errorf("token %q", token)
	}
	for _, prefix := range []string{"sbk_", "qk_", "sourcebot-"} {
		if p := w.authenticateAs(prefix + secretOf(value)); p.Actor.Credential != string(key.ID) {
			t.Errorf("%s is the credential %+v, want the key", prefix, p.Actor)
		}
	}
	if err := w.DeleteKey(t.Context(), owner, "k"); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"sbk_", "qk_", "sourcebot-"} {
		w.checkRefused("the deleted key with "+prefix, prefix+secretOf(value))
	}
}

// TestCredentialsOfEarlierReleases checks that keys and tokens of earlier releases, whose
// hashes include the prefixes of those releases, work until they expire.
func TestCredentialsOfEarlierReleases(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	const hexadecimal = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
	hash := func(value string) string {
		h := hmac.New(sha256.New, []byte(strings.Repeat("s", auth.MinSecretBytes)))
		_, _ = h.Write([]byte(value))
		return hex.EncodeToString(h.Sum(nil))
	}
	by, now := account.Actor{Kind: account.ActorUser, User: in.User.ID}, w.clock.Now()
	for _, ev := range []event.Event{
		&event.KeyCreated{
			ID: "k", User: in.User.ID, Name: "old", Prefix: "qk_5a5a5a", Hash: hash("qk_" + hexadecimal), Scopes: []account.Scope{account.ScopeGit}, By: by, At: now,
		},
		&event.TokenMinted{
			Token: "t", MintedBy: "k", User: in.User.ID, Hash: hash("qt_" + hexadecimal), Repositories: []code.RepositoryID{1}, ExpiresAt: now.Add(time.Hour), By: by, At: now,
		},
	} {
		if _, err := w.directory.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	for value, id := range map[string]string{"qk_": "k", "sbk_": "k", "sourcebot-": "k", "qt_": "t", "sbst_": "t"} {
		if p := w.authenticateAs(value + hexadecimal); p.Actor.Credential != id {
			t.Errorf("%s is %+v, want %s", value, p.Actor, id)
		}
	}
	w.clock.advanceBy(time.Hour)
	w.checkRefused("the expired token", "qt_"+hexadecimal)
}

// secretOf returns a credential without its prefix.
func secretOf(value string) string { return value[len(value)-64:] }

// flipSecret changes the last character of a credential.
func flipSecret(value string) string {
	last := "0"
	if strings.HasSuffix(value, last) {
		last = "1"
	}
	return value[:len(value)-1] + last
}

func TestWithoutAnonymousRequestsNothingIsRefused(t *testing.T) {
	w := newWorld(t)
	if p, err := w.Authenticate(newRequest()); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Fatalf("%+v, %v", p, err)
	}
}

// TestCredentialsEnd checks that whatever ends a credential takes effect with the next
// request.
func TestCredentialsEnd(t *testing.T) {
	ends := map[string]func(w *world, owner, bob *auth.Principal, key *account.Key, token *account.Token){
		"suspended": func(w *world, owner, bob *auth.Principal, _ *account.Key, _ *account.Token) {
			if _, err := w.Suspend(w.t.Context(), owner, bob.Actor.User); err != nil {
				w.t.Fatal(err)
			}
		},
		"removed": func(w *world, owner, bob *auth.Principal, _ *account.Key, _ *account.Token) {
			if err := w.Remove(w.t.Context(), owner, bob.Actor.User); err != nil {
				w.t.Fatal(err)
			}
		},
		"expired": func(w *world, _, _ *auth.Principal, _ *account.Key, _ *account.Token) {
			w.clock.advanceBy(auth.DefaultSessionTTL)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			owner := w.authenticateAs(w.signInOwner().Value)
			in := w.signInMember(owner, "bob@example.org")
			bob := w.authenticateAs(in.Value)
			key, value, err := w.CreateKey(t.Context(), bob, auth.NewKey{Name: "k", ExpiresAt: w.clock.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			token, short := w.mintToken(w.authenticateAs(value), 1)
			w.authenticateAs(short)
			end(w, owner, bob, key, token)
			w.checkRefused("the session", in.Value)
			w.checkRefused("the key", value)
			w.checkRefused("the token", short)
		})
	}
}

func TestTokenEndsWithItsKey(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	value := w.createKey(owner, auth.NewKey{Name: "k"})
	_, token := w.mintToken(w.authenticateAs(value), 1, 3, 1)
	if err := w.DeleteKey(t.Context(), owner, "k"); err != nil {
		t.Fatal(err)
	}
	w.checkRefused("the key", value)
	w.checkRefused("the token", token)
}

// TestRoleIsOfNow checks that a role takes effect with the next request of every
// credential.
func TestRoleIsOfNow(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	in := w.signInMember(owner, "bob@example.org")
	if _, err := w.ChangeRole(t.Context(), owner, in.User.ID, account.RoleOwner); err != nil {
		t.Fatal(err)
	}
	key := w.createKey(w.authenticateAs(in.Value), auth.NewKey{Name: "k", Scopes: []account.Scope{account.ScopeAdmin, account.ScopeSearch}})
	if p := w.authenticateAs(key); !p.Owner() {
		t.Fatalf("%+v is no owner", p)
	}
	if _, err := w.ChangeRole(t.Context(), owner, in.User.ID, account.RoleMember); err != nil {
		t.Fatal(err)
	}
	if p := w.authenticateAs(key); p.Owner() || p.Has(account.ScopeAdmin) || !p.Has(account.ScopeSearch) || p.Has(account.ScopeGit) {
		t.Fatalf("the key of a member is good for %v", p.Scopes)
	}
	if p := w.authenticateAs(in.Value); p.Owner() {
		t.Fatal("the session of a member is an owner's")
	}
}

// TestVisible checks that a narrower credential never sees more, and that each sees what
// the table lists.
func TestVisible(t *testing.T) {
	w := newWorld(t, func(o *auth.Options) { o.Anonymous = true })
	owner := w.authenticateAs(w.signInOwner().Value)
	bob, eve := w.signInMember(owner, "bob@example.org"), w.signInMember(owner, "eve@example.org")
	decide := func(id code.RepositoryID, v account.Visibility, members ...account.UserID) {
		if _, err := w.SetAccess(t.Context(), owner, newRepository(id), v, members); err != nil {
			t.Fatal(err)
		}
	}
	decide(3, account.Internal)
	decide(4, account.Public)
	decide(5, account.Private, bob.User.ID)
	decide(6, "", bob.User.ID) // private at the code host
	ownersKey := w.createKey(owner, auth.NewKey{Name: "some", Repositories: []code.RepositoryID{2, 5, 1}})
	bobsKey := w.createKey(w.authenticateAs(bob.Value), auth.NewKey{Name: "some", Repositories: []code.RepositoryID{5, 6, 1}})
	_, bobsToken := w.mintToken(w.authenticateAs(bobsKey), 5, 1)
	anonymous, err := w.Authenticate(newRequest())
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		who  string
		p    *auth.Principal
		want string
	}{
		{"operator", w.authenticateAs(operator), "1 2 3 4 5 6 7 8 9"},
		{"owner", owner, "1 2 3 4 5 6 7 8 9"},
		{"owner's key", w.authenticateAs(ownersKey), "1 2 5"},
		{"named member", w.authenticateAs(bob.Value), "1 3 4 5 6 7 9"},
		{"their key", w.authenticateAs(bobsKey), "1 5 6"},
		{"their token", w.authenticateAs(bobsToken), "1 5"},
		{"other member", w.authenticateAs(eve.Value), "1 3 4 7 9"},
		{"anonymous", anonymous, "1 4 7 9"},
		{"nobody", auth.From(t.Context()), ""},
	}
	for _, c := range cases {
		if got := seenNames(w.Visible(c.p)); got != c.want {
			t.Errorf("%s sees %q, want %q", c.who, got, c.want)
		}
		if v := w.Visible(c.p); v != w.Visible(c.p) {
			t.Errorf("%s is given another Visible though nothing has changed", c.who)
		}
	}
	before := w.Visible(w.authenticateAs(bob.Value))
	decide(5, account.Private)
	if seenNames(before) != "1 3 4 5 6 7 9" {
		t.Error("a Visible changed while it was used")
	}
	for who, value := range map[string]string{"member": bob.Value, "key": bobsKey, "token": bobsToken} {
		if strings.Contains(seenNames(w.Visible(w.authenticateAs(value))), "5") {
			t.Errorf("the %s sees what was taken from its user", who)
		}
	}
}

func seenNames(v auth.Visible) string {
	var ids []string
	for id := code.RepositoryID(1); id <= 9; id++ {
		if v.Sees(newRepository(id)) {
			ids = append(ids, fmt.Sprint(id))
		}
	}
	return strings.Join(ids, " ")
}

func FuzzAuthenticate(f *testing.F) {
	w := newWorld(f, func(o *auth.Options) { o.Anonymous = true })
	in := w.signInOwner()
	key := w.createKey(w.authenticateAs(in.Value), auth.NewKey{Name: "k"})
	f.Add("Bearer "+key, key, auth.CookieName+"="+in.Value)
	f.Add("Bearer qk_", "", "quarry_session")
	f.Add("", "qt_"+strings.Repeat("0", 64), ";;=;quarry_session=;")
	good := []string{secretOf(key), in.Value, operator}
	f.Fuzz(func(t *testing.T, bearer, header, cookie string) {
		r := &http.Request{Header: http.Header{}}
		for name, v := range map[string]string{"Authorization": bearer, "X-Service-Api-Key": header, "Cookie": cookie} {
			if v != "" {
				r.Header.Set(name, v)
			}
		}
		p, err := w.Authenticate(r)
		if err != nil {
			return
		}
		shown := slices.ContainsFunc(good, func(v string) bool { return strings.Contains(bearer+" "+header+" "+cookie, v) })
		if !p.Anonymous() && !shown {
			t.Fatalf("%q, %q, %q are good for %+v", bearer, header, cookie, p)
		}
		if p.Anonymous() && bearer+header != "" {
			t.Fatalf("%q, %q: what is no credential became an anonymous request", bearer, header)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	w := newWorld(b, func(o *auth.Options) { o.Anonymous = true })
	in := w.signInOwner()
	owner := w.authenticateAs(in.Value)
	key := w.createKey(owner, auth.NewKey{Name: "k"})
	some := w.createKey(owner, auth.NewKey{Name: "some", Repositories: []code.RepositoryID{1, 2, 3}})
	for name, r := range map[string]*http.Request{
		"key": bearerRequest(key), "restricted": bearerRequest(some), "session": bearerRequest(in.Value), "anonymous": newRequest(),
		"foreign":  bearerRequest(flipSecret(key)),
		"megabyte": newRequest("Authorization", "Bearer qk_"+strings.Repeat("a", 1<<20)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := w.Authenticate(r)
				if err == nil {
					w.Visible(p)
				}
			}
		})
	}
}
