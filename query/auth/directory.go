package auth

import (
	"context"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Directory is the state of the accounts as of the last applied event;
// projections/accounts implements it. The caller must not modify its values. It does not
// check expiry; its callers do.
type Directory interface {
	// Await returns once the effect of the record at that position can be read, or
	// returns the error of ctx.
	Await(ctx context.Context, at event.Position) error

	User(id account.UserID) (*account.User, bool)
	// UserByEmail expects lower case.
	UserByEmail(email string) (*account.User, bool)
	UserByIdentity(identity account.Identity) (*account.User, bool)
	// Users are ordered by CreatedAt, then ID.
	Users() []*account.User
	// Owners returns the number of active owners.
	Owners() int

	// Credentials are found by their keyed hash.
	KeyByHash(hash string) (*account.Key, bool)
	Key(id account.KeyID) (*account.Key, bool)
	// Keys returns the keys of a user, newest first.
	Keys(user account.UserID) []*account.Key
	TokenByHash(hash string) (*account.Token, bool)
	Token(id account.TokenID) (*account.Token, bool)
	SessionByHash(hash string) (*account.Session, bool)
	// Sessions returns the sessions of a user, newest first.
	Sessions(user account.UserID) []*account.Session
	InvitationByHash(hash string) (*account.Invitation, bool)
	// Invitations returns all invitations, newest first.
	Invitations() []*account.Invitation

	SavedSearch(id account.SavedSearchID) (*account.SavedSearch, bool)
	// SavedSearches returns the searches of a user, followed by those that other users
	// share, each sorted by name. The caller owns the slice.
	SavedSearches(user account.UserID) []*account.SavedSearch

	// Access returns the decisions on repositories: one immutable state, the same map as
	// long as nothing changes.
	Access() map[code.RepositoryID]*account.Access
	// HostAccess returns who may read which repository at its code host, as last read: an
	// immutable map. version changes with it, unless only reading times have changed.
	HostAccess() (all map[code.RepositoryID]*account.HostAccess, version uint64)
}

// Appender appends events to event.TopicAccounts and returns the position of the last one
// once the log has acknowledged all of them.
type Appender interface {
	Append(ctx context.Context, events ...event.Event) (event.Position, error)
}
