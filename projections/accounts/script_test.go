package accounts_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// script generates random events about few objects, so that they collide often.
type script struct {
	*rand.Rand
	now time.Time
}

func newScript(seed uint64) *script {
	return &script{Rand: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)}
}

func (s *script) name(kind string, n int) string { return fmt.Sprint(kind, s.IntN(n)) }

func (s *script) user() account.UserID { return account.UserID(s.name("u", 5)) }

func (s *script) session() account.SessionID { return account.SessionID(s.name("s", 12)) }

func (s *script) key() account.KeyID { return account.KeyID(s.name("k", 8)) }

func (s *script) hash() string { return fmt.Sprintf("%064x", s.IntN(1000)) }

func (s *script) role() account.Role {
	return []account.Role{account.RoleOwner, account.RoleMember}[s.IntN(2)]
}

func (s *script) identity() *account.Identity {
	return &account.Identity{Issuer: "https://id.example.com", Subject: s.name("", 6)}
}

// hostUser returns an identity at one of two code hosts.
func (s *script) hostUser() *account.Identity {
	return &account.Identity{Issuer: "https://id.example.com" + account.HostClaimSeparator + s.name("claim", 2), Subject: s.name("", 6)}
}

func (s *script) repositories() (ids []code.RepositoryID) {
	for range 1 + s.IntN(2) {
		ids = append(ids, code.RepositoryID(1+s.IntN(4)))
	}
	return ids
}

func (s *script) randomActor() account.Actor {
	return account.Actor{Kind: account.ActorUser, User: s.user(), Credential: string(s.session()), Address: "10.0.0.1", Client: "test"}
}

// expiry returns a time in the near or far future.
func (s *script) expiry() time.Time {
	return s.now.Add([]time.Duration{time.Minute, time.Hour, 3 * 24 * time.Hour, 30 * 24 * time.Hour}[s.IntN(4)])
}

// moveClock moves the clock, sometimes backward, because processes do not agree on the
// time.
func (s *script) moveClock() {
	step := time.Duration(s.IntN(120)) * time.Second
	switch s.IntN(20) {
	case 0:
		step = time.Duration(s.IntN(40)) * time.Hour
	case 1:
		step = -time.Minute
	}
	s.now = s.now.Add(step)
}

// step returns the next event.
func (s *script) step() (event.Event, time.Time) {
	s.moveClock()
	at := s.now
	switch n := s.IntN(100); {
	case n < 14:
		return s.randomCreated(at), at
	case n < 30:
		return s.randomChanged(at), at
	case n < 33:
		return &event.UserRemoved{User: s.user(), By: s.randomActor(), At: at}, at
	case n < 37:
		e := &event.InvitationCreated{
			Invitation: account.InvitationID(s.name("i", 4)), Hash: s.hash(), Role: s.role(), ExpiresAt: s.expiry(), By: s.randomActor(), At: at,
		}
		if s.IntN(2) == 0 {
			e.Email = s.name("", 5) + "@example.com"
		}
		return e, at
	case n < 39:
		return &event.InvitationRevoked{Invitation: account.InvitationID(s.name("i", 4)), By: s.randomActor(), At: at}, at
	case n < 54:
		e := &event.SessionStarted{Session: s.session(), User: s.user(), Hash: s.hash(), ExpiresAt: s.expiry(), Method: "password", By: s.randomActor(), At: at}
		if s.IntN(2) == 0 {
			e.Replaces, e.Method = s.session(), "rotation"
		} else if s.IntN(2) == 0 {
			e.Provider = &event.ProviderClaims{Issuer: "https://id.example.com", EmailVerified: s.IntN(2) == 0}
			if s.IntN(2) == 0 {
				e.Provider.HostUser = s.hostUser()
			}
		}
		return e, at
	case n < 58:
		e := &event.SessionEnded{User: s.user(), By: s.randomActor(), At: at}
		if s.IntN(4) > 0 {
			e.Session = s.session()
		}
		return e, at
	}
	return s.otherEvent(at), at
}

func (s *script) otherEvent(at time.Time) event.Event {
	switch n := s.IntN(50); {
	case n >= 42:
		return s.randomSavedSearch(at)
	case n < 12:
		e := &event.KeyCreated{
			ID: s.key(), User: s.user(), Name: s.name("name", 3), Prefix: "qk_0a0a0a", Hash: s.hash(),
			Scopes: []account.Scope{account.ScopeSearch}, By: s.randomActor(), At: at,
		}
		if s.IntN(2) == 0 {
			e.Repositories, e.ExpiresAt = s.repositories(), s.expiry()
		}
		return e
	case n < 15:
		return &event.KeyDeleted{ID: s.key(), User: s.user(), By: s.randomActor(), At: at}
	case n < 25:
		return &event.TokenMinted{
			Token: account.TokenID(s.name("t", 8)), MintedBy: s.key(), User: s.user(), Hash: s.hash(), Repositories: s.repositories(),
			ExpiresAt: s.expiry(), By: s.randomActor(), At: at,
		}
	case n < 28:
		return &event.TokenRevoked{Token: account.TokenID(s.name("t", 8)), By: s.randomActor(), At: at}
	case n < 36:
		e := &event.AccessChanged{
			ID: code.RepositoryID(1 + s.IntN(3)), By: s.randomActor(), At: at,
			Visibility: []account.Visibility{"", account.Public, account.Internal, account.Private}[s.IntN(4)],
		}
		for range s.IntN(4) {
			e.Members = append(e.Members, s.user())
		}
		return e
	}
	return &event.ActivityNoted{
		Users: map[account.UserID]time.Time{s.user(): at, s.user(): at.Add(-time.Hour)}, Keys: map[account.KeyID]time.Time{s.key(): at}, At: at,
	}
}

func (s *script) randomCreated(at time.Time) event.Event {
	e := &event.UserCreated{
		User: s.user(), Email: s.name("", 5) + "@example.com", Role: s.role(), State: account.StateActive, By: s.randomActor(), At: at,
	}
	switch s.IntN(5) {
	case 0:
		e.State = account.StatePending
	case 1:
		e.Identity = s.identity()
	case 2:
		e.Invitation = account.InvitationID(s.name("i", 4))
	case 3:
		e.FirstOwner = true
	}
	return e
}

func (s *script) randomChanged(at time.Time) event.Event {
	e := &event.UserChanged{User: s.user(), By: s.randomActor(), At: at}
	switch s.IntN(8) {
	case 0:
		e.Change = event.UserApproved
	case 1:
		e.Change = event.UserSuspended
	case 2:
		e.Change = event.UserReinstated
	case 3:
		e.Change, e.Role = event.UserRoleChanged, s.role()
	case 4:
		e.Change, e.Name = event.UserRenamed, s.name("name", 3)
	case 5:
		e.Change, e.PasswordHash = event.UserPasswordChanged, "$argon2id$"+s.name("", 3)
		e.By.User = e.User
	case 6:
		e.Change, e.PasswordHash = event.UserPasswordRehash, "$argon2id$"+s.name("", 3)
		if s.IntN(2) == 0 {
			e.Replaces = "$argon2id$" + s.name("", 3)
		}
	case 7:
		e.Change, e.Identity = event.UserIdentityLinked, s.identity()
		if s.IntN(2) == 0 {
			e.Identity = s.hostUser()
		}
	}
	return e
}

func (s *script) randomSavedSearch(at time.Time) event.Event {
	e := &event.SavedSearchChanged{Search: account.SavedSearchID(s.name("q", 6)), User: s.user(), By: s.randomActor(), At: at}
	e.Change = []event.SavedSearchChange{event.SavedSearchCreated, event.SavedSearchCreated, event.SavedSearchReplaced, event.SavedSearchDeleted}[s.IntN(4)]
	if e.Change != event.SavedSearchDeleted {
		e.Name, e.Query, e.Shared, e.Regexp = s.name("name", 3), s.name("query", 3), s.IntN(2) == 0, s.IntN(2) == 0
	}
	return e
}
