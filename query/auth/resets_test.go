package auth_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// TestReset replaces a lost password: the value works once, and the sessions of the user end.
func TestReset(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	before := w.signInMember(owner, "bob@example.org")
	key := w.createKey(w.authenticateAs(before.Value), auth.NewKey{Name: "laptop"})
	value, err := w.ResetValue(t.Context(), owner, before.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.records.len(); n != 1 {
		t.Fatalf("the audit log has %d records", n)
	}
	if rec := w.records.all[0]; rec.Action != audit.CreatedReset || rec.Target != string(before.User.ID) || rec.Actor.User != owner.Actor.User {
		t.Errorf("the audit log has %+v", rec)
	}
	if strings.Contains(failure.Mask("token "+value), value[:20]) {
		t.Errorf("a log line has %s", failure.Mask("token "+value))
	}
	const other = "another password"
	if _, err := w.ResetPassword(t.Context(), here, value, "short"); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("a short password: %v", err)
	}
	in, err := w.ResetPassword(t.Context(), here, value, other)
	if err != nil || in.User.ID != before.User.ID {
		t.Fatalf("%+v, %v", in, err)
	}
	w.authenticateAs(in.Value)
	w.authenticateAs(key)
	w.checkRefused("a session from before", before.Value)
	if _, err := w.ResetPassword(t.Context(), here, value, other); !errors.Is(err, auth.ErrReset) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := w.SignIn(t.Context(), here, "bob@example.org", password); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("the lost password: %v", err)
	}
	if _, err := w.SignIn(t.Context(), here, "bob@example.org", other); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

// heldAppends holds back as many appends as are awaited until all of them have arrived.
type heldAppends struct {
	auth.Appender
	awaited  atomic.Int32
	arrivals sync.WaitGroup
}

func (h *heldAppends) Append(ctx context.Context, events ...event.Event) (event.Position, error) {
	if h.awaited.Add(-1) >= 0 {
		h.arrivals.Done()
		h.arrivals.Wait()
	}
	return h.Appender.Append(ctx, events...)
}

// TestResetValueIsUsedOnce uses a value in two processes, four times in each, at the same moment.
func TestResetValueIsUsedOnce(t *testing.T) {
	const uses = 8
	var held heldAppends
	var options auth.Options
	w := newWorld(t, func(o *auth.Options) {
		held.Appender, o.Appender = o.Appender, &held
		options = *o
	})
	other, err := auth.NewService(options)
	if err != nil {
		t.Fatal(err)
	}
	owner := w.authenticateAs(w.signInOwner().Value)
	bob := w.signInMember(owner, "bob@example.org")
	value, err := w.ResetValue(t.Context(), owner, bob.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	held.arrivals.Add(uses)
	held.awaited.Store(uses)
	var signedIn [uses]*auth.SignedIn
	var group sync.WaitGroup
	for i := range uses {
		group.Go(func() {
			s := w.Service
			if i%2 == 1 {
				s = other
			}
			in, err := s.ResetPassword(t.Context(), actorFrom(fmt.Sprintf("192.0.2.%d", i)), value, fmt.Sprintf("password number %d", i))
			if err != nil && !errors.Is(err, auth.ErrReset) {
				t.Error(err)
			}
			signedIn[i] = in
		})
	}
	group.Wait()
	won := 0
	for i, in := range signedIn {
		if in == nil {
			continue
		}
		won++
		w.authenticateAs(in.Value)
		if _, err := w.SignIn(t.Context(), here, "bob@example.org", fmt.Sprintf("password number %d", i)); err != nil {
			t.Errorf("the password of use %d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d uses succeeded, want 1", won)
	}
	if n := len(w.directory.Sessions(bob.User.ID)); n != won+1 {
		t.Errorf("%d sessions, want that of the reset and that of the sign-in", n)
	}
}

// TestResetsThatAreRefused changes each part of a value, and what the value depends on.
func TestResetsThatAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(w *world, owner *auth.Principal, bob *auth.SignedIn, value *string) error{
		"another user": func(w *world, owner *auth.Principal, bob *auth.SignedIn, value *string) error {
			*value = strings.Replace(*value, string(bob.User.ID), string(owner.Actor.User), 1)
			return nil
		},
		"no creator": func(_ *world, owner *auth.Principal, _ *auth.SignedIn, value *string) error {
			*value = strings.Replace(*value, string(owner.Actor.User), "", 1)
			return nil
		},
		"a later end": func(_ *world, _ *auth.Principal, _ *auth.SignedIn, value *string) error {
			parts := strings.Split(*value, "_")
			parts[4] = "7fffffff"
			*value = strings.Join(parts, "_")
			return nil
		},
		"another signature": func(_ *world, _ *auth.Principal, _ *auth.SignedIn, value *string) error {
			parts := strings.Split(*value, "_")
			parts[1] = flipSecret(parts[1])
			*value = strings.Join(parts, "_")
			return nil
		},
		"no signature": func(_ *world, _ *auth.Principal, _ *auth.SignedIn, value *string) error {
			*value = (*value)[:len("qw_")] + (*value)[len("qw_")+64:]
			return nil
		},
		"expired": func(w *world, _ *auth.Principal, _ *auth.SignedIn, _ *string) error {
			w.clock.advanceBy(24 * time.Hour)
			return nil
		},
		"suspended": func(w *world, owner *auth.Principal, bob *auth.SignedIn, _ *string) error {
			_, err := w.Suspend(w.t.Context(), owner, bob.User.ID)
			return err
		},
		"password changed": func(w *world, _ *auth.Principal, bob *auth.SignedIn, _ *string) error {
			return w.ChangePassword(w.t.Context(), w.authenticateAs(bob.Value), password, "another password")
		},
		"creator's password changed": func(w *world, owner *auth.Principal, _ *auth.SignedIn, _ *string) error {
			return w.ChangePassword(w.t.Context(), owner, password, "another password")
		},
		"creator no longer an owner": func(w *world, owner *auth.Principal, _ *auth.SignedIn, _ *string) error {
			eve := w.signInMember(owner, "eve@example.org")
			if _, err := w.ChangeRole(w.t.Context(), owner, eve.User.ID, account.RoleOwner); err != nil {
				return err
			}
			_, err := w.ChangeRole(w.t.Context(), w.authenticateAs(eve.Value), owner.Actor.User, account.RoleMember)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			owner := w.authenticateAs(w.signInOwner().Value)
			bob := w.signInMember(owner, "bob@example.org")
			value, err := w.ResetValue(t.Context(), owner, bob.User.ID)
			if err != nil {
				t.Fatal(err)
			}
			if user, valid := w.UserOfReset(value); !valid || user.ID != bob.User.ID {
				t.Fatalf("the value is for %+v, %t", user, valid)
			}
			if err := spoil(w, owner, bob, &value); err != nil {
				t.Fatal(err)
			}
			if _, valid := w.UserOfReset(value); valid {
				t.Error("the page shows the form")
			}
			if _, err := w.ResetPassword(t.Context(), here, value, "a third password"); !errors.Is(err, auth.ErrReset) {
				t.Errorf("the password is replaced: %v", err)
			}
		})
	}
}

// TestResetValuesAreOfOwners checks who gets a value, and for which users.
func TestResetValuesAreOfOwners(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	bob := w.signInMember(owner, "bob@example.org")
	if _, err := w.ResetValue(t.Context(), w.authenticateAs(bob.Value), owner.Actor.User); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("a member: %v", err)
	}
	key := w.createKey(owner, auth.NewKey{Name: "laptop", Scopes: []account.Scope{account.ScopeAdmin}})
	if _, err := w.ResetValue(t.Context(), w.authenticateAs(key), bob.User.ID); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("an owner's key, which the link would outlive: %v", err)
	}
	if _, err := w.ResetValue(t.Context(), owner, owner.Actor.User); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("an owner who does not know their own password: %v", err)
	}
	if _, err := w.ResetValue(t.Context(), owner, "unknown"); !errors.Is(err, auth.ErrUserNotFound) {
		t.Errorf("an unknown user: %v", err)
	}
	if _, err := w.Suspend(t.Context(), owner, bob.User.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ResetValue(t.Context(), owner, bob.User.ID); !errors.Is(err, auth.ErrNotActive) {
		t.Errorf("a suspended user: %v", err)
	}
}
