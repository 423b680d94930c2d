package auth_test

import (
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
