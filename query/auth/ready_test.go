package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// TestAccountsThatAreBeingRead checks that no caller is admitted or rejected by outdated
// accounts while they are loading: a key may have been deleted in the meantime, a
// repository hidden. The operator's token does not depend on accounts.
func TestAccountsThatAreBeingRead(t *testing.T) {
	reading := errors.New("3 of 5 records")
	w := newWorld(t, func(o *auth.Options) { o.Ready = func() error { return reading } })
	for name, header := range map[string][2]string{
		"nobody":    {"Accept", "*/*"},
		"a key":     {"Authorization", "Bearer qk_" + operator[3:]},
		"a session": {"Cookie", "quarry_session=qs_" + operator[3:]},
		"a token":   {"X-Service-Api-Key", "qt_" + operator[3:]},
	} {
		if _, err := w.Authenticate(newRequest(header[0], header[1])); !errors.Is(err, auth.ErrNotReady) {
			t.Errorf("%s: %v, want ErrNotReady", name, err)
		}
	}
	if p, err := w.Authenticate(newRequest("Authorization", "Bearer "+operator)); err != nil || !p.Owner() {
		t.Errorf("the operator: %v, %v", p, err)
	}
	if _, err := w.SignIn(context.Background(), here, ownerEmail, password); !errors.Is(err, auth.ErrNotReady) {
		t.Errorf("sign-in: %v, want ErrNotReady", err)
	}
	reading = nil
	if _, err := w.Authenticate(newRequest("Authorization", "Bearer hello")); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("no key, once they are read: %v", err)
	}
}

// TestScopesOfSessions checks that the scopes of a session follow the role of its user.
func TestScopesOfSessions(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	in := w.signInMember(owner, "bea@example.org")
	if p := w.authenticateAs(in.Value); p.Has(account.ScopeAdmin) || !p.Has(account.ScopeSearch) || !p.Has(account.ScopeGit) {
		t.Errorf("a member's session: %v", p.Scopes)
	}
	if _, err := w.ChangeRole(t.Context(), owner, in.User.ID, account.RoleOwner); err != nil {
		t.Fatal(err)
	}
	if p := w.authenticateAs(in.Value); !p.Owner() {
		t.Errorf("the session of one who became an owner: %v", p.Scopes)
	}
}
