package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/authtest"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// both appends to the log and to the model, which keeps accounts in memory.
type both struct {
	log   accountrows.Events
	model *authtest.Directory
}

// Append implements auth.Appender.
func (b both) Append(ctx context.Context, events ...event.Event) (event.Position, error) {
	if _, err := b.model.Append(ctx, events...); err != nil {
		return event.Position{}, err
	}
	return b.log.Append(ctx, events...)
}

// fiveRepositories is a catalog with repositories 1 to 5.
type fiveRepositories struct{}

func (fiveRepositories) Find(_ context.Context, r code.Repository) (code.Repository, error) {
	if r.ID > 5 {
		return r, code.ErrNotFound
	}
	return r, nil
}

// people holds the state of a run of random changes.
type people struct {
	*auth.Service
	rng         *rand.Rand
	now         time.Time
	operator    *auth.Principal
	ids         []account.UserID
	sessions    []string
	keys        []string
	tokens      []account.TokenID
	invitations []string
}

// TestAccountsAgreeWithModel makes random changes through auth.Service, over the log and
// its projection, and compares the result of each with accounts in memory. This justifies
// the tests that use accounts in memory.
func TestAccountsAgreeWithModel(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	seed := seedtest.ChooseSeed(t)
	p := &people{rng: rand.New(rand.NewPCG(seed, 0)), now: time.Now().UTC(), operator: &auth.Principal{
		Actor: account.Actor{Kind: account.ActorOperator}, Role: account.RoleOwner, Scopes: []account.Scope{account.ScopeAdmin, account.ScopeSearch},
	}}
	model := authtest.New()
	var err error
	p.Service, err = auth.NewService(auth.Options{
		Directory: s.accounts.Directory, Appender: both{accountrows.NewEvents(s.log, boot.Now), model}, Secret: []byte(strings.Repeat("s", auth.MinSecretBytes)),
		Catalog: fiveRepositories{}, LinkByEmail: true, Now: func() time.Time { return p.now }, Hashing: auth.Hashing{MemoryKiB: 8, Passes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	for i := range 400 {
		p.now = p.now.Add(time.Duration(p.rng.Int64N(int64(20 * time.Minute))))
		what, err := p.changeRandomly(t.Context())
		if errors.Is(err, auth.ErrUnavailable) {
			t.Fatalf("change %d, %s: %v", i, what, err)
		}
		if err == nil {
			done[what]++
		}
		got, want := describeDirectory(s.accounts.Directory, p.now), describeDirectory(model, p.now)
		if got != want {
			t.Fatalf("change %d, %s (%v):\n%s", i, what, err, firstDifference(got, want))
		}
	}
	if len(done) < 10 {
		t.Errorf("few kinds of changes succeeded: %v", done)
	}
}

// firstDifference returns the first line that differs.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + "\nwant\n" + b[i]
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// describeDirectory lists everything in a directory that has not expired.
func describeDirectory(d auth.Directory, now time.Time) string {
	var b strings.Builder
	live := func(end time.Time) bool { return end.IsZero() || now.Before(end) }
	for _, u := range d.Users() {
		fmt.Fprintf(&b, "%+v\n", *u)
		for _, k := range d.Keys(u.ID) {
			fmt.Fprintf(&b, " key %s %s %v %v %s\n", k.ID, k.Name, k.Scopes, k.Repositories, k.ExpiresAt)
		}
		for _, v := range d.Sessions(u.ID) {
			if live(v.ExpiresAt) {
				fmt.Fprintf(&b, " session %s %s\n", v.ID, v.ExpiresAt)
			}
		}
	}
	for _, i := range d.Invitations() {
		if live(i.ExpiresAt) {
			fmt.Fprintf(&b, "%+v\n", *i)
		}
	}
	for id := code.RepositoryID(1); id <= 5; id++ {
		if a := d.Access()[id]; a != nil {
			fmt.Fprintf(&b, "%d %s %v\n", id, a.Visibility, a.Members)
		}
	}
	return b.String()
}

// pickRecent returns a random element among the latest ones.
func pickRecent[T any](p *people, from []T) (one T) {
	if from = from[max(len(from)-6, 0):]; len(from) > 0 {
		one = from[p.rng.IntN(len(from))]
	}
	return one
}

// authenticateRandom returns the principal of a random credential.
func (p *people) authenticateRandom(credentials []string) *auth.Principal {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if value := pickRecent(p, credentials); strings.HasPrefix(value, account.PrefixSession) {
		r.AddCookie(&http.Cookie{Name: auth.CookieName, Value: value})
	} else {
		r.Header.Set("Authorization", "Bearer "+value)
	}
	who, err := p.Authenticate(r)
	if err != nil {
		return auth.From(context.Background())
	}
	return who
}

func (p *people) randomEmail() string { return fmt.Sprintf("u%d@example.org", p.rng.IntN(8)) }

func (p *people) keepSignIn(in *auth.SignedIn, err error) error {
	if err == nil && in != nil {
		p.ids, p.sessions = append(p.ids, in.User.ID), append(p.sessions, in.Value)
	}
	return err
}

// changeRandomly makes one random change, which may be refused.
func (p *people) changeRandomly(ctx context.Context) (string, error) {
	const password = "correct horse"
	from := account.Actor{Kind: account.ActorAnonymous, Address: fmt.Sprint("192.0.2.", p.rng.IntN(200))}
	id := pickRecent(p, p.ids)
	switch n := p.rng.IntN(24); n {
	case 0:
		return "set up", p.keepSignIn(p.Setup(ctx, from, auth.Newcomer{Value: p.SetupValue(), Email: p.randomEmail(), Password: password}))
	case 1, 2, 3:
		i := auth.Invitation{Role: pickRecent(p, []account.Role{account.RoleOwner, account.RoleMember})}
		if n == 1 {
			i.Email = p.randomEmail()
		}
		_, value, err := p.Invite(ctx, p.operator, i)
		p.invitations = append(p.invitations, value)
		return "invite", err
	case 4, 5, 6:
		return "accept", p.keepSignIn(p.Accept(ctx, from, auth.Newcomer{Value: pickRecent(p, p.invitations), Email: p.randomEmail(), Password: password}))
	case 7, 8, 9:
		return "sign in", p.keepSignIn(p.SignIn(ctx, from, p.randomEmail(), password))
	case 10:
		return "sign in by identity", p.keepSignIn(p.SignInIdentity(ctx, from, auth.Identified{
			Identity: account.Identity{Issuer: "i", Subject: fmt.Sprint(p.rng.IntN(5))}, Email: p.randomEmail(), EmailVerified: true,
		}))
	case 11:
		p.now = p.now.Add(auth.DefaultRotateAfter)
		return "rotate", p.keepSignIn(p.Rotate(ctx, p.authenticateRandom(p.sessions)))
	case 12:
		return "sign out", p.SignOut(ctx, p.authenticateRandom(p.sessions))
	case 13:
		return "sign out everywhere", p.SignOutEverywhere(ctx, p.authenticateRandom(p.sessions))
	case 14:
		return "change the password", p.ChangePassword(ctx, p.authenticateRandom(p.sessions), password, password)
	case 15, 16, 17:
		return p.changeKeys(ctx, n)
	default:
		return p.changeUser(ctx, n, id)
	}
}

func (p *people) changeKeys(ctx context.Context, n int) (string, error) {
	switch n {
	case 15:
		key := auth.NewKey{Name: fmt.Sprint("k", p.rng.IntN(4))}
		if p.rng.IntN(2) == 0 {
			key.Repositories = []code.RepositoryID{1, code.RepositoryID(1 + p.rng.IntN(6))}
		}
		_, value, err := p.CreateKey(ctx, p.authenticateRandom(p.sessions), key)
		p.keys = append(p.keys, value)
		return "make a key", err
	case 16:
		token, _, err := p.MintToken(ctx, p.authenticateRandom(p.keys), []code.RepositoryID{1})
		if err == nil {
			p.tokens = append(p.tokens, token.ID)
		}
		return "mint a token", err
	}
	if p.rng.IntN(2) == 0 {
		return "revoke a token", p.RevokeToken(ctx, p.authenticateRandom(p.keys), pickRecent(p, p.tokens))
	}
	return "delete a key", p.DeleteKey(ctx, p.authenticateRandom(p.sessions), fmt.Sprint("k", p.rng.IntN(4)))
}

func (p *people) changeUser(ctx context.Context, n int, id account.UserID) (what string, err error) {
	switch n {
	case 18:
		what = "approve"
		_, err = p.Approve(ctx, p.operator, id)
	case 19:
		what = "suspend"
		_, err = p.Suspend(ctx, p.operator, id)
	case 20:
		what = "reinstate"
		_, err = p.Reinstate(ctx, p.operator, id)
	case 21:
		what = "role"
		_, err = p.ChangeRole(ctx, p.operator, id, pickRecent(p, []account.Role{account.RoleOwner, account.RoleMember}))
	case 22:
		what, err = "remove", p.Remove(ctx, p.operator, id)
	default:
		what = "decide"
		v := pickRecent(p, []account.Visibility{"", account.Public, account.Private})
		_, err = p.SetAccess(ctx, p.operator, &code.Repository{ID: code.RepositoryID(1 + p.rng.IntN(5))}, v, p.ids[:min(len(p.ids), p.rng.IntN(3))])
	}
	return what, err
}
