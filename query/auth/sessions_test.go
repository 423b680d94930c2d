package auth_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestRotation checks that a session gets a new value once a day, that the old value
// stays valid for a minute, and that neither outlives the sign-in.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	if next, err := w.Rotate(t.Context(), w.authenticateAs(in.Value)); next != nil || err != nil {
		t.Fatalf("rotated at once: %v, %v", next, err)
	}
	w.clock.advanceBy(auth.DefaultRotateAfter)
	next, err := w.Rotate(t.Context(), w.authenticateAs(in.Value))
	if err != nil || next == nil {
		t.Fatalf("not rotated: %v", err)
	}
	if next.Value == in.Value || !next.Session.ExpiresAt.Equal(in.Session.ExpiresAt) {
		t.Errorf("expires at %s, not %s", next.Session.ExpiresAt, in.Session.ExpiresAt)
	}
	if again, err := w.Rotate(t.Context(), w.authenticateAs(in.Value)); again != nil || err != nil {
		t.Errorf("what was replaced is replaced again: %v, %v", again, err)
	}
	w.clock.advanceBy(event.SessionGrace)
	w.checkRefused("the old value", in.Value)
	w.authenticateAs(next.Value)
	w.clock.advanceBy(auth.DefaultSessionTTL - auth.DefaultRotateAfter - event.SessionGrace)
	w.checkRefused("the new value", next.Value)
}

// TestRotationAtOnce checks that concurrent requests rotate a session once.
func TestRotationAtOnce(t *testing.T) {
	w := newWorld(t)
	p := w.authenticateAs(w.signInOwner().Value)
	w.clock.advanceBy(auth.DefaultRotateAfter)
	var group sync.WaitGroup
	var mu sync.Mutex
	rotated := 0
	for range 20 {
		group.Go(func() {
			next, err := w.Rotate(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			if next != nil {
				mu.Lock()
				defer mu.Unlock()
				rotated++
			}
		})
	}
	group.Wait()
	if rotated != 1 {
		t.Errorf("%d rotations", rotated)
	}
}

// TestSessionsAreNew checks that a sign-in never reuses a session that the browser sent.
func TestSessionsAreNew(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	again, err := w.SignIn(t.Context(), here, ownerEmail, password)
	if err != nil {
		t.Fatal(err)
	}
	if again.Value == in.Value || again.Session.ID == in.Session.ID {
		t.Error("the session is an old one")
	}
	cookie := w.Cookie(again)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 30*24*3600 {
		t.Errorf("%+v", cookie)
	}
}

func TestSessionsOfAUser(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	bob := w.signInMember(owner, "bob@example.org")
	other, err := w.SignIn(t.Context(), here, "bob@example.org", password)
	if err != nil {
		t.Fatal(err)
	}
	p := w.authenticateAs(bob.Value)
	if sessions, err := w.Sessions(p); err != nil || len(sessions) != 2 {
		t.Fatalf("%v, %v", sessions, err)
	}
	if err := w.EndSession(t.Context(), p, account.SessionID(owner.Actor.Credential)); !errors.Is(err, auth.ErrSessionNotFound) {
		t.Errorf("a foreign session: %v", err)
	}
	if err := w.EndSession(t.Context(), p, other.Session.ID); err != nil {
		t.Fatal(err)
	}
	w.checkRefused("the ended session", other.Value)
	w.authenticateAs(bob.Value)
	other, err = w.SignIn(t.Context(), here, "bob@example.org", password)
	if err != nil {
		t.Fatal(err)
	}
	key := w.createKey(p, auth.NewKey{Name: "k"})
	if err := w.SignOutEverywhere(t.Context(), w.authenticateAs(key)); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("a key signs its user out: %v", err)
	}
	if err := w.SignOutEverywhere(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.checkRefused("the session", bob.Value)
	w.checkRefused("the other session", other.Value)
	w.authenticateAs(key)
}

func TestSessionsAreBounded(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	for range 150 {
		w.clock.advanceBy(time.Second)
		if _, err := w.SignIn(t.Context(), here, ownerEmail, password); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.directory.Sessions(in.User.ID)); n != 100 {
		t.Errorf("%d sessions", n)
	}
	w.checkRefused("the oldest session", in.Value)
}

func TestChangePassword(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	other, err := w.SignIn(t.Context(), here, ownerEmail, password)
	if err != nil {
		t.Fatal(err)
	}
	p := w.authenticateAs(in.Value)
	if err := w.ChangePassword(t.Context(), p, "wrong password", "another password"); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("without the old password: %v", err)
	}
	if err := w.ChangePassword(t.Context(), p, password, "short"); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("a short password: %v", err)
	}
	if err := w.ChangePassword(t.Context(), w.authenticateAs(w.createKey(p, auth.NewKey{Name: "k"})), password, "another password"); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("by a key: %v", err)
	}
	if err := w.ChangePassword(t.Context(), p, password, "another password"); err != nil {
		t.Fatal(err)
	}
	w.checkRefused("another session", other.Value)
	w.authenticateAs(in.Value)
	if outcome, _ := w.trySignIn(here.Address, ownerEmail, password); outcome != "refused" {
		t.Errorf("the old password is %s", outcome)
	}
	if outcome, _ := w.trySignIn(here.Address, ownerEmail, "another password"); outcome != "in" {
		t.Errorf("the new password is %s", outcome)
	}
}

// TestOldPasswordIsThrottled checks that an unattended browser does not allow guessing
// the password.
func TestOldPasswordIsThrottled(t *testing.T) {
	w := newWorld(t)
	p := w.authenticateAs(w.signInOwner().Value)
	var throttled *auth.ThrottledError
	for i := 0; ; i++ {
		if err := w.ChangePassword(t.Context(), p, "wrong password", "another password"); errors.As(err, &throttled) {
			break
		}
		if i > 10 {
			t.Fatal("never throttled")
		}
	}
}

// sleepFor returns once d has passed; in a synctest bubble, immediately.
func sleepFor(d time.Duration) { <-time.After(d) }

// TestActivity checks that activity is recorded at most every few minutes, and at the
// end.
func TestActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *auth.Options) { o.Now = time.Now })
		in := w.signInOwner()
		value := w.createKey(w.authenticateAs(in.Value), auth.NewKey{Name: "k"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		noted := func() int {
			n := 0
			for _, ev := range w.directory.Events() {
				if _, ok := ev.(*event.ActivityNoted); ok {
					n++
				}
			}
			return n
		}
		sleepFor(time.Second) // not at the moments when Run writes
		for range 100 {       // five minutes
			w.authenticateAs(value)
			sleepFor(3 * time.Second)
		}
		if n := noted(); n != 1 {
			t.Errorf("%d events, want one", n)
		}
		key := w.directory.Keys(in.User.ID)[0]
		if user, _ := w.directory.User(in.User.ID); user.LastActivityAt.IsZero() || key.LastUsedAt.IsZero() {
			t.Error("no user was seen")
		}
		sleepFor(time.Hour)
		w.authenticateAs(value)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := noted(); n != 2 {
			t.Errorf("%d events, want the last one, too", n)
		}
	})
}
