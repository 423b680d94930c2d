package auth_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestExplanationIsWhatRequestsGet compares explanations with the Visible of the user's
// session for random decisions, roles and states.
func TestExplanationIsWhatRequestsGet(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 19))
		defaults := []account.Visibility{account.Public, account.Internal, account.Private}
		w := newWorld(t, func(o *auth.Options) { o.DefaultVisibility = defaults[random.IntN(len(defaults))] })
		owner := w.authenticateAs(w.signInOwner().Value)
		sessions := map[account.UserID]string{owner.Actor.User: ""}
		var users []account.UserID
		for i := range 3 {
			in := w.signInMember(owner, fmt.Sprintf("user%d@example.org", i))
			users, sessions[in.User.ID] = append(users, in.User.ID), in.Value
		}
		for step := range 40 {
			repository := newRepository(code.RepositoryID(1 + random.IntN(9)))
			user := users[random.IntN(len(users))]
			switch random.IntN(4) {
			case 0:
				if _, err := w.ChangeRole(t.Context(), owner, user, []account.Role{account.RoleOwner, account.RoleMember}[random.IntN(2)]); err != nil {
					t.Fatal(err)
				}
			default:
				var members []account.UserID
				if random.IntN(2) == 0 {
					members = users[:random.IntN(len(users)+1)]
				}
				if _, err := w.SetAccess(t.Context(), owner, repository, append(defaults, "")[random.IntN(4)], members); err != nil {
					t.Fatal(err)
				}
			}
			for _, user := range users {
				visible := w.Visible(w.authenticateAs(sessions[user]))
				for id := range code.RepositoryID(9) {
					r := newRepository(id + 1)
					got, err := w.ExplainAccess(owner, r, user)
					if err != nil || got.Readable != visible.Sees(r) || got.Visibility != w.Visibility(r) {
						t.Fatalf("seed %d, step %d: %s on %d: %+v, %v; their requests see it: %v", seed, step, user, r.ID, got, err, visible.Sees(r))
					}
				}
			}
		}
	}
}

func TestExplainAccess(t *testing.T) {
	w := newWorld(t)
	owner := w.authenticateAs(w.signInOwner().Value)
	in := w.signInMember(owner, "bob@example.org")
	bob := w.authenticateAs(in.Value)
	private, public := newRepository(2), newRepository(1) // even ones are private at their host
	expect := func(what string, r *code.Repository, user account.UserID, want auth.AccessExplanation) {
		t.Helper()
		if got, err := w.ExplainAccess(owner, r, user); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
	expect("public", public, in.User.ID, auth.AccessExplanation{Readable: true, Reason: auth.AccessPublic, Visibility: account.Public, Source: auth.SourceDefault})
	expect("private", private, in.User.ID, auth.AccessExplanation{Reason: auth.AccessNotMember, Visibility: account.Private, Source: auth.SourceHost})
	expect("an owner", private, owner.Actor.User, auth.AccessExplanation{Readable: true, Reason: auth.AccessByRole, Visibility: account.Private, Source: auth.SourceHost})
	if _, err := w.SetAccess(t.Context(), owner, public, account.Private, []account.UserID{in.User.ID}); err != nil {
		t.Fatal(err)
	}
	expect("a member", public, in.User.ID, auth.AccessExplanation{Readable: true, Reason: auth.AccessMember, Visibility: account.Private, Source: auth.SourceDecision})
	if _, err := w.Suspend(t.Context(), owner, in.User.ID); err != nil {
		t.Fatal(err)
	}
	expect("suspended", public, in.User.ID, auth.AccessExplanation{Reason: auth.AccessInactive, Visibility: account.Private, Source: auth.SourceDecision})
	if _, err := w.ExplainAccess(owner, public, "nobody"); !errors.Is(err, auth.ErrUserNotFound) {
		t.Errorf("an unknown user: %v", err)
	}
	if _, err := w.ExplainAccess(bob, public, in.User.ID); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("a member asks: %v", err)
	}
}
