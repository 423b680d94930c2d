package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Await returns once the effect of the record at that position of event.TopicAccounts is
// visible, or with the error of ctx.
func (d *Directory) Await(ctx context.Context, at event.Position) error {
	d.mu.RLock()
	wait := d.mu.wait
	d.mu.RUnlock()
	if wait == nil {
		return errors.New("accounts: nothing applies the log")
	}
	return wait(ctx, at)
}

// findValue looks up one value.
func findValue[K comparable, V any](d *Directory, of func(s *state) map[K]*V, key K) (*V, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	v := of(d.mu.state)[key]
	return v, v != nil
}

// User returns the user with that ID.
func (d *Directory) User(id account.UserID) (*account.User, bool) {
	return findValue(d, func(s *state) map[account.UserID]*account.User { return s.users }, id)
}

// UserByEmail returns the user with that e-mail address, which must be in lower case.
func (d *Directory) UserByEmail(email string) (*account.User, bool) {
	return findValue(d, func(s *state) map[string]*account.User { return s.emails }, email)
}

// UserByIdentity returns the user that an identity is linked to.
func (d *Directory) UserByIdentity(identity account.Identity) (*account.User, bool) {
	return findValue(d, func(s *state) map[account.Identity]*account.User { return s.identities }, identity)
}

// Users returns all users, ordered by CreatedAt, then ID. The caller may modify the
// slice.
func (d *Directory) Users() []*account.User {
	d.mu.RLock()
	users := d.mu.users
	d.mu.RUnlock()
	if users == nil {
		users = d.orderedUsers()
	}
	return slices.Clone(users)
}

// orderedUsers sorts the users and caches the result until one changes.
func (d *Directory) orderedUsers() []*account.User {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.users == nil {
		users := make([]*account.User, 0, len(d.mu.state.users))
		for _, u := range d.mu.state.users {
			users = append(users, u)
		}
		slices.SortFunc(users, func(a, b *account.User) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		d.mu.users = users
	}
	return d.mu.users
}

// Owners returns the number of active owners.
func (d *Directory) Owners() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.state.owners
}

// KeyByHash returns the key with that keyed hash.
func (d *Directory) KeyByHash(hash string) (*account.Key, bool) {
	return findValue(d, func(s *state) map[string]*account.Key { return s.keys.byHash }, hash)
}

// Key returns the key with that ID.
func (d *Directory) Key(id account.KeyID) (*account.Key, bool) {
	return findValue(d, func(s *state) map[account.KeyID]*account.Key { return s.keys.byID }, id)
}

// Keys returns the keys of a user, newest first.
func (d *Directory) Keys(user account.UserID) []*account.Key {
	return newestFirst(d, func(s *state) map[account.KeyID]*account.Key { return s.keys.byOwner[string(user)] }, func(a, b *account.Key) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
}

// newestFirst returns the sorted values of a map. The caller may modify the slice.
func newestFirst[K comparable, V any](d *Directory, of func(s *state) map[K]*V, compare func(a, b *V) int) []*V {
	d.mu.RLock()
	m := of(d.mu.state)
	values := make([]*V, 0, len(m))
	for _, v := range m {
		values = append(values, v)
	}
	d.mu.RUnlock()
	slices.SortFunc(values, compare)
	return values
}

// TokenByHash returns the token with that keyed hash.
func (d *Directory) TokenByHash(hash string) (*account.Token, bool) {
	return findValue(d, func(s *state) map[string]*account.Token { return s.tokens.byHash }, hash)
}

// Token returns the token with that ID.
func (d *Directory) Token(id account.TokenID) (*account.Token, bool) {
	return findValue(d, func(s *state) map[account.TokenID]*account.Token { return s.tokens.byID }, id)
}

// SessionByHash returns the session with that keyed hash.
func (d *Directory) SessionByHash(hash string) (*account.Session, bool) {
	s, found := findValue(d, func(s *state) map[string]*session { return s.sessions.byHash }, hash)
	if !found {
		return nil, false
	}
	return &s.Session, true
}

// Sessions returns the sessions of a user, newest first.
func (d *Directory) Sessions(user account.UserID) []*account.Session {
	held := newestFirst(d, func(s *state) map[account.SessionID]*session { return s.sessions.byOwner[string(user)] }, func(a, b *session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	sessions := make([]*account.Session, len(held))
	for i, s := range held {
		sessions[i] = &s.Session
	}
	return sessions
}

// InvitationByHash returns the invitation with that keyed hash.
func (d *Directory) InvitationByHash(hash string) (*account.Invitation, bool) {
	return findValue(d, func(s *state) map[string]*account.Invitation { return s.invitations.byHash }, hash)
}

// Invitations returns all invitations, newest first.
func (d *Directory) Invitations() []*account.Invitation {
	return newestFirst(d, func(s *state) map[account.InvitationID]*account.Invitation { return s.invitations.byID }, func(a, b *account.Invitation) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
}

// Access returns the decisions on repositories. The map is never modified, and stays the
// same until a decision changes.
func (d *Directory) Access() map[code.RepositoryID]*account.Access {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.access
}
