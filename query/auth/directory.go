package auth

import (
	"context"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Directory is the state of the accounts as of the last event that was applied;
// projections/accounts has one. Its values are the caller's to read, not to change.
// Whether something has expired is for the reader to see.
type Directory interface {
	// Await returns once what the record at that position says can be read, or the
	// error of ctx.
	Await(ctx context.Context, at event.Position) error

	User(id account.UserID) (*account.User, bool)
	// UserByEmail wants lower case.
	UserByEmail(email string) (*account.User, bool)
	UserByIdentity(identity account.Identity) (*account.User, bool)
	// Users are ordered by CreatedAt, then ID.
	Users() []*account.User
	// Owners counts the active owners.
	Owners() int

	// Credentials are found by their keyed hash.
	KeyByHash(hash string) (*account.Key, bool)
	Key(id account.KeyID) (*account.Key, bool)
	// Keys returns those of a user, newest first.
	Keys(user account.UserID) []*account.Key
	TokenByHash(hash string) (*account.Token, bool)
	Token(id account.TokenID) (*account.Token, bool)
	SessionByHash(hash string) (*account.Session, bool)
	// Sessions returns those of a user, newest first.
	Sessions(user account.UserID) []*account.Session
	InvitationByHash(hash string) (*account.Invitation, bool)
	// Invitations are ordered newest first.
	Invitations() []*account.Invitation

	SavedSearch(id account.SavedSearchID) (*account.SavedSearch, bool)
	// SavedSearches returns those of a user and, after them, those that others share,
	// each by name. The slice is the caller's.
	SavedSearches(user account.UserID) []*account.SavedSearch

	// Access returns the decisions on repositories: one immutable state, the same
	// map while nothing has changed.
	Access() map[code.RepositoryID]*account.Access
	// HostAccess returns who may read which repository at its code host, as it was read
	// last: a map that does not change any more. The version changes with it, unless
	// only times of reading have changed.
	HostAccess() (all map[code.RepositoryID]*account.HostAccess, version uint64)
}

// Appender appends events to event.TopicAccounts and returns the position of the
// last once the log has acknowledged all of them.
type Appender interface {
	Append(ctx context.Context, events ...event.Event) (event.Position, error)
}
