package authtest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// apply applies one event to the state, unless a rule forbids it.
func (s *state) apply(ev event.Event) {
	switch ev := ev.(type) {
	case *event.UserCreated:
		s.userCreated(ev)
	case *event.UserChanged:
		s.userChanged(ev)
	case *event.UserRemoved:
		s.userRemoved(ev)
	case *event.InvitationCreated:
		s.invitations[ev.Invitation] = &account.Invitation{
			ID: ev.Invitation, Hash: ev.Hash, Email: ev.Email, Role: ev.Role, By: ev.By.User, CreatedAt: ev.At, ExpiresAt: ev.ExpiresAt,
		}
	case *event.InvitationRevoked:
		delete(s.invitations, ev.Invitation)
	case *event.SessionStarted:
		s.sessionStarted(ev)
	case *event.SessionEnded:
		root := s.signIn(ev.Session)
		maps.DeleteFunc(s.sessions, func(id account.SessionID, v *account.Session) bool {
			return v.User == ev.User && (ev.Session == "" || s.signIn(id) == root)
		})
	case *event.AccessChanged:
		s.accessChanged(ev)
	case *event.ActivityNoted:
		s.activityNoted(ev)
	case *event.SavedSearchChanged:
		s.savedSearchChanged(ev)
	case *event.HostAccessRead:
		s.hosts = maps.Clone(s.hosts)
		s.hostsVersion++
		s.hosts[ev.ID] = &account.HostAccess{Repository: ev.ID, Connection: ev.Connection, Users: slices.Sorted(slices.Values(ev.Users)), Emails: slices.Sorted(slices.Values(ev.Emails)), ReadAt: ev.At}
	case *event.HostAccessConfirmed:
		s.hosts = maps.Clone(s.hosts)
		for _, id := range ev.Repositories {
			if a := s.hosts[id]; a != nil {
				confirmed := *a
				confirmed.ReadAt = ev.At
				s.hosts[id] = &confirmed
			}
		}
	default:
		s.applyKey(ev)
	}
}

func (s *state) countOwners() int {
	n := 0
	for _, u := range s.users {
		if u.Active() && u.Role == account.RoleOwner {
			n++
		}
	}
	return n
}

func (s *state) userCreated(ev *event.UserCreated) {
	for _, u := range s.users {
		if u.Email == ev.Email || u.ID == ev.User || ev.Identity != nil && slices.Contains(u.Identities, *ev.Identity) {
			return
		}
	}
	if ev.FirstOwner && len(s.users) > 0 {
		return
	}
	if ev.Invitation != "" {
		i := s.invitations[ev.Invitation]
		if i == nil || !ev.At.Before(i.ExpiresAt) || i.Email != "" && i.Email != ev.Email || i.Role != ev.Role {
			return
		}
		delete(s.invitations, ev.Invitation)
	}
	u := &account.User{
		ID: ev.User, Email: ev.Email, Name: ev.Name, Role: ev.Role, State: ev.State, PasswordHash: ev.PasswordHash,
		CreatedAt: ev.At, UpdatedAt: ev.At,
	}
	if ev.Identity != nil {
		u.Identities, u.EmailVerified = []account.Identity{*ev.Identity}, true
	}
	s.users[u.ID] = u
}

func (s *state) userChanged(ev *event.UserChanged) {
	old := s.users[ev.User]
	if old == nil {
		return
	}
	u := *old
	if !s.alterUser(&u, ev) || isActiveOwner(old) && !isActiveOwner(&u) && s.countOwners() == 1 {
		return
	}
	u.UpdatedAt = ev.At
	s.users[u.ID] = &u
	switch ev.Change {
	case event.UserSuspended:
		s.endAll(u.ID)
	case event.UserPasswordChanged:
		s.endSessions(u.ID, account.SessionID(ev.By.Credential))
	}
}

func isActiveOwner(u *account.User) bool { return u.Active() && u.Role == account.RoleOwner }

// alterUser changes u, and reports whether anything changed.
func (s *state) alterUser(u *account.User, ev *event.UserChanged) bool {
	old := *u
	switch ev.Change {
	case event.UserApproved:
		if u.State == account.StatePending {
			u.State = account.StateActive
		}
	case event.UserReinstated:
		if u.State == account.StateSuspended {
			u.State, u.SuspendedAt = account.StateActive, time.Time{}
		}
	case event.UserSuspended:
		if u.State != account.StateSuspended {
			u.State, u.SuspendedAt = account.StateSuspended, ev.At
		}
	case event.UserRoleChanged:
		u.Role = ev.Role
	case event.UserRenamed:
		u.Name = ev.Name
	case event.UserPasswordChanged, event.UserPasswordRehash:
		if ev.Replaces != "" && ev.Replaces != u.PasswordHash {
			return false
		}
		u.PasswordHash = ev.PasswordHash
	case event.UserIdentityLinked:
		for _, other := range s.users {
			if slices.Contains(other.Identities, *ev.Identity) {
				return false
			}
		}
		u.Identities = append(slices.DeleteFunc(slices.Clone(u.Identities), func(old account.Identity) bool {
			return old.Issuer == ev.Identity.Issuer && strings.Contains(old.Issuer, account.HostClaimSeparator)
		}), *ev.Identity)
		return true
	}
	return u.State != old.State || u.Role != old.Role || u.Name != old.Name || u.PasswordHash != old.PasswordHash
}

// endSessions ends the sessions of a user except those of the same sign-in as kept.
func (s *state) endSessions(user account.UserID, kept account.SessionID) {
	root := s.signIn(kept)
	maps.DeleteFunc(s.sessions, func(id account.SessionID, v *account.Session) bool {
		return v.User == user && (kept == "" || s.signIn(id) != root)
	})
}

// signIn returns the first session of the chain of rotated sessions that contains id.
func (s *state) signIn(id account.SessionID) account.SessionID {
	for s.replaced[id] != "" {
		id = s.replaced[id]
	}
	return id
}

func (s *state) userRemoved(ev *event.UserRemoved) {
	old := s.users[ev.User]
	if old == nil {
		return
	}
	if isActiveOwner(old) && s.countOwners() == 1 {
		return
	}
	delete(s.users, ev.User)
	s.endAll(ev.User)
	maps.DeleteFunc(s.searches, func(_ account.SavedSearchID, q *account.SavedSearch) bool { return q.User == ev.User })
	s.access = maps.Clone(s.access)
	for id, a := range s.access {
		if i := slices.Index(a.Members, ev.User); i >= 0 {
			next := *a
			next.Members = slices.Delete(slices.Clone(a.Members), i, i+1)
			if s.access[id] = &next; next.Visibility == "" && len(next.Members) == 0 {
				delete(s.access, id)
			}
		}
	}
}

func (s *state) endAll(user account.UserID) {
	maps.DeleteFunc(s.sessions, func(_ account.SessionID, v *account.Session) bool { return v.User == user })
	maps.DeleteFunc(s.keys, func(_ account.KeyID, v *account.Key) bool { return v.User == user })
	maps.DeleteFunc(s.tokens, func(_ account.TokenID, v *account.Token) bool { return v.User == user })
}

func (s *state) sessionStarted(ev *event.SessionStarted) {
	u := s.users[ev.User]
	if u == nil || !u.Active() {
		return
	}
	if ev.Replaces != "" {
		old := s.sessions[ev.Replaces]
		if old == nil || !ev.At.Before(old.ExpiresAt) || slices.Contains(slices.Collect(maps.Values(s.replaced)), old.ID) {
			return
		}
		s.replaced[ev.Session] = old.ID
		next := *old
		if grace := ev.At.Add(event.SessionGrace); grace.Before(next.ExpiresAt) {
			next.ExpiresAt = grace
		}
		s.sessions[old.ID] = &next
	}
	if said := ev.Provider; said != nil {
		changed := *u
		changed.EmailVerified, changed.Identities = said.EmailVerified, nil
		for _, held := range u.Identities {
			if !strings.HasPrefix(held.Issuer, said.Issuer+account.HostClaimSeparator) || said.HostUser != nil && held == *said.HostUser {
				changed.Identities = append(changed.Identities, held)
			}
		}
		s.users[u.ID] = &changed
	}
	s.sessions[ev.Session] = &account.Session{
		ID: ev.Session, User: ev.User, Hash: ev.Hash, CreatedAt: ev.At, ExpiresAt: ev.ExpiresAt, Address: ev.By.Address, Agent: ev.By.Client,
	}
}

func (s *state) applyKey(ev event.Event) {
	switch ev := ev.(type) {
	case *event.KeyCreated:
		u := s.users[ev.User]
		for _, k := range s.keys {
			if k.User == ev.User && k.Name == ev.Name {
				return
			}
		}
		if u != nil && u.Active() {
			s.keys[ev.ID] = &account.Key{
				ID: ev.ID, User: ev.User, Name: ev.Name, Prefix: cmp.Or(ev.ShownPrefix, ev.Prefix), Hash: ev.Hash, Scopes: ev.AllScopes(), Repositories: ev.Repositories,
				CreatedAt: ev.At, ExpiresAt: ev.ExpiresAt,
			}
		}
	case *event.KeyDeleted:
		delete(s.keys, ev.ID)
		maps.DeleteFunc(s.tokens, func(_ account.TokenID, v *account.Token) bool { return v.Key == ev.ID })
	case *event.TokenMinted:
		if k := s.keys[ev.MintedBy]; k != nil {
			s.tokens[ev.Token] = &account.Token{
				ID: ev.Token, Key: ev.MintedBy, User: ev.User, Hash: ev.Hash, Repositories: ev.Repositories, CreatedAt: ev.At, ExpiresAt: ev.ExpiresAt,
			}
		}
	case *event.TokenRevoked:
		delete(s.tokens, ev.Token)
	}
}

func (s *state) accessChanged(ev *event.AccessChanged) {
	s.access = maps.Clone(s.access)
	delete(s.access, ev.ID)
	if ev.Visibility != "" || len(ev.Members) > 0 {
		s.access[ev.ID] = &account.Access{Repository: ev.ID, Visibility: ev.Visibility, Members: ev.Members}
	}
}

func (s *state) activityNoted(ev *event.ActivityNoted) {
	for id, at := range ev.Users {
		if old := s.users[id]; old != nil && at.After(old.LastActivityAt) {
			u := *old
			u.LastActivityAt = at
			s.users[id] = &u
		}
	}
	for id, at := range ev.Keys {
		if old := s.keys[id]; old != nil && at.After(old.LastUsedAt) {
			k := *old
			k.LastUsedAt = at
			s.keys[id] = &k
		}
	}
}

func (s *state) savedSearchChanged(ev *event.SavedSearchChanged) {
	old := s.searches[ev.Search]
	if ev.Change == event.SavedSearchDeleted {
		delete(s.searches, ev.Search)
		return
	}
	for _, q := range s.searches {
		if q.User == ev.User && q.Name == ev.Name && q.ID != ev.Search {
			return
		}
	}
	q := &account.SavedSearch{
		ID: ev.Search, User: ev.User, Name: ev.Name, Query: ev.Query, Regexp: ev.Regexp, CaseSensitive: ev.CaseSensitive, Shared: ev.Shared,
		CreatedAt: ev.At, UpdatedAt: ev.At,
	}
	if old != nil {
		q.CreatedAt = old.CreatedAt
	}
	s.searches[q.ID] = q
}
