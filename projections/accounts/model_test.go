package accounts_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// model implements the accounts as the documentation of the events describes them, in the
// simplest way: with linear searches.
type model struct {
	users       map[account.UserID]account.User
	sessions    map[account.SessionID]modelSession
	keys        map[account.KeyID]account.Key
	tokens      map[account.TokenID]account.Token
	invitations map[account.InvitationID]account.Invitation
	access      map[code.RepositoryID]account.Access
	searches    map[account.SavedSearchID]account.SavedSearch
}

type modelSession struct {
	account.Session
	replaced account.SessionID // the session that replaced it
}

func newModel() *model {
	return &model{
		map[account.UserID]account.User{}, map[account.SessionID]modelSession{}, map[account.KeyID]account.Key{},
		map[account.TokenID]account.Token{}, map[account.InvitationID]account.Invitation{}, map[code.RepositoryID]account.Access{},
		map[account.SavedSearchID]account.SavedSearch{},
	}
}

func any1[K comparable, V any](m map[K]V, is func(V) bool) bool {
	for _, v := range m {
		if is(v) {
			return true
		}
	}
	return false
}

func (m *model) owners() (n int) {
	for _, u := range m.users {
		if u.Role == account.RoleOwner && u.State == account.StateActive {
			n++
		}
	}
	return n
}

func (m *model) isActive(id account.UserID) bool { return m.users[id].State == account.StateActive }

// dropExpired removes everything that ended more than a day before now.
func (m *model) dropExpired(now time.Time) {
	over := func(end time.Time) bool { return end.Add(24 * time.Hour).Before(now) }
	maps.DeleteFunc(m.sessions, func(_ account.SessionID, s modelSession) bool { return over(s.ExpiresAt) })
	maps.DeleteFunc(m.tokens, func(_ account.TokenID, t account.Token) bool { return over(t.ExpiresAt) })
	maps.DeleteFunc(m.invitations, func(_ account.InvitationID, i account.Invitation) bool { return over(i.ExpiresAt) })
}

func (m *model) dropKey(id account.KeyID) {
	delete(m.keys, id)
	maps.DeleteFunc(m.tokens, func(_ account.TokenID, t account.Token) bool { return t.Key == id })
}

func (m *model) dropCredentials(id account.UserID) {
	for key, k := range m.keys {
		if k.User == id {
			m.dropKey(key)
		}
	}
	maps.DeleteFunc(m.sessions, func(_ account.SessionID, s modelSession) bool { return s.User == id })
}

// signIn returns the sessions that belong to the same sign-in as id.
func (m *model) signIn(id account.SessionID) map[account.SessionID]bool {
	same := map[account.SessionID]bool{id: true}
	for range m.sessions {
		for other, s := range m.sessions {
			if same[other] && s.replaced != "" || same[s.replaced] {
				same[other] = true
				if _, lives := m.sessions[s.replaced]; lives {
					same[s.replaced] = true
				}
			}
		}
	}
	return same
}

// apply changes the model and reports whether the event had an effect.
func (m *model) apply(ev event.Event, now time.Time) bool {
	defer m.dropExpired(now) // the event itself still sees expired objects
	switch e := ev.(type) {
	case *event.UserCreated:
		return m.createUser(e)
	case *event.UserChanged:
		return m.changeUser(e)
	case *event.UserRemoved:
		u, found := m.users[e.User]
		if !found || m.owners() == 1 && u.Role == account.RoleOwner && u.State == account.StateActive {
			return false
		}
		m.dropCredentials(e.User)
		delete(m.users, e.User)
		maps.DeleteFunc(m.searches, func(_ account.SavedSearchID, q account.SavedSearch) bool { return q.User == e.User })
		for id, a := range m.access {
			a.Members = slices.DeleteFunc(slices.Clone(a.Members), func(other account.UserID) bool { return other == e.User })
			m.setAccess(id, a)
		}
		return true
	case *event.InvitationCreated:
		_, taken := m.invitations[e.Invitation]
		if taken || any1(m.invitations, func(i account.Invitation) bool { return i.Hash == e.Hash }) {
			return false
		}
		m.invitations[e.Invitation] = account.Invitation{
			ID: e.Invitation, Hash: e.Hash, Email: e.Email, Role: e.Role, By: e.By.User, CreatedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
		return true
	case *event.InvitationRevoked:
		_, found := m.invitations[e.Invitation]
		delete(m.invitations, e.Invitation)
		return found
	case *event.SessionStarted:
		return m.start(e)
	case *event.SessionEnded:
		if e.Session == "" {
			found := any1(m.sessions, func(s modelSession) bool { return s.User == e.User })
			maps.DeleteFunc(m.sessions, func(_ account.SessionID, s modelSession) bool { return s.User == e.User })
			return found
		}
		if s, found := m.sessions[e.Session]; !found || s.User != e.User {
			return false
		}
		for id := range m.signIn(e.Session) {
			delete(m.sessions, id)
		}
		return true
	case *event.KeyCreated:
		_, taken := m.keys[e.ID]
		if taken || !m.isActive(e.User) || any1(m.keys, func(k account.Key) bool { return k.Hash == e.Hash || k.User == e.User && k.Name == e.Name }) {
			return false
		}
		m.keys[e.ID] = account.Key{
			ID: e.ID, User: e.User, Name: e.Name, Prefix: cmp.Or(e.ShownPrefix, e.Prefix), Hash: e.Hash, Scopes: e.Scopes, Repositories: e.Repositories,
			CreatedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
		return true
	case *event.KeyDeleted:
		if k, found := m.keys[e.ID]; !found || k.User != e.User {
			return false
		}
		m.dropKey(e.ID)
		return true
	case *event.TokenMinted:
		k, found := m.keys[e.MintedBy]
		_, taken := m.tokens[e.Token]
		if taken || !found || k.User != e.User || !m.isActive(e.User) || !k.ExpiresAt.IsZero() && !e.At.Before(k.ExpiresAt) ||
			any1(m.tokens, func(t account.Token) bool { return t.Hash == e.Hash }) {
			return false
		}
		m.tokens[e.Token] = account.Token{
			ID: e.Token, Key: e.MintedBy, User: e.User, Hash: e.Hash, Repositories: e.Repositories, CreatedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
		return true
	case *event.TokenRevoked:
		_, found := m.tokens[e.Token]
		delete(m.tokens, e.Token)
		return found
	case *event.AccessChanged:
		return m.accessChanged(e)
	case *event.SavedSearchChanged:
		return m.changeSearch(e)
	case *event.ActivityNoted:
		for id, seen := range e.Users {
			if u, found := m.users[id]; found && seen.After(u.LastActivityAt) {
				u.LastActivityAt = seen
				m.users[id] = u
			}
		}
		for id, seen := range e.Keys {
			if k, found := m.keys[id]; found && seen.After(k.LastUsedAt) {
				k.LastUsedAt = seen
				m.keys[id] = k
			}
		}
	}
	return true
}

func (m *model) hasIdentity(want account.Identity) bool {
	return any1(m.users, func(u account.User) bool { return slices.Contains(u.Identities, want) })
}

func (m *model) createUser(e *event.UserCreated) bool {
	if _, taken := m.users[e.User]; taken || any1(m.users, func(u account.User) bool { return u.Email == e.Email }) {
		return false
	}
	if e.Identity != nil && m.hasIdentity(*e.Identity) {
		return false
	}
	if e.FirstOwner && (len(m.users) > 0 || e.Role != account.RoleOwner || e.State != account.StateActive) {
		return false
	}
	if e.Invitation != "" {
		i, found := m.invitations[e.Invitation]
		if !found || !e.At.Before(i.ExpiresAt) || i.Role != e.Role || i.Email != "" && i.Email != e.Email {
			return false
		}
		delete(m.invitations, e.Invitation)
	}
	u := account.User{
		ID: e.User, Email: e.Email, Name: e.Name, Role: e.Role, State: e.State, PasswordHash: e.PasswordHash, CreatedAt: e.At, UpdatedAt: e.At,
	}
	if e.Identity != nil {
		u.Identities, u.EmailVerified = []account.Identity{*e.Identity}, true
	}
	m.users[e.User] = u
	return true
}

func (m *model) changeUser(e *event.UserChanged) bool {
	was, found := m.users[e.User]
	u := was
	if !found {
		return false
	}
	ok := false
	switch e.Change {
	case event.UserApproved:
		ok, u.State = u.State == account.StatePending, account.StateActive
	case event.UserReinstated:
		ok, u.State, u.SuspendedAt = u.State == account.StateSuspended, account.StateActive, time.Time{}
	case event.UserSuspended:
		ok, u.State, u.SuspendedAt = u.State != account.StateSuspended, account.StateSuspended, e.At
	case event.UserRoleChanged:
		ok, u.Role = u.Role != e.Role, e.Role
	case event.UserRenamed:
		ok, u.Name = u.Name != e.Name, e.Name
	case event.UserPasswordChanged, event.UserPasswordRehash:
		ok = u.PasswordHash != e.PasswordHash && (e.Replaces == "" || e.Replaces == u.PasswordHash)
		u.PasswordHash = e.PasswordHash
	case event.UserIdentityLinked:
		ok = !m.hasIdentity(*e.Identity)
		u.Identities = append(keepIdentities(u.Identities, func(id account.Identity) bool {
			return !strings.Contains(id.Issuer, account.HostClaimSeparator) || id.Issuer != e.Identity.Issuer
		}), *e.Identity)
	}
	if !ok {
		return false
	}
	owners := m.owners()
	u.UpdatedAt = e.At
	m.users[e.User] = u
	if owners > 0 && m.owners() == 0 {
		m.users[e.User] = was
		return false
	}
	if e.Change == event.UserSuspended {
		m.dropCredentials(e.User)
	}
	if e.Change == event.UserPasswordChanged {
		keep := map[account.SessionID]bool{}
		own := account.SessionID(e.By.Credential)
		if s, found := m.sessions[own]; found && e.By.Kind == account.ActorUser && s.User == e.User {
			keep = m.signIn(own)
		}
		maps.DeleteFunc(m.sessions, func(id account.SessionID, s modelSession) bool { return s.User == e.User && !keep[id] })
	}
	return true
}

func keepIdentities(list []account.Identity, keep func(account.Identity) bool) (kept []account.Identity) {
	for _, id := range list {
		if keep(id) {
			kept = append(kept, id)
		}
	}
	return kept
}

func (m *model) start(e *event.SessionStarted) bool {
	_, taken := m.sessions[e.Session]
	if taken || !m.isActive(e.User) || any1(m.sessions, func(s modelSession) bool { return s.Hash == e.Hash }) {
		return false
	}
	if e.Replaces != "" {
		old, found := m.sessions[e.Replaces]
		if !found || old.User != e.User || old.replaced != "" || !e.At.Before(old.ExpiresAt) {
			return false
		}
		old.replaced = e.Session
		if end := e.At.Add(time.Minute); end.Before(old.ExpiresAt) {
			old.ExpiresAt = end
		}
		m.sessions[e.Replaces] = old
	}
	if e.Provider != nil {
		u := m.users[e.User]
		u.EmailVerified = e.Provider.EmailVerified
		u.Identities = keepIdentities(u.Identities, func(id account.Identity) bool {
			issuer, _, atHost := strings.Cut(id.Issuer, account.HostClaimSeparator)
			return !atHost || issuer != e.Provider.Issuer || e.Provider.HostUser != nil && id == *e.Provider.HostUser
		})
		m.users[e.User] = u
	}
	m.sessions[e.Session] = modelSession{Session: account.Session{
		ID: e.Session, User: e.User, Hash: e.Hash, CreatedAt: e.At, ExpiresAt: e.ExpiresAt, Address: e.By.Address, Agent: e.By.Client,
	}}
	return true
}

func (m *model) accessChanged(e *event.AccessChanged) bool {
	a := account.Access{Repository: e.ID, Visibility: e.Visibility}
	for _, id := range slices.Sorted(maps.Keys(m.users)) {
		if slices.Contains(e.Members, id) {
			a.Members = append(a.Members, id)
		}
	}
	was := m.access[e.ID]
	if was.Visibility == a.Visibility && slices.Equal(was.Members, a.Members) {
		return false
	}
	m.setAccess(e.ID, a)
	return true
}

func (m *model) setAccess(id code.RepositoryID, a account.Access) {
	delete(m.access, id)
	if len(a.Members) == 0 {
		a.Members = nil
	}
	if a.Visibility != "" || len(a.Members) > 0 {
		m.access[id] = a
	}
}

func (m *model) changeSearch(e *event.SavedSearchChanged) bool {
	old, found := m.searches[e.Search]
	if found != (e.Change != event.SavedSearchCreated) || found && old.User != e.User {
		return false
	}
	if e.Change == event.SavedSearchDeleted {
		delete(m.searches, e.Search)
		return true
	}
	if !m.isActive(e.User) || any1(m.searches, func(q account.SavedSearch) bool { return q.User == e.User && q.Name == e.Name && q.ID != e.Search }) {
		return false
	}
	q := account.SavedSearch{
		ID: e.Search, User: e.User, Name: e.Name, Query: e.Query, Regexp: e.Regexp, CaseSensitive: e.CaseSensitive, Shared: e.Shared, CreatedAt: e.At, UpdatedAt: e.At,
	}
	if found {
		q.CreatedAt = old.CreatedAt
	}
	m.searches[e.Search] = q
	return true
}
