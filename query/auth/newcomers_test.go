package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

func TestSetup(t *testing.T) {
	w := newWorld(t)
	value := w.SetupValue()
	ada := auth.Newcomer{Value: value, Email: ownerEmail, Password: password}
	for _, wrong := range []string{"", "x", flipSecret(value), value + "0", value[:20], account.PrefixKey + value[3:]} {
		n := ada
		n.Value = wrong
		if _, err := w.Setup(t.Context(), here, n); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for _, c := range []struct {
		field  string
		change func(*auth.Newcomer)
	}{
		{"email", func(n *auth.Newcomer) { n.Email = "nobody" }},
		{"email", func(n *auth.Newcomer) { n.Email = "a b@c" }},
		{"email", func(n *auth.Newcomer) { n.Email = "a@b\nc" }},
		{"password", func(n *auth.Newcomer) { n.Password = "1234567" }},
		{"name", func(n *auth.Newcomer) { n.Name = "a\x00b" }},
		{"name", func(n *auth.Newcomer) { n.Name = "a\x7fb" }},
	} {
		n := ada
		c.change(&n)
		_, err := w.Setup(t.Context(), here, n)
		invalid, ok := errors.AsType[*auth.FieldError](err)
		if !ok || invalid.Field != c.field || !errors.Is(err, auth.ErrInvalid) {
			t.Errorf("%+v: %v, want an error of the field %s", n, err, c.field)
		}
	}
	in, err := w.Setup(t.Context(), here, ada)
	if err != nil || in.User.Role != account.RoleOwner || !w.authenticateAs(in.Value).Owner() {
		t.Fatalf("%+v, %v", in, err)
	}
	if w.SetupValue() != "" {
		t.Error("the value is shown although there is an owner")
	}
	ada.Email = "eve@example.org"
	if _, err := w.Setup(t.Context(), here, ada); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a second owner: %v", err)
	}
}

// TestSetupAtOnce checks that only one of several concurrent users of the setup link
// becomes the owner.
func TestSetupAtOnce(t *testing.T) {
	w := newWorld(t)
	value := w.SetupValue()
	var group sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		group.Go(func() {
			_, errs[i] = w.Setup(t.Context(), here, auth.Newcomer{Value: value, Email: fmt.Sprintf("u%d@example.org", i), Password: password})
		})
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, auth.ErrUnauthenticated) {
			t.Error(err)
		}
	}
	if won != 1 || len(w.directory.Users()) != 1 {
		t.Errorf("%d owners, %d users", won, len(w.directory.Users()))
	}
}

func TestInvitations(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	made, value, err := w.Invite(t.Context(), owner, auth.Invitation{Email: "Bob@Example.org"})
	if err != nil || made.Role != account.RoleMember || made.Email != "bob@example.org" {
		t.Fatalf("%+v, %v", made, err)
	}
	accept := func(value, email string) error {
		_, err := w.Accept(t.Context(), here, auth.Newcomer{Value: value, Email: email, Password: password})
		return err
	}
	if err := accept(value, "eve@example.org"); !errors.Is(err, auth.ErrInvitation) {
		t.Errorf("somebody else: %v", err)
	}
	if err := accept(value, ""); err != nil {
		t.Fatal(err)
	}
	if err := accept(value, ""); !errors.Is(err, auth.ErrInvitation) {
		t.Errorf("a second time: %v", err)
	}
	open, openValue, err := w.Invite(t.Context(), owner, auth.Invitation{Role: account.RoleOwner})
	if err != nil {
		t.Fatal(err)
	}
	// A used address and an invalid invitation give the same error.
	taken, unknown := accept(openValue, ownerEmail), accept(flipSecret(openValue), "new@example.org")
	if !errors.Is(taken, auth.ErrInvitation) || taken.Error() != unknown.Error() {
		t.Errorf("%v; %v", taken, unknown)
	}
	if err := w.RevokeInvitation(t.Context(), owner, open.ID); err != nil {
		t.Fatal(err)
	}
	if err := accept(openValue, "new@example.org"); !errors.Is(err, auth.ErrInvitation) {
		t.Errorf("taken back: %v", err)
	}
	_, late, err := w.Invite(t.Context(), owner, auth.Invitation{ExpiresIn: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.advanceBy(time.Hour)
	if err := accept(late, "new@example.org"); !errors.Is(err, auth.ErrInvitation) {
		t.Errorf("expired: %v", err)
	}
	if waiting, err := w.Invitations(owner); err != nil || len(waiting) != 0 {
		t.Errorf("%d wait, %v", len(waiting), err)
	}
}

// TestInvitationsEndWithTheirOwner checks that an owner who was removed, suspended or
// made a member does not return by an invitation that they created before.
func TestInvitationsEndWithTheirOwner(t *testing.T) {
	for name, end := range map[string]func(w *world, id account.UserID) error{
		"removed": func(w *world, id account.UserID) error { return w.Remove(t.Context(), w.authenticateAs(operator), id) },
		"suspended": func(w *world, id account.UserID) error {
			_, err := w.Suspend(t.Context(), w.authenticateAs(operator), id)
			return err
		},
		"demoted": func(w *world, id account.UserID) error {
			_, err := w.ChangeRole(t.Context(), w.authenticateAs(operator), id, account.RoleMember)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.signInOwner()
			eve, err := w.Accept(t.Context(), here, auth.Newcomer{Value: w.createInvitation("", account.RoleOwner), Email: "eve@example.org", Password: password})
			if err != nil {
				t.Fatal(err)
			}
			_, value, err := w.Invite(t.Context(), w.authenticateAs(eve.Value), auth.Invitation{Role: account.RoleOwner})
			if err != nil {
				t.Fatal(err)
			}
			if err := end(w, eve.User.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Accept(t.Context(), here, auth.Newcomer{Value: value, Email: "eve2@example.org", Password: password}); !errors.Is(err, auth.ErrInvitation) {
				t.Errorf("the invitation is good: %v", err)
			}
		})
	}
}

// TestInvitationAtOnce checks that only one person can accept an invitation.
func TestInvitationAtOnce(t *testing.T) {
	w := newWorld(t)
	_, value, err := w.Invite(t.Context(), w.authenticateAs(w.signInOwner().Value), auth.Invitation{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			_, err := w.Accept(t.Context(), here, auth.Newcomer{Value: value, Email: fmt.Sprintf("u%d@example.org", i), Password: password})
			if err != nil && !errors.Is(err, auth.ErrInvitation) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(w.directory.Users()); n != 2 {
		t.Errorf("%d users, want the owner and one", n)
	}
}

func TestSignInIdentity(t *testing.T) {
	grace := auth.Identified{
		Identity: account.Identity{Issuer: "https://id.example", Subject: "1"}, Email: "Grace@example.org", EmailVerified: true, Name: "Grace",
	}
	cases := []struct {
		name string
		set  func(*auth.Options)
		id   func(w *world, id *auth.Identified) // nil leaves it unchanged
		want error
		role account.Role
	}{
		{"newcomer waits", nil, nil, auth.ErrPending, ""},
		{"newcomer is admitted", func(o *auth.Options) { o.AdmitAll = true }, nil, nil, account.RoleMember},
		{"unverified", func(o *auth.Options) { o.AdmitAll = true }, func(_ *world, id *auth.Identified) { id.EmailVerified = false }, auth.ErrIdentity, ""},
		{"no address", nil, func(_ *world, id *auth.Identified) { id.Email = "" }, auth.ErrIdentity, ""},
		{"no subject", nil, func(_ *world, id *auth.Identified) { id.Identity.Subject = "" }, auth.ErrIdentity, ""},
		{"odd subject", nil, func(_ *world, id *auth.Identified) { id.Identity.Subject = "a\x00b" }, auth.ErrIdentity, ""},
		{"taken address", nil, func(_ *world, id *auth.Identified) { id.Email = ownerEmail }, auth.ErrIdentity, ""},
		{"linked by address", func(o *auth.Options) { o.LinkByEmail = true }, func(_ *world, id *auth.Identified) { id.Email = ownerEmail }, nil, account.RoleOwner},
		{"not linked by an unverified address", func(o *auth.Options) { o.LinkByEmail = true }, func(_ *world, id *auth.Identified) {
			id.Email, id.EmailVerified = ownerEmail, false
		}, auth.ErrIdentity, ""},
		{"invited", nil, func(w *world, id *auth.Identified) {
			id.Invitation = w.createInvitation("grace@example.org", account.RoleOwner)
		}, nil, account.RoleOwner},
		{"invited as somebody else", nil, func(w *world, id *auth.Identified) { id.Invitation = w.createInvitation("bob@example.org", "") }, auth.ErrInvitation, ""},
		{"badly invited", nil, func(_ *world, id *auth.Identified) { id.Invitation = "x" }, auth.ErrInvitation, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(o *auth.Options) {
				if c.set != nil {
					c.set(o)
				}
			})
			w.signInOwner()
			id := grace
			if c.id != nil {
				c.id(w, &id)
			}
			in, err := w.SignInIdentity(t.Context(), here, id)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if err == nil {
				if in.User.Role != c.role {
					t.Errorf("role %s", in.User.Role)
				}
				again, err := w.SignInIdentity(t.Context(), here, auth.Identified{Identity: id.Identity})
				if err != nil || again.User.ID != in.User.ID {
					t.Errorf("a second time: %v", err)
				}
			}
		})
	}
}

func (w *world) createInvitation(email string, role account.Role) string {
	w.t.Helper()
	_, value, err := w.Invite(w.t.Context(), w.authenticateAs(operator), auth.Invitation{Email: email, Role: role})
	if err != nil {
		w.t.Fatal(err)
	}
	return value
}

// TestApproval checks that single sign-on admits no user before there is an owner, and
// that a waiting user can sign in once approved, but not when suspended.
func TestApproval(t *testing.T) {
	w := newWorld(t)
	grace := auth.Identified{Identity: account.Identity{Issuer: "i", Subject: "1"}, Email: "grace@example.org", EmailVerified: true}
	signIn := func() error { _, err := w.SignInIdentity(t.Context(), here, grace); return err }
	if err := signIn(); !errors.Is(err, auth.ErrIdentity) {
		t.Errorf("before there is an owner: %v", err)
	}
	owner := w.authenticateAs(w.signInOwner().Value)
	for range 2 {
		if err := signIn(); !errors.Is(err, auth.ErrPending) {
			t.Errorf("before approval: %v", err)
		}
	}
	users, err := w.Users(owner)
	at := slices.IndexFunc(users, func(u *account.User) bool { return u.Email == "grace@example.org" })
	if err != nil || at < 0 {
		t.Fatalf("users %v: %v, want grace@example.org among them", users, err)
	}
	user := users[at]
	if _, err := w.ChangeRole(t.Context(), owner, user.ID, account.RoleOwner); !errors.Is(err, auth.ErrNotActive) {
		t.Errorf("a role for who waits: %v", err)
	}
	for _, step := range []struct {
		do   func() (*account.User, error)
		want error
	}{
		{func() (*account.User, error) { return w.Approve(t.Context(), owner, user.ID) }, nil},
		{func() (*account.User, error) { return w.Suspend(t.Context(), owner, user.ID) }, auth.ErrUnauthenticated},
		{func() (*account.User, error) { return w.Reinstate(t.Context(), owner, user.ID) }, nil},
	} {
		if _, err := step.do(); err != nil {
			t.Fatal(err)
		}
		if err := signIn(); !errors.Is(err, step.want) {
			t.Errorf("%v, want %v", err, step.want)
		}
	}
}
