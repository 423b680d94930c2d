package auth_test

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	issuer    = "https://id.example.org"
	hostClaim = issuer + account.HostClaimSeparator + "github_id"
)

// hostWorld is a world with the connection hub, whose permissions are valid for an hour,
// and one of its private repositories.
type hostWorld struct {
	*world
	rules      map[string]auth.HostRule
	owner      *auth.Principal
	repository *code.Repository
}

func newHostWorld(t *testing.T) *hostWorld {
	h := &hostWorld{rules: map[string]auth.HostRule{"hub": {Host: "git.example.org", MaxAge: time.Hour, Issuer: hostClaim, Emails: true}}}
	h.world = newWorld(t, func(o *auth.Options) {
		o.HostRules, o.AdmitAll = func() map[string]auth.HostRule { return h.rules }, true
	})
	h.owner = h.authenticateAs(h.signInOwner().Value)
	h.repository = &code.Repository{ID: 2, Name: "git.example.org/r", Private: true, Connection: "hub"}
	return h
}

func (h *hostWorld) append(ev event.Event) {
	h.t.Helper()
	if _, err := h.directory.Append(h.t.Context(), ev); err != nil {
		h.t.Fatal(err)
	}
}

// read simulates a reading from the host: who may read the repository.
func (h *hostWorld) read(users, emails []string) {
	h.t.Helper()
	h.append(&event.HostAccessRead{ID: h.repository.ID, Connection: "hub", Users: users, Emails: emails, At: h.clock.Now()})
}

// signIn signs a person in with the provider; id is their ID at the host.
func (h *hostWorld) signIn(subject, email, id string) *auth.SignedIn {
	h.t.Helper()
	who := auth.Identified{Identity: account.Identity{Issuer: issuer, Subject: subject}, Email: email, EmailVerified: true}
	if id != "" {
		who.HostUser = account.Identity{Issuer: hostClaim, Subject: id}
	}
	in, err := h.SignInIdentity(h.t.Context(), here, who)
	if err != nil {
		h.t.Fatal(err)
	}
	return in
}

// signInUnverified signs a person in whose address the provider has not verified.
func (h *hostWorld) signInUnverified(subject, email string) *auth.SignedIn {
	h.t.Helper()
	in, err := h.SignInIdentity(h.t.Context(), here, auth.Identified{Identity: account.Identity{Issuer: issuer, Subject: subject}, Email: email})
	if err != nil {
		h.t.Fatal(err)
	}
	return in
}

// want checks what a user sees, and that the explanation is the same.
func (h *hostWorld) want(step string, in *auth.SignedIn, sees bool, why auth.AccessReason) {
	h.t.Helper()
	if got := h.Visible(h.authenticateAs(in.Value)).Sees(h.repository); got != sees {
		h.t.Errorf("%s: sees the repository: %t, want %t", step, got, sees)
	}
	e, err := h.ExplainAccess(h.owner, h.repository, in.User.ID)
	if err != nil || e.Readable != sees || e.Reason != why {
		h.t.Errorf("%s: explained as %+v, %v, want %t by %s", step, e, err, sees, why)
	}
}

// TestHostPermissions takes a user through everything a host can change. Each step takes
// effect immediately, including for Visible values that were created before it.
func TestHostPermissions(t *testing.T) {
	h := newHostWorld(t)
	eve, bob := h.signIn("eve", "eve@example.org", "1042"), h.signIn("bob", "bob@example.org", "77")
	h.want("before it was read", eve, false, auth.AccessNotRead)
	h.read([]string{"9", "1042"}, nil)
	h.want("after it was read", eve, true, auth.AccessByHost)
	h.want("another user", bob, false, auth.AccessNotMember)
	h.read([]string{"9"}, nil)
	h.want("after the host took it away", eve, false, auth.AccessNotMember)
	h.read([]string{"1042", "77"}, nil)
	h.want("given back", eve, true, auth.AccessByHost)
	h.want("given to another", bob, true, auth.AccessByHost)

	h.clock.advanceBy(time.Hour - time.Second)
	h.want("at the end of the hour", eve, true, auth.AccessByHost)
	h.clock.advanceBy(time.Second)
	h.want("the host does not answer for an hour", eve, false, auth.AccessHostStale)
	h.append(&event.HostAccessConfirmed{Connection: "hub", Repositories: []code.RepositoryID{2}, At: h.clock.Now()})
	h.clock.advanceBy(5 * time.Second)
	h.want("the host answers again", eve, true, auth.AccessByHost)

	if _, err := h.SetAccess(t.Context(), h.owner, h.repository, account.Private, []account.UserID{bob.User.ID}); err != nil {
		t.Fatal(err)
	}
	h.want("an owner decides", eve, false, auth.AccessNotMember)
	h.want("an owner decides for another", bob, true, auth.AccessMember)
	if _, err := h.SetAccess(t.Context(), h.owner, h.repository, "", []account.UserID{bob.User.ID}); err != nil {
		t.Fatal(err)
	}
	h.want("an owner adds a member", eve, true, auth.AccessByHost)

	h.repository.Connection = "mirror"
	h.want("the repository goes to another connection", eve, false, auth.AccessNotMember)
	h.repository.Connection = "hub"
	rules := h.rules
	h.rules = map[string]auth.HostRule{}
	h.want("the option is taken out", eve, false, auth.AccessNotMember)
	h.rules = map[string]auth.HostRule{"hub": {Host: "git.example.com", MaxAge: time.Hour, Issuer: hostClaim, Emails: true}}
	h.want("the connection leads to another host", eve, false, auth.AccessNotMember)
	h.rules = rules
	h.want("and put back", eve, true, auth.AccessByHost)

	eve = h.signIn("eve", "eve@example.org", "4711")
	h.want("the user is another one at the host", eve, false, auth.AccessNotMember)
	eve = h.signIn("eve", "eve@example.org", "")
	h.want("the provider no longer names a user of the host", eve, false, auth.AccessNotMember)
	eve = h.signIn("eve", "eve@example.org", "1042")
	h.want("and names the user again", eve, true, auth.AccessByHost)
	eve = h.signIn("eve", "eve@example.org", "77")
	h.want("the provider names a user of the host who is another user here", eve, false, auth.AccessNotMember)
	thief := h.signIn("thief", "thief@example.org", "77")
	h.want("an account of the host that is taken", thief, false, auth.AccessNotMember)
	if got := h.Visible(&auth.Principal{}).Sees(h.repository); got {
		t.Error("an anonymous caller sees the repository")
	}
}

// TestHostReadingsToCome checks that readings made with a wrong clock grant nothing.
func TestHostReadingsToCome(t *testing.T) {
	h := newHostWorld(t)
	eve := h.signIn("eve", "eve@example.org", "1042")
	at := h.clock.Now().Add(1000 * time.Hour)
	h.append(&event.HostAccessRead{ID: 2, Connection: "hub", Users: []string{"1042"}, At: at})
	h.want("read by a clock ahead", eve, false, auth.AccessHostStale)
	h.read([]string{"1042"}, nil)
	h.want("read again", eve, true, auth.AccessByHost)
	h.clock.advanceBy(-2 * time.Hour)
	h.want("this clock was ahead", eve, false, auth.AccessHostStale)
	h.clock.advanceBy(2*time.Hour - time.Minute)
	h.want("the clocks differ by a minute", eve, true, auth.AccessByHost)
}

// TestHostEmails checks that only addresses verified on both sides count.
func TestHostEmails(t *testing.T) {
	h := newHostWorld(t)
	invited := h.signInMember(h.owner, "invited@example.org") // by a password, with an unverified address
	eve := h.signIn("eve", "eve@example.org", "")
	h.read(nil, []string{"eve@example.org", "invited@example.org"})
	h.want("verified", eve, true, auth.AccessByHost)
	h.want("not verified", invited, false, auth.AccessNotJoined)
	eve = h.signInUnverified("eve", "eve@example.org")
	h.want("no longer verified", eve, false, auth.AccessNotJoined)
	eve = h.signIn("eve", "other@example.org", "")
	h.want("another address is verified", eve, false, auth.AccessNotJoined)
	eve = h.signIn("eve", "Eve@example.org", "")
	h.want("verified again", eve, true, auth.AccessByHost)
	h.read([]string{"eve@example.org"}, nil)
	h.want("an ID that looks like an address", eve, false, auth.AccessNotMember)
	odd := h.signIn("odd", "odd@example.org", "eve@example.org")
	h.read(nil, []string{"eve@example.org"})
	h.want("an ID of the provider that looks like an address", odd, false, auth.AccessNotMember)
	h.rules = map[string]auth.HostRule{"hub": {Host: "git.example.org", MaxAge: time.Hour, Issuer: hostClaim}}
	h.want("addresses do not count", eve, false, auth.AccessNotJoined)
}

// TestHostIdentityCannotSignIn checks that an identity at a code host cannot be used to
// sign in.
func TestHostIdentityCannotSignIn(t *testing.T) {
	h := newHostWorld(t)
	h.signIn("eve", "eve@example.org", "1042")
	in, err := h.SignInIdentity(t.Context(), here, auth.Identified{Identity: account.Identity{Issuer: hostClaim, Subject: "1042"}})
	if err == nil {
		t.Errorf("signed in as %s", in.User.Email)
	}
}
