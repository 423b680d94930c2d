package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// racing triggers an action right after a sign-in has looked up its user.
type racing struct {
	auth.Directory
	meanwhile func()
}

func (r *racing) UserByEmail(email string) (*account.User, bool) {
	user, found := r.Directory.UserByEmail(email)
	if f := r.meanwhile; f != nil {
		r.meanwhile = nil
		f()
	}
	return user, found
}

// TestPasswordChangesDuringSignIn checks that the old password starts no session if it
// changes while a sign-in waits in the queue, and that rehashing does not restore it.
func TestPasswordChangesDuringSignIn(t *testing.T) {
	for name, hashing := range map[string]auth.Hashing{
		"same parameters": {MemoryKiB: 8, Passes: 1}, "stale": {MemoryKiB: 16, Passes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.signInOwner()
			directory := &racing{Directory: w.directory}
			late, err := auth.NewService(auth.Options{
				Directory: directory, Appender: w.directory, Secret: []byte("ssssssssssssssssssssssssssssssss"), Now: w.clock.Now, Hashing: hashing,
			})
			if err != nil {
				t.Fatal(err)
			}
			directory.meanwhile = func() {
				if err := w.ChangePassword(t.Context(), w.authenticateAs(in.Value), password, "another one by far"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := late.SignIn(t.Context(), here, ownerEmail, password); !errors.Is(err, auth.ErrBusy) {
				t.Errorf("the old password: %v, want %v", err, auth.ErrBusy)
			}
			for _, ev := range w.directory.Events() {
				if c, ok := ev.(*event.UserChanged); ok && c.Change == event.UserPasswordRehash {
					t.Error("the old password is back")
				}
			}
			if n := len(w.directory.Sessions(in.User.ID)); n != 1 {
				t.Errorf("%d sessions, want the one that changed the password", n)
			}
			if _, err := late.SignIn(t.Context(), here, ownerEmail, "another one by far"); err != nil {
				t.Errorf("the new password: %v", err)
			}
		})
	}
}

// racingAppends triggers an action before it appends something.
type racingAppends struct {
	auth.Appender
	meanwhile func()
}

func (r *racingAppends) Append(ctx context.Context, events ...event.Event) (event.Position, error) {
	if f := r.meanwhile; f != nil {
		r.meanwhile = nil
		f()
	}
	return r.Appender.Append(ctx, events...)
}

// TestPasswordIsResetDuringChange checks that who knows the lost password cannot replace the one
// that a reset link sets while they change it.
func TestPasswordIsResetDuringChange(t *testing.T) {
	var appends racingAppends
	w := newWorld(t, func(o *auth.Options) {
		appends.Appender, o.Appender = o.Appender, &appends
	})
	owner := w.authenticateAs(w.signInOwner().Value)
	bob := w.signInMember(owner, "bob@example.org")
	value, err := w.ResetValue(t.Context(), owner, bob.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	thief := w.authenticateAs(bob.Value)
	appends.meanwhile = func() {
		if _, err := w.ResetPassword(t.Context(), here, value, "the password of bob"); err != nil {
			t.Error(err)
		}
	}
	if err := w.ChangePassword(t.Context(), thief, password, "the password of a thief"); !errors.Is(err, auth.ErrBusy) {
		t.Errorf("the change returns %v, want %v", err, auth.ErrBusy)
	}
	if _, err := w.SignIn(t.Context(), here, "bob@example.org", "the password of bob"); err != nil {
		t.Errorf("the password of the reset: %v", err)
	}
}

// TestPasswordChangesBeforeSession checks that a sign-in with the old password leaves no session if
// another process has appended the change of the password before the session.
func TestPasswordChangesBeforeSession(t *testing.T) {
	for name, hashing := range map[string]auth.Hashing{
		"same parameters": {MemoryKiB: 8, Passes: 1}, "stale": {MemoryKiB: 16, Passes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.signInOwner()
			appends := &racingAppends{Appender: w.directory}
			late, err := auth.NewService(auth.Options{
				Directory: w.directory, Appender: appends, Secret: []byte("ssssssssssssssssssssssssssssssss"), Now: w.clock.Now, Hashing: hashing,
			})
			if err != nil {
				t.Fatal(err)
			}
			appends.meanwhile = func() {
				if err := w.ChangePassword(t.Context(), w.authenticateAs(in.Value), password, "another one by far"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := late.SignIn(t.Context(), here, ownerEmail, password); !errors.Is(err, auth.ErrBusy) {
				t.Errorf("the old password: %v, want %v", err, auth.ErrBusy)
			}
			if n := len(w.directory.Sessions(in.User.ID)); n != 1 {
				t.Errorf("%d sessions, want the one that changed the password", n)
			}
		})
	}
}
