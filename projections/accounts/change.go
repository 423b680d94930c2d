package accounts

import (
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of the accounts. A user with a session and two keys needs about 2.5 kB of memory
// (BenchmarkRead), so 100,000 users need a quarter of a gigabyte.
const (
	MaxUsers             = 100_000
	MaxIdentitiesPerUser = 16
	MaxKeysPerUser       = 100
	// MaxSessionsPerUser bounds the sessions of a user. One more session ends the one
	// with the earliest expiry.
	MaxSessionsPerUser = 100
	MaxTokensPerKey    = 10_000
	MaxInvitations     = 10_000
	// MaxDecisions bounds the repositories for which an owner has made a decision,
	// MaxMemberships the members of all of them.
	MaxDecisions   = 100_000
	MaxMemberships = 1_000_000
	// MaxSavedSearches bounds the saved searches of all users, MaxSharedSearches the
	// shared ones. At maximum length, they use 90 MB of memory and 4 MB of a response. A
	// bound per user prevents a few users from using up the shared ones.
	MaxSavedSearches         = 20_000
	MaxSharedSearches        = 1000
	MaxSavedSearchesPerUser  = 100
	MaxSharedSearchesPerUser = 20
)

// change is the effect of one record: rows in a batch, and changes of the state to make
// once they are committed. Until then the state is only read.
type change struct {
	b       *store.Batch
	s       *state
	at      event.Offset
	refusal Refusal
	effects []func(*state)
	// users reports that a user changes.
	users bool
	// takenExpiries are restored if the batch is discarded.
	takenExpiries []expiry
}

// timeOf returns Event.At; ok is false for an event of another topic.
func timeOf(ev event.Event) (at time.Time, ok bool) {
	switch e := ev.(type) {
	case *event.UserCreated:
		return e.At, true
	case *event.UserChanged:
		return e.At, true
	case *event.UserRemoved:
		return e.At, true
	case *event.InvitationCreated:
		return e.At, true
	case *event.InvitationRevoked:
		return e.At, true
	case *event.SessionStarted:
		return e.At, true
	case *event.SessionEnded:
		return e.At, true
	case *event.KeyCreated:
		return e.At, true
	case *event.KeyDeleted:
		return e.At, true
	case *event.TokenMinted:
		return e.At, true
	case *event.TokenRevoked:
		return e.At, true
	case *event.AccessChanged:
		return e.At, true
	case *event.ActivityNoted:
		return e.At, true
	case *event.SavedSearchChanged:
		return e.At, true
	case *event.HostAccessRead:
		return e.At, true
	case *event.HostAccessConfirmed:
		return e.At, true
	case *event.HostAccessDoubted:
		return e.At, true
	}
	return time.Time{}, false
}

// apply adds the effect of an event, or returns the reason why it has none.
func (c *change) apply(ev event.Event) (Refusal, error) {
	switch e := ev.(type) {
	case *event.UserCreated:
		return c.userCreated(e)
	case *event.UserChanged:
		return c.userChanged(e)
	case *event.UserRemoved:
		return c.userRemoved(e)
	case *event.InvitationCreated:
		return c.invitationCreated(e)
	case *event.InvitationRevoked:
		return c.invitationRevoked(e)
	case *event.SessionStarted:
		return c.sessionStarted(e)
	case *event.SessionEnded:
		return c.sessionEnded(e)
	case *event.KeyCreated:
		return c.keyCreated(e)
	case *event.KeyDeleted:
		return c.keyDeleted(e)
	case *event.TokenMinted:
		return c.tokenMinted(e)
	case *event.TokenRevoked:
		return c.tokenRevoked(e)
	case *event.AccessChanged:
		return c.accessChanged(e)
	case *event.ActivityNoted:
		return "", c.activityNoted(e)
	case *event.SavedSearchChanged:
		return c.savedSearchChanged(e)
	case *event.HostAccessRead:
		return c.hostAccessRead(e)
	case *event.HostAccessConfirmed:
		return "", c.hostAccessConfirmed(e)
	case *event.HostAccessDoubted:
		return "", c.hostAccessDoubted(e)
	}
	return "", nil
}

// addEffect adds a change of the state to make once the batch is committed.
func (c *change) addEffect(f func(*state)) { c.effects = append(c.effects, f) }

func (c *change) putUser(u *account.User) error {
	c.users = true
	c.addEffect(func(s *state) { s.putUser(u) })
	return write(c.b, rowKey(kindUser, u.ID), rowOfUser(u))
}

func (c *change) dropUser(id account.UserID) error {
	c.users = true
	c.addEffect(func(s *state) { s.removeUser(id) })
	return c.b.Delete(rowKey(kindUser, id))
}

func (c *change) putSession(v *session) error {
	c.addEffect(func(s *state) { s.putSession(v) })
	return write(c.b, rowKey(kindSession, v.ID), &sessionRow{
		User: v.User, Hash: v.Hash, CreatedAt: v.CreatedAt, ExpiresAt: v.ExpiresAt, Address: v.Address, Agent: v.Agent, ReplacedBy: v.replacedBy,
	})
}

func (c *change) dropSession(id account.SessionID) error {
	c.addEffect(func(s *state) { s.sessions.removeByID(id) })
	return c.b.Delete(rowKey(kindSession, id))
}

func (c *change) putKey(k *account.Key) error {
	c.addEffect(func(s *state) { s.keys.put(k) })
	return write(c.b, rowKey(kindKey, k.ID), &keyRow{
		User: k.User, Name: k.Name, Prefix: k.Prefix, Hash: k.Hash, Scopes: k.Scopes, Repositories: k.Repositories,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt,
	})
}

// dropKey removes a key and the tokens that it minted.
func (c *change) dropKey(id account.KeyID) error {
	for token := range c.s.tokens.byOwner[string(id)] {
		if err := c.dropToken(token); err != nil {
			return err
		}
	}
	c.addEffect(func(s *state) { s.keys.removeByID(id) })
	return c.b.Delete(rowKey(kindKey, id))
}

func (c *change) putToken(t *account.Token) error {
	c.addEffect(func(s *state) { s.putToken(t) })
	return write(c.b, rowKey(kindToken, t.ID), &tokenRow{
		Key: t.Key, User: t.User, Hash: t.Hash, Repositories: t.Repositories, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
	})
}

func (c *change) dropToken(id account.TokenID) error {
	c.addEffect(func(s *state) { s.tokens.removeByID(id) })
	return c.b.Delete(rowKey(kindToken, id))
}

func (c *change) putInvitation(i *account.Invitation) error {
	c.addEffect(func(s *state) { s.putInvitation(i) })
	return write(c.b, rowKey(kindInvitation, i.ID), &invitationRow{
		Hash: i.Hash, Email: i.Email, Role: i.Role, By: i.By, CreatedAt: i.CreatedAt, ExpiresAt: i.ExpiresAt,
	})
}

func (c *change) dropInvitation(id account.InvitationID) error {
	c.addEffect(func(s *state) { s.invitations.removeByID(id) })
	return c.b.Delete(rowKey(kindInvitation, id))
}

// setAccess replaces a decision, or withdraws it if visibility and members are empty.
func (c *change) setAccess(id code.RepositoryID, visibility account.Visibility, members []account.UserID) error {
	if len(members) == 0 {
		members = nil // as decoded from the row
	}
	if visibility == "" && members == nil {
		c.addEffect(func(s *state) { s.setAccess(id, nil) })
		return c.b.Delete(accessKey(id))
	}
	c.addEffect(func(s *state) {
		s.setAccess(id, &account.Access{Repository: id, Visibility: visibility, Members: members})
	})
	return write(c.b, accessKey(id), &accessRow{visibility, members})
}

// dropCredentials removes a user's credentials, except for sessions in keep.
func (c *change) dropCredentials(user account.UserID) error {
	for id := range c.s.keys.byOwner[string(user)] {
		if err := c.dropKey(id); err != nil {
			return err
		}
	}
	return c.dropSessions(user, nil)
}

// dropSessions ends the sessions of a user, except for those in keep.
func (c *change) dropSessions(user account.UserID, keep map[account.SessionID]bool) error {
	for id := range c.s.sessions.byOwner[string(user)] {
		if keep[id] {
			continue
		}
		if err := c.dropSession(id); err != nil {
			return err
		}
	}
	return nil
}

// recordRefusal records why the event had no effect, and drops the oldest refusal if
// there are too many.
func (c *change) recordRefusal(r *recentRefusals, why Refusal) error {
	c.refusal = why
	if len(r.offsets) >= MaxRefusals {
		if err := c.b.Delete(refusalKey(r.offsets[0])); err != nil {
			return err
		}
	}
	return c.b.Set(refusalKey(c.at), []byte(why))
}
