package auth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

func actorFrom(address string) account.Actor {
	return account.Actor{Kind: account.ActorAnonymous, Address: address, Client: "test"}
}

// trySignIn signs in and returns the outcome.
func (w *world) trySignIn(address, email, password string) (outcome string, wait time.Duration) {
	w.t.Helper()
	_, err := w.SignIn(w.t.Context(), actorFrom(address), email, password)
	var throttled *auth.ThrottledError
	switch {
	case err == nil:
		return "in", 0
	case errors.As(err, &throttled):
		return "throttled", throttled.RetryAfter
	case errors.Is(err, auth.ErrUnauthenticated):
		return "refused", 0
	}
	w.t.Fatal(err)
	return "", 0
}

// TestManyWrongPasswords tries ten thousand wrong passwords, a tenth of a second apart:
// at first they are refused, then delayed longer and longer, and each is recorded.
func TestManyWrongPasswords(t *testing.T) {
	for _, email := range []string{ownerEmail, "nobody@example.org"} {
		t.Run(email, func(t *testing.T) {
			w := newWorld(t)
			w.signInOwner()
			var longest []time.Duration
			refused, asked := 0, w.records.len()
			for i := range 10_000 {
				outcome, wait := w.trySignIn("198.51.100.1", email, fmt.Sprint("wrong ", i))
				switch {
				case outcome == "refused":
					refused++
					longest = append(longest, 0)
				case outcome == "in":
					t.Fatal("a wrong password is right")
				default:
					longest[len(longest)-1] = max(longest[len(longest)-1], wait)
				}
				w.clock.advanceBy(100 * time.Millisecond)
			}
			if len(longest) < 10 || !slices.IsSorted(longest) || longest[0] != 0 || longest[4] == 0 || longest[len(longest)-1] < 4*time.Minute {
				t.Errorf("delays %v do not grow", longest)
			}
			if refused > 20 {
				t.Errorf("%d passwords were looked at in %s", refused, 10_000*100*time.Millisecond)
			}
			if n := w.records.len() - asked; n != 10_000 {
				t.Errorf("%d entries in the audit log for 10000 failures", n)
			}
			// The account's user can sign in from their own address.
			if outcome, wait := w.trySignIn("192.0.2.77", ownerEmail, password); outcome != "in" {
				t.Errorf("the user is %s for %s", outcome, wait)
			}
		})
	}
}

// TestThrottleTellsNoAccounts checks that no count reveals whether an account exists.
func TestThrottleTellsNoAccounts(t *testing.T) {
	w := newWorld(t)
	w.signInOwner()
	for i := range 200 {
		known, waitKnown := w.trySignIn("198.51.100.1", ownerEmail, "wrong password")
		unknown, waitUnknown := w.trySignIn("198.51.100.2", "nobody@example.org", "wrong password")
		if known != unknown || waitKnown != waitUnknown {
			t.Fatalf("attempt %d: %s %s for an account, %s %s for none", i, known, waitKnown, unknown, waitUnknown)
		}
		w.clock.advanceBy(time.Second)
	}
}

// TestGuessingFromManyAddresses checks that guessing one account from many addresses is
// bounded, and does not lock out users who sign in from an address known to the account.
func TestGuessingFromManyAddresses(t *testing.T) {
	w := newWorld(t)
	w.signInOwner() // from 192.0.2.1
	looked := 0
	for i := range 5000 {
		if outcome, _ := w.trySignIn(fmt.Sprintf("198.51.%d.%d", i/250, i%250), ownerEmail, "wrong password"); outcome == "refused" {
			looked++
		}
		w.clock.advanceBy(100 * time.Millisecond)
	}
	if looked > 150 {
		t.Errorf("%d of 5000 guesses were looked at", looked)
	}
	if outcome, wait := w.trySignIn(here.Address, ownerEmail, password); outcome != "in" {
		t.Errorf("the user is %s for %s where they have signed in before", outcome, wait)
	}
	w.clock.advanceBy(31 * time.Second)
	if outcome, wait := w.trySignIn("203.0.113.9", ownerEmail, password); outcome != "in" {
		t.Errorf("the user is %s for %s at a new address", outcome, wait)
	}
}

// TestSuccessDoesNotForgiveAnAddress checks that an address with one valid account cannot
// guess the passwords of other accounts without limit.
func TestSuccessDoesNotForgiveAnAddress(t *testing.T) {
	w := newWorld(t)
	w.signInOwner()
	throttled := false
	for i := range 100 {
		if outcome, _ := w.trySignIn("198.51.100.1", fmt.Sprintf("user%d@example.org", i), "wrong password"); outcome == "throttled" {
			throttled = true
			break
		}
		w.trySignIn("198.51.100.1", ownerEmail, password)
	}
	if !throttled {
		t.Error("100 accounts were tried from one address")
	}
}

// TestNetworkOfAnAddress checks that IPv6 addresses are limited by network.
func TestNetworkOfAnAddress(t *testing.T) {
	w := newWorld(t)
	w.signInOwner()
	for i := range 5 {
		w.trySignIn(fmt.Sprintf("2001:db8::%x", i+1), ownerEmail, "wrong password")
	}
	if outcome, _ := w.trySignIn("2001:db8::ffff", ownerEmail, password); outcome != "throttled" {
		t.Errorf("another address of the same network is %s", outcome)
	}
	if outcome, _ := w.trySignIn("2001:db8:0:1::1", ownerEmail, password); outcome != "in" {
		t.Errorf("another network is %s", outcome)
	}
}

// TestAttemptsAtOnce checks that concurrent attempts are limited like sequential ones.
func TestAttemptsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.signInOwner()
	var group sync.WaitGroup
	outcomes := make([]string, 100)
	for i := range outcomes {
		group.Go(func() { outcomes[i], _ = w.trySignIn("198.51.100.1", ownerEmail, "wrong password") })
	}
	group.Wait()
	if n := len(slices.DeleteFunc(outcomes, func(o string) bool { return o != "refused" })); n != 5 {
		t.Errorf("%d passwords were looked at, want 5", n)
	}
}

func TestSignInFailuresAreAlike(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	gone := w.signInMember(owner, "gone@example.org")
	if _, err := w.Suspend(t.Context(), owner, gone.User.ID); err != nil {
		t.Fatal(err)
	}
	for i, c := range [][2]string{
		{ownerEmail, "wrong password"}, {"nobody@example.org", password}, {"gone@example.org", password},
		{"no address", password}, {"", ""}, {ownerEmail, ""}, {ownerEmail, string(make([]byte, 2000))},
	} {
		_, err := w.SignIn(t.Context(), actorFrom(fmt.Sprint("198.51.100.", i)), c[0], c[1])
		if !errors.Is(err, auth.ErrUnauthenticated) || err.Error() != auth.ErrUnauthenticated.Error() {
			t.Errorf("%q: %v", c, err)
		}
	}
	for _, rec := range w.records.all {
		if rec.Action != audit.SignInFailed || rec.Actor.Address == "" || rec.Metadata["reason"] != "failed" {
			t.Errorf("%+v", rec)
		}
	}
}

// TestOddClients checks that no user agent prevents a sign-in, whatever the header
// contains.
func TestOddClients(t *testing.T) {
	w := newWorld(t)
	w.signInOwner()
	for _, client := range []string{"a\tb", "\xff\xfe", strings.Repeat("ä", 500), "\u0085"} {
		in, err := w.SignIn(t.Context(), account.Actor{Kind: account.ActorAnonymous, Address: strings.Repeat("f", 500), Client: client}, ownerEmail, password)
		if err != nil {
			t.Errorf("%q: %v", client, err)
			continue
		}
		r := bearerRequest(in.Value)
		r.Header["User-Agent"] = []string{client}
		r.RemoteAddr = "[fe80::1%" + strings.Repeat("z", 500) + "]:1"
		p, err := w.Authenticate(r)
		if err == nil {
			_, err = w.Rename(t.Context(), p, client[:0])
		}
		if err == nil {
			err = w.SignOut(t.Context(), p)
		}
		if err != nil {
			t.Errorf("%q: %v", client, err)
		}
	}
}

// TestNormalForms checks that the case of an address and the Unicode form of a typed
// password do not matter.
func TestNormalForms(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Setup(t.Context(), here, auth.Newcomer{Value: w.SetupValue(), Email: " Ada@Example.ORG ", Password: "pässwörter"}); err != nil {
		t.Fatal(err)
	}
	if outcome, _ := w.trySignIn(here.Address, "aDA@example.org", "pa\u0308sswo\u0308rter"); outcome != "in" {
		t.Error(outcome)
	}
}

// TestRehash checks that a password hashed with weaker parameters is rehashed with the
// current ones at the next sign-in, and that no session ends because of it.
func TestRehash(t *testing.T) {
	w := newWorld(t)
	in := w.signInOwner()
	stronger, err := auth.NewService(auth.Options{
		Directory: w.directory, Appender: w.directory, Secret: []byte("ssssssssssssssssssssssssssssssss"), Now: w.clock.Now,
		Hashing: auth.Hashing{MemoryKiB: 16, Passes: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := w.directory.User(in.User.ID)
	for range 2 {
		if _, err := stronger.SignIn(t.Context(), here, ownerEmail, password); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := w.directory.User(in.User.ID)
	if before.PasswordHash == after.PasswordHash {
		t.Error("the hash is the old one")
	}
	rehashes := 0
	for _, ev := range w.directory.Events() {
		if c, ok := ev.(*event.UserChanged); ok && c.Change == event.UserPasswordRehash && c.Replaces != "" {
			rehashes++
		}
	}
	if rehashes != 1 {
		t.Errorf("%d rehashes, want one", rehashes)
	}
	w.authenticateAs(in.Value)
}

// TestHashingsAreBounded checks that few hash computations run concurrently, and that
// waiting is bounded.
func TestHashingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := auth.NewHasher(auth.Hashing{MemoryKiB: 8, Passes: 1, Concurrency: 1, Waiting: 1, Wait: time.Second})
		free, err := h.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go func() { <-release; free() }()
		waiting := make(chan error)
		go func() {
			give, err := h.Acquire(t.Context())
			if err == nil {
				defer give()
			}
			waiting <- err
		}()
		synctest.Wait()
		if _, err := h.Acquire(t.Context()); !errors.Is(err, auth.ErrBusy) {
			t.Errorf("a second one waits: %v", err)
		}
		if err := <-waiting; !errors.Is(err, auth.ErrBusy) { // after a second
			t.Errorf("it waited forever: %v", err)
		}
		close(release)
		synctest.Wait()
		give, err := h.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		give()
	})
}

// TestUndecidedSignIns checks that a sign-in that could not be decided does not count as
// a failed one.
func TestUndecidedSignIns(t *testing.T) {
	w := newWorld(t)
	w.signInOwner()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.directory.Fail(errors.New("no log"))
	for range 10 {
		if _, err := w.SignIn(ctx, actorFrom("198.51.100.1"), ownerEmail, password); !errors.Is(err, auth.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	w.directory.Fail(nil)
	if outcome, _ := w.trySignIn("198.51.100.1", ownerEmail, password); outcome != "in" || w.records.len() != 0 {
		t.Errorf("%s, %d entries", outcome, w.records.len())
	}
}

// BenchmarkSignIn measures a wrong password with the parameters of servers: the cost is
// the same whether the user exists or not.
func BenchmarkSignIn(b *testing.B) {
	w := newWorld(b, func(o *auth.Options) { o.Hashing = auth.Hashing{} })
	w.signInOwner()
	for name, email := range map[string]string{"known": ownerEmail, "unknown": "nobody@example.org"} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				w.clock.advanceBy(time.Hour)
				if _, err := w.SignIn(b.Context(), actorFrom(fmt.Sprintf("10.%d.%d.1", i>>8, i&255)), email, "wrong password"); !errors.Is(err, auth.ErrUnauthenticated) {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestThrottleIsBounded checks that the throttle's memory is bounded for any number of
// addresses.
func TestThrottleIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range auth.MaxThrottled {
		w.trySignIn(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), fmt.Sprintf("user%d@example.org", i), "wrong password")
	}
	if n := w.Throttled(); n > auth.MaxThrottled {
		t.Errorf("%d are remembered, at most %d", n, auth.MaxThrottled)
	}
}
