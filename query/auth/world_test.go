package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/authtest"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// world is a Service over accounts in memory, with a clock that tests set.
type world struct {
	*auth.Service
	t         testing.TB
	directory *authtest.Directory
	clock     *clock
	records   *records
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) advanceBy(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

// records is the audit log.
type records struct {
	mu  sync.Mutex
	all []audit.Record
}

func (r *records) Record(_ context.Context, rec audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
	return nil
}

func (r *records) len() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.all) }

// catalog has the repositories 1 to 9; even ones are private at their code host.
type catalog struct{}

func (catalog) Find(_ context.Context, candidate code.Repository) (code.Repository, error) {
	if candidate.ID < 1 || candidate.ID > 9 {
		return code.Repository{}, code.ErrNotFound
	}
	return *newRepository(candidate.ID), nil
}

func newRepository(id code.RepositoryID) *code.Repository {
	return &code.Repository{ID: id, Name: "r", Private: id%2 == 0}
}

const (
	ownerEmail = "ada@example.org"
	password   = "correct horse battery"
	operator   = account.PrefixOperator + "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

var here = account.Actor{Kind: account.ActorAnonymous, Address: "192.0.2.1", Client: "test"}

func newWorld(t testing.TB, set ...func(*auth.Options)) *world {
	t.Helper()
	w := &world{t: t, directory: authtest.New(), clock: &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}, records: &records{}}
	o := auth.Options{
		Directory: w.directory, Appender: w.directory, Recorder: w.records, Secret: []byte(strings.Repeat("s", auth.MinSecretBytes)),
		Operator: operator, Catalog: catalog{}, Now: w.clock.Now, Hashing: auth.Hashing{MemoryKiB: 8, Passes: 1, Waiting: 1 << 20, Wait: time.Hour},
	}
	for _, f := range set {
		f(&o)
	}
	var err error
	if w.Service, err = auth.NewService(o); err != nil {
		t.Fatal(err)
	}
	return w
}

// signInOwner creates the first owner and returns their session.
func (w *world) signInOwner() *auth.SignedIn {
	w.t.Helper()
	in, err := w.Setup(w.t.Context(), here, auth.Newcomer{Value: w.SetupValue(), Email: ownerEmail, Name: "Ada", Password: password})
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// signInMember invites a user and returns their session.
func (w *world) signInMember(owner *auth.Principal, email string) *auth.SignedIn {
	w.t.Helper()
	_, value, err := w.Invite(w.t.Context(), owner, auth.Invitation{})
	if err != nil {
		w.t.Fatal(err)
	}
	in, err := w.Accept(w.t.Context(), here, auth.Newcomer{Value: value, Email: email, Password: password})
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// createKey creates a key for a session.
func (w *world) createKey(p *auth.Principal, n auth.NewKey) string {
	w.t.Helper()
	_, value, err := w.CreateKey(w.t.Context(), p, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return value
}

func (w *world) mintToken(p *auth.Principal, ids ...code.RepositoryID) (*account.Token, string) {
	w.t.Helper()
	token, value, err := w.MintToken(w.t.Context(), p, ids)
	if err != nil {
		w.t.Fatal(err)
	}
	return token, value
}

// newRequest returns a request with headers, given as alternating names and values.
func newRequest(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func bearerRequest(value string) *http.Request {
	if strings.HasPrefix(value, account.PrefixSession) {
		return newRequest("Cookie", auth.CookieName+"="+value)
	}
	return newRequest("Authorization", "Bearer "+value)
}

// authenticateAs returns the principal of a credential.
func (w *world) authenticateAs(value string) *auth.Principal {
	w.t.Helper()
	p, err := w.Authenticate(bearerRequest(value))
	if err != nil {
		w.t.Fatalf("%.9s…: %v", value, err)
	}
	return p
}

// checkRefused fails unless a credential is refused.
func (w *world) checkRefused(what, value string) {
	w.t.Helper()
	if p, err := w.Authenticate(bearerRequest(value)); err == nil {
		w.t.Errorf("%s is good for %+v", what, p)
	}
}
