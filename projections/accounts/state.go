package accounts

import (
	"maps"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// state holds the rows in memory, indexed for readers. Its values are replaced, never
// modified.
type state struct {
	users       map[account.UserID]*account.User
	emails      map[string]*account.User
	identities  map[account.Identity]*account.User
	owners      int // active owners
	sessions    table[account.SessionID, session]
	keys        table[account.KeyID, account.Key]
	tokens      table[account.TokenID, account.Token]
	invitations table[account.InvitationID, account.Invitation]
	// access is shared with readers once it is published, and is then copied before a
	// change.
	access      map[code.RepositoryID]*account.Access
	accessTaken bool
	memberships int // members of all decisions
	searches    savedSearches
	hosts       hostAccess
	expiries    expiries
}

// session is an account.Session with data that only the rules need.
type session struct {
	account.Session
	// replacedBy is the session that replaced it.
	replacedBy account.SessionID
}

// table holds the credentials of one kind. The owner of a token is its key; the owner of
// any other credential is a user. Invitations have no owner.
type table[ID ~string, V any] struct {
	byID     map[ID]*V
	byHash   map[string]*V
	byOwner  map[string]map[ID]*V
	describe func(*V) (id ID, hash, owner string)
}

func newTable[ID ~string, V any](of func(*V) (id ID, hash, owner string)) table[ID, V] {
	return table[ID, V]{byID: map[ID]*V{}, byHash: map[string]*V{}, byOwner: map[string]map[ID]*V{}, describe: of}
}

func (t *table[ID, V]) put(v *V) {
	id, hash, owner := t.describe(v)
	t.byID[id], t.byHash[hash] = v, v
	if t.byOwner[owner] == nil {
		t.byOwner[owner] = map[ID]*V{}
	}
	t.byOwner[owner][id] = v
}

func (t *table[ID, V]) removeByID(id ID) {
	v := t.byID[id]
	if v == nil {
		return
	}
	_, hash, owner := t.describe(v)
	delete(t.byID, id)
	delete(t.byHash, hash)
	if delete(t.byOwner[owner], id); len(t.byOwner[owner]) == 0 {
		delete(t.byOwner, owner)
	}
}

func newState() *state {
	return &state{
		users: map[account.UserID]*account.User{}, emails: map[string]*account.User{}, identities: map[account.Identity]*account.User{},
		sessions: newTable(func(s *session) (account.SessionID, string, string) { return s.ID, s.Hash, string(s.User) }),
		keys:     newTable(func(k *account.Key) (account.KeyID, string, string) { return k.ID, k.Hash, string(k.User) }),
		tokens:   newTable(func(t *account.Token) (account.TokenID, string, string) { return t.ID, t.Hash, string(t.Key) }),
		invitations: newTable(func(i *account.Invitation) (account.InvitationID, string, string) {
			return i.ID, i.Hash, ""
		}),
		access:   map[code.RepositoryID]*account.Access{},
		searches: newSavedSearches(),
		hosts:    hostAccess{rows: map[code.RepositoryID]*account.HostAccess{}, doubts: map[account.HostDoubt]time.Time{}},
	}
}

func isActiveOwner(u *account.User) bool { return u.Active() && u.Role == account.RoleOwner }

func (s *state) putUser(u *account.User) {
	s.removeUser(u.ID)
	s.users[u.ID], s.emails[u.Email] = u, u
	for _, id := range u.Identities {
		s.identities[id] = u
	}
	if isActiveOwner(u) {
		s.owners++
	}
}

func (s *state) removeUser(id account.UserID) {
	u := s.users[id]
	if u == nil {
		return
	}
	delete(s.users, id)
	delete(s.emails, u.Email)
	for _, identity := range u.Identities {
		delete(s.identities, identity)
	}
	if isActiveOwner(u) {
		s.owners--
	}
}

func (s *state) putSession(v *session) {
	s.sessions.put(v)
	s.expiries.add(v.ExpiresAt, kindSession, string(v.ID))
}

func (s *state) putToken(t *account.Token) {
	s.tokens.put(t)
	s.expiries.add(t.ExpiresAt, kindToken, string(t.ID))
}

func (s *state) putInvitation(i *account.Invitation) {
	s.invitations.put(i)
	s.expiries.add(i.ExpiresAt, kindInvitation, string(i.ID))
}

// setAccess replaces a decision, or withdraws it if a is nil.
func (s *state) setAccess(id code.RepositoryID, a *account.Access) {
	if s.accessTaken {
		s.access, s.accessTaken = maps.Clone(s.access), false
	}
	if old := s.access[id]; old != nil {
		s.memberships -= len(old.Members)
	}
	if a == nil {
		delete(s.access, id)
		return
	}
	s.access[id] = a
	s.memberships += len(a.Members)
}
