package authtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

var (
	_ auth.Directory = (*Directory)(nil)
	_ auth.Appender  = (*Directory)(nil)
)

// Directory holds accounts in memory. The zero value is not usable; see New.
type Directory struct {
	mu struct {
		sync.RWMutex
		state
		events []event.Event
		fail   error
	}
}

type state struct {
	users       map[account.UserID]*account.User
	keys        map[account.KeyID]*account.Key
	tokens      map[account.TokenID]*account.Token
	sessions    map[account.SessionID]*account.Session
	invitations map[account.InvitationID]*account.Invitation
	access      map[code.RepositoryID]*account.Access
	searches    map[account.SavedSearchID]*account.SavedSearch
	hosts       map[code.RepositoryID]*account.HostAccess
	// hostsVersion counts the changes of hosts, except those of HostAccess.ReadAt.
	hostsVersion uint64
	// replaced maps a session to the one that it replaced.
	replaced map[account.SessionID]account.SessionID
}

// New returns a Directory without accounts.
func New() *Directory {
	d := &Directory{}
	d.mu.state = state{
		users: map[account.UserID]*account.User{}, keys: map[account.KeyID]*account.Key{}, tokens: map[account.TokenID]*account.Token{},
		sessions: map[account.SessionID]*account.Session{}, invitations: map[account.InvitationID]*account.Invitation{},
		searches: map[account.SavedSearchID]*account.SavedSearch{}, access: map[code.RepositoryID]*account.Access{}, replaced: map[account.SessionID]account.SessionID{},
		hosts: map[code.RepositoryID]*account.HostAccess{},
	}
	return d
}

// Fail makes every Append fail with err; nil ends that.
func (d *Directory) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.fail = err
}

// Events returns the appended events.
func (d *Directory) Events() []event.Event {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.mu.events)
}

// Append implements auth.Appender. It refuses events that cannot be encoded.
func (d *Directory) Append(_ context.Context, events ...event.Event) (event.Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.fail != nil {
		return event.Position{}, d.mu.fail
	}
	for _, ev := range events {
		if _, err := event.Encode(event.Envelope{ID: "test", Source: "/query/auth", Time: time.Now()}, ev); err != nil {
			return event.Position{}, err
		}
	}
	for _, ev := range events {
		d.mu.events = append(d.mu.events, ev)
		d.mu.apply(ev)
	}
	return event.Position{Topic: event.TopicAccounts, Offset: event.Offset(len(d.mu.events) - 1)}, nil
}

// Await implements auth.Directory: appended events can be read immediately.
func (d *Directory) Await(ctx context.Context, _ event.Position) error { return ctx.Err() }

// findFirst returns a value of m that wanted selects.
func findFirst[K comparable, V any](d *Directory, m map[K]*V, wanted func(*V) bool) (*V, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, v := range m {
		if wanted(v) {
			return v, true
		}
	}
	return nil, false
}

func getValue[K comparable, V any](d *Directory, m map[K]*V, id K) (*V, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	v, found := m[id]
	return v, found
}

// sortedValues returns the wanted values of m in order.
func sortedValues[K comparable, V any](d *Directory, m map[K]*V, wanted func(*V) bool, compare func(a, b *V) int) []*V {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []*V
	for _, v := range m {
		if wanted(v) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, compare)
	return out
}

// User implements auth.Directory.
func (d *Directory) User(id account.UserID) (*account.User, bool) { return getValue(d, d.mu.users, id) }

// UserByEmail implements auth.Directory.
func (d *Directory) UserByEmail(email string) (*account.User, bool) {
	return findFirst(d, d.mu.users, func(u *account.User) bool { return u.Email == email })
}

// UserByIdentity implements auth.Directory.
func (d *Directory) UserByIdentity(id account.Identity) (*account.User, bool) {
	return findFirst(d, d.mu.users, func(u *account.User) bool { return slices.Contains(u.Identities, id) })
}

// Users implements auth.Directory.
func (d *Directory) Users() []*account.User {
	return sortedValues(d, d.mu.users, func(*account.User) bool { return true }, func(a, b *account.User) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// Owners implements auth.Directory.
func (d *Directory) Owners() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.countOwners()
}

// KeyByHash implements auth.Directory.
func (d *Directory) KeyByHash(hash string) (*account.Key, bool) {
	return findFirst(d, d.mu.keys, func(k *account.Key) bool { return k.Hash == hash })
}

// Key implements auth.Directory.
func (d *Directory) Key(id account.KeyID) (*account.Key, bool) { return getValue(d, d.mu.keys, id) }

// Keys implements auth.Directory.
func (d *Directory) Keys(user account.UserID) []*account.Key {
	return sortedValues(d, d.mu.keys, func(k *account.Key) bool { return k.User == user }, func(a, b *account.Key) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// TokenByHash implements auth.Directory.
func (d *Directory) TokenByHash(hash string) (*account.Token, bool) {
	return findFirst(d, d.mu.tokens, func(t *account.Token) bool { return t.Hash == hash })
}

// Token implements auth.Directory.
func (d *Directory) Token(id account.TokenID) (*account.Token, bool) {
	return getValue(d, d.mu.tokens, id)
}

// SessionByHash implements auth.Directory.
func (d *Directory) SessionByHash(hash string) (*account.Session, bool) {
	return findFirst(d, d.mu.sessions, func(s *account.Session) bool { return s.Hash == hash })
}

// Sessions implements auth.Directory.
func (d *Directory) Sessions(user account.UserID) []*account.Session {
	return sortedValues(d, d.mu.sessions, func(s *account.Session) bool { return s.User == user }, func(a, b *account.Session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// InvitationByHash implements auth.Directory.
func (d *Directory) InvitationByHash(hash string) (*account.Invitation, bool) {
	return findFirst(d, d.mu.invitations, func(i *account.Invitation) bool { return i.Hash == hash })
}

// Invitations implements auth.Directory.
func (d *Directory) Invitations() []*account.Invitation {
	return sortedValues(d, d.mu.invitations, func(*account.Invitation) bool { return true }, func(a, b *account.Invitation) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// HostAccess implements auth.Directory.
func (d *Directory) HostAccess() (map[code.RepositoryID]*account.HostAccess, uint64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.hosts, d.mu.hostsVersion
}

// Access implements auth.Directory.
func (d *Directory) Access() map[code.RepositoryID]*account.Access {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.access
}

// SavedSearch implements auth.Directory.
func (d *Directory) SavedSearch(id account.SavedSearchID) (*account.SavedSearch, bool) {
	return getValue(d, d.mu.searches, id)
}

// SavedSearches implements auth.Directory.
func (d *Directory) SavedSearches(user account.UserID) []*account.SavedSearch {
	return sortedValues(d, d.mu.searches, func(q *account.SavedSearch) bool { return q.User == user || q.Shared }, account.OrderSavedSearches(user))
}
