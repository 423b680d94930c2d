package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestPermissionsOfCredentials checks the permissions of every kind of credential. Each
// attempt would succeed for a permitted caller.
func TestPermissionsOfCredentials(t *testing.T) {
	w := newWorld(t, func(o *auth.Options) { o.Anonymous = true })
	ownerIn := w.signInOwner()
	owner := w.authenticateAs(ownerIn.Value)
	bobIn := w.signInMember(owner, "bob@example.org")
	bob := w.authenticateAs(bobIn.Value)
	anonymous, err := w.Authenticate(newRequest())
	if err != nil {
		t.Fatal(err)
	}
	all := []account.Scope{account.ScopeSearch, account.ScopeGit, account.ScopeAdmin}
	// A key created while its user was an owner.
	if _, err := w.ChangeRole(t.Context(), owner, bob.Actor.User, account.RoleOwner); err != nil {
		t.Fatal(err)
	}
	oldKey := w.createKey(w.authenticateAs(bobIn.Value), auth.NewKey{Name: "old", Scopes: all})
	if _, err := w.ChangeRole(t.Context(), owner, bob.Actor.User, account.RoleMember); err != nil {
		t.Fatal(err)
	}
	admin := w.createKey(owner, auth.NewKey{Name: "admin", Scopes: all})
	plain := w.createKey(owner, auth.NewKey{Name: "plain"})
	_, token := w.mintToken(w.authenticateAs(admin), 1)
	who := map[string]*auth.Principal{
		"anonymous": anonymous, "nobody": auth.From(t.Context()), "member": w.authenticateAs(bobIn.Value), "member's admin key": w.authenticateAs(oldKey),
		"owner": owner, "owner's admin key": w.authenticateAs(admin), "owner's key": w.authenticateAs(plain), "token": w.authenticateAs(token), "operator": w.authenticateAs(operator),
	}
	n := 0
	fresh := func() *auth.SignedIn {
		n++
		return w.signInMember(owner, fmt.Sprintf("u%d@example.org", n))
	}
	owners := "owner|owner's admin key|operator"
	for _, c := range []struct {
		what string
		may  string
		try  func(p *auth.Principal) error
	}{
		{"list users", owners, func(p *auth.Principal) error { _, err := w.Users(p); return err }},
		{"read a user", owners, func(p *auth.Principal) error { _, err := w.User(p, bob.Actor.User); return err }},
		{"invite", owners, func(p *auth.Principal) error { _, _, err := w.Invite(t.Context(), p, auth.Invitation{}); return err }},
		{"suspend", owners, func(p *auth.Principal) error { _, err := w.Suspend(t.Context(), p, fresh().User.ID); return err }},
		{"remove", owners, func(p *auth.Principal) error { return w.Remove(t.Context(), p, fresh().User.ID) }},
		{"change a role", owners, func(p *auth.Principal) error {
			_, err := w.ChangeRole(t.Context(), p, fresh().User.ID, account.RoleOwner)
			return err
		}},
		{"decide who sees", owners, func(p *auth.Principal) error {
			_, err := w.SetAccess(t.Context(), p, newRepository(9), account.Private, nil)
			return err
		}},
		{"see who sees", owners, func(p *auth.Principal) error { _, err := w.Access(p, newRepository(9)); return err }},
		{"list everybody's keys", owners, func(p *auth.Principal) error { _, err := w.AllKeys(p); return err }},
		{"delete a foreign key", owners, func(p *auth.Principal) error {
			in := fresh()
			w.createKey(w.authenticateAs(in.Value), auth.NewKey{Name: "k"})
			return w.DeleteKey(t.Context(), p, string(w.directory.Keys(in.User.ID)[0].ID))
		}},
		{"make a key", "owner|member", func(p *auth.Principal) error {
			n++
			_, _, err := w.CreateKey(t.Context(), p, auth.NewKey{Name: fmt.Sprint("k", n)})
			return err
		}},
		{"make a key for somebody", "operator", func(p *auth.Principal) error {
			_, _, err := w.CreateKey(t.Context(), p, auth.NewKey{Name: "k", User: fresh().User.ID})
			return err
		}},
		{"list one's keys", "owner|member|owner's admin key|operator", func(p *auth.Principal) error { _, err := w.Keys(p); return err }},
		{"list sessions", "owner|member", func(p *auth.Principal) error { _, err := w.Sessions(p); return err }},
		{"rename", "owner|member", func(p *auth.Principal) error { _, err := w.Rename(t.Context(), p, "N"); return err }},
		{"mint a token", "owner's key|owner's admin key|member's admin key", func(p *auth.Principal) error {
			_, _, err := w.MintToken(t.Context(), p, []code.RepositoryID{1})
			return err
		}},
	} {
		for name, p := range who {
			err := c.try(p)
			if may := slices.Contains(strings.Split(c.may, "|"), name); may != (err == nil) {
				t.Errorf("%s: %s: %v", name, c.what, err)
			} else if !may && !errors.Is(err, auth.ErrForbidden) && !errors.Is(err, auth.ErrUnauthenticated) && !errors.Is(err, auth.ErrKeyNotFound) && !errors.Is(err, auth.ErrInvalid) {
				t.Errorf("%s: %s: refused with %v", name, c.what, err)
			}
		}
	}
}

// TestNoMoreThanWhatMadeIt checks that a credential never grants more than the one that
// created it.
func TestNoMoreThanWhatMadeIt(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	bob := w.authenticateAs(w.signInMember(owner, "bob@example.org").Value)
	admin := []account.Scope{account.ScopeAdmin}
	for what, n := range map[string]auth.NewKey{
		"a member's admin key":     {Name: "k", Scopes: admin},
		"a member's scip key":      {Name: "k", Scopes: []account.Scope{account.ScopeSearch, account.ScopeScip}},
		"a private repository":     {Name: "k", Repositories: []code.RepositoryID{2}},
		"an unknown repository":    {Name: "k", Repositories: []code.RepositoryID{1, 99}},
		"somebody else's key":      {Name: "k", User: owner.Actor.User},
		"an unknown scope":         {Name: "k", Scopes: []account.Scope{"root"}},
		"an expired key":           {Name: "k", ExpiresAt: w.clock.Now()},
		"a key valid for too long": {Name: "k", ExpiresAt: w.clock.Now().Add(2 * auth.MaxKeyTTL)},
		"a nameless key":           {Name: "  "},
	} {
		if _, _, err := w.CreateKey(t.Context(), bob, n); err == nil {
			t.Errorf("%s is made", what)
		}
	}
	if _, _, err := w.CreateKey(t.Context(), owner, auth.NewKey{Name: "k", Scopes: admin, Repositories: []code.RepositoryID{1}}); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("a restricted admin key: %v", err)
	}
	if _, _, err := w.CreateKey(t.Context(), owner, auth.NewKey{Name: "k", Scopes: []account.Scope{account.ScopeScip}}); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("a key with the scope scip alone: %v", err)
	}
	uploads := w.authenticateAs(w.createKey(owner, auth.NewKey{
		Name: "uploads", Scopes: []account.Scope{account.ScopeScip, account.ScopeSearch}, Repositories: []code.RepositoryID{1},
	}))
	if !uploads.Has(account.ScopeScip) || uploads.Has(account.ScopeAdmin) || len(uploads.Repositories) != 1 {
		t.Errorf("a key for uploads is good for %v of %v", uploads.Scopes, uploads.Repositories)
	}
	if token, value := w.mintToken(uploads, 1); w.authenticateAs(value).Has(account.ScopeScip) {
		t.Errorf("token %+v is good for uploads", token)
	}
	restricted := w.authenticateAs(w.createKey(bob, auth.NewKey{Name: "some", Scopes: []account.Scope{account.ScopeSearch}, Repositories: []code.RepositoryID{1, 3}}))
	for _, ids := range [][]code.RepositoryID{{5}, {1, 5}, {2}, {99}} {
		if _, _, err := w.MintToken(t.Context(), restricted, ids); !errors.Is(err, auth.ErrRepositoryScope) {
			t.Errorf("a token for %v: %v", ids, err)
		}
	}
	minted, value := w.mintToken(restricted, 3, 1, 3)
	if fmt.Sprint(minted.Repositories) != "[3 1]" || minted.ExpiresAt.Sub(minted.CreatedAt) != auth.TokenTTL {
		t.Errorf("%+v", minted)
	}
	p := w.authenticateAs(value)
	if p.Has(account.ScopeGit) || p.Has(account.ScopeAdmin) || !p.Has(account.ScopeSearch) {
		t.Errorf("the token is good for %v", p.Scopes)
	}
	w.clock.advanceBy(auth.TokenTTL)
	w.checkRefused("the token", value)
}

func TestRevokeToken(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	ownersKey := w.authenticateAs(w.createKey(owner, auth.NewKey{Name: "k"}))
	bobsKey := w.authenticateAs(w.createKey(w.authenticateAs(w.signInMember(owner, "bob@example.org").Value), auth.NewKey{Name: "k"}))
	token, value := w.mintToken(bobsKey, 1)
	if err := w.RevokeToken(t.Context(), ownersKey, token.ID); !errors.Is(err, auth.ErrTokenNotFound) {
		t.Errorf("a foreign token: %v", err)
	}
	for what, p := range map[string]*auth.Principal{"a session": owner, "the token": w.authenticateAs(value)} {
		if err := w.RevokeToken(t.Context(), p, token.ID); !errors.Is(err, auth.ErrForbidden) {
			t.Errorf("by %s: %v", what, err)
		}
	}
	if err := w.RevokeToken(t.Context(), bobsKey, token.ID); err != nil {
		t.Fatal(err)
	}
	w.checkRefused("the token", value)
	if err := w.RevokeToken(t.Context(), bobsKey, token.ID); !errors.Is(err, auth.ErrTokenNotFound) {
		t.Errorf("a second time: %v", err)
	}
}

func TestMintsAreBounded(t *testing.T) {
	w := newWorld(t)
	key := w.authenticateAs(w.createKey(w.authenticateAs(w.signInOwner().Value), auth.NewKey{Name: "k"}))
	for i := 0; ; i++ {
		_, _, err := w.MintToken(t.Context(), key, []code.RepositoryID{1})
		if errors.Is(err, auth.ErrTooMany) {
			break
		}
		if err != nil || i > 10_000 {
			t.Fatalf("%d tokens, %v", i, err)
		}
	}
	w.clock.advanceBy(auth.TokenTTL)
	w.mintToken(key, 1)
}

func TestKeys(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	key, value, err := w.CreateKey(t.Context(), owner, auth.NewKey{Name: " build ", Repositories: []code.RepositoryID{3, 1, 3}, ExpiresAt: w.clock.Now().Add(time.Hour)})
	if err != nil || key.Name != "build" || value[:len(key.Prefix)] != key.Prefix || len(key.Prefix) != 10 || fmt.Sprint(key.Repositories) != "[3 1]" {
		t.Fatalf("%+v, %v", key, err)
	}
	for _, held := range []string{fmt.Sprintf("%+v", key), fmt.Sprintf("%+v", w.directory.Events())} {
		if strings.Contains(held, value[10:]) {
			t.Error("the value is kept")
		}
	}
	if _, _, err := w.CreateKey(t.Context(), owner, auth.NewKey{Name: "build"}); !errors.Is(err, auth.ErrKeyExists) {
		t.Errorf("the same name: %v", err)
	}
	w.clock.advanceBy(time.Hour)
	w.checkRefused("the expired key", value)
	if err := w.DeleteKey(t.Context(), owner, string(key.ID)); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteKey(t.Context(), owner, "build"); !errors.Is(err, auth.ErrKeyNotFound) {
		t.Errorf("a second time: %v", err)
	}
	for i := 0; ; i++ {
		if _, _, err := w.CreateKey(t.Context(), owner, auth.NewKey{Name: fmt.Sprint(i)}); errors.Is(err, auth.ErrTooMany) {
			break
		} else if err != nil || i > 1000 {
			t.Fatalf("%d keys, %v", i, err)
		}
	}
}

// TestLastOwner checks that the last active owner stays, even if owners remove each other
// concurrently.
func TestLastOwner(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	owner := w.authenticateAs(in.Value)
	if err := w.Remove(t.Context(), owner, in.User.ID); !errors.Is(err, auth.ErrLastOwnerRemoved) {
		t.Errorf("removed: %v", err)
	}
	if _, err := w.Suspend(t.Context(), owner, in.User.ID); !errors.Is(err, auth.ErrLastOwnerRemoved) {
		t.Errorf("suspended: %v", err)
	}
	if _, err := w.ChangeRole(t.Context(), owner, in.User.ID, account.RoleMember); !errors.Is(err, auth.ErrLastOwnerDemoted) {
		t.Errorf("demoted: %v", err)
	}
	principals := []*auth.Principal{owner}
	for i := range 5 {
		other := w.signInMember(owner, fmt.Sprintf("o%d@example.org", i))
		if _, err := w.ChangeRole(t.Context(), owner, other.User.ID, account.RoleOwner); err != nil {
			t.Fatal(err)
		}
		principals = append(principals, w.authenticateAs(other.Value))
	}
	var group sync.WaitGroup
	for i, p := range principals {
		group.Go(func() {
			id := principals[(i+1)%len(principals)].Actor.User
			_, err := w.ChangeRole(t.Context(), p, id, account.RoleMember)
			if err != nil && !errors.Is(err, auth.ErrLastOwnerDemoted) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := w.directory.Owners(); n != 1 {
		t.Errorf("%d owners", n)
	}
}
