package event

import (
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The events of TopicAccounts.
const (
	TypeUserCreated       Type = "dev.quarry.user.created.v1"
	TypeUserChanged       Type = "dev.quarry.user.changed.v1"
	TypeUserRemoved       Type = "dev.quarry.user.removed.v1"
	TypeInvitationCreated Type = "dev.quarry.invitation.created.v1"
	TypeInvitationRevoked Type = "dev.quarry.invitation.revoked.v1"
	TypeSessionStarted    Type = "dev.quarry.session.started.v1"
	TypeSessionEnded      Type = "dev.quarry.session.ended.v1"
	TypeKeyCreated        Type = "dev.quarry.key.created.v1"
	TypeKeyDeleted        Type = "dev.quarry.key.deleted.v1"
	TypeTokenMinted       Type = "dev.quarry.token.minted.v1"
	TypeTokenRevoked      Type = "dev.quarry.token.revoked.v1"
	TypeAccessChanged     Type = "dev.quarry.access.changed.v1"
	TypeActivityNoted     Type = "dev.quarry.activity.noted.v1"
)

// Bounds of account events, in bytes or elements. Their text is UTF-8 without control
// characters; producers clean text from outside before they encode it.
const (
	// MaxAccountIDBytes bounds the ID of a user, session, key, token or invitation:
	// letters, digits, '-' and '_'.
	MaxAccountIDBytes = 64
	// MaxPasswordHashBytes bounds a hash in PHC string format.
	MaxPasswordHashBytes = 512
	// MaxKeyPrefixBytes bounds KeyCreated.Prefix and KeyCreated.ShownPrefix.
	MaxKeyPrefixBytes = 16
	// MaxRestriction bounds the list of repositories that a key or token is restricted
	// to.
	MaxRestriction = 1000
	// MaxMembers bounds the members of an AccessChanged.
	MaxMembers = 10_000
	// MaxActivity bounds the users and the keys, each, of an ActivityNoted.
	MaxActivity = 4096
	// MaxMethodBytes bounds SessionStarted.Method.
	MaxMethodBytes = 32
	// MaxSubjectBytes bounds the subject of an identity (OpenID Connect Core,
	// section 2), code.MaxURLBytes its issuer.
	MaxSubjectBytes = 255
	// MaxAddressBytes bounds the address of an actor, MaxCredentialBytes the ID of its
	// credential.
	MaxAddressBytes    = 64
	MaxCredentialBytes = 128
)

// UserCreated adds a user. It has no effect if the e-mail address or the identity is
// taken, if it creates the first owner and an owner exists, or if its invitation no
// longer exists or has expired at At.
type UserCreated struct {
	User         account.UserID    `json:"user"`
	Email        string            `json:"email"`
	Name         string            `json:"name,omitempty"`
	Role         account.Role      `json:"role"`
	State        account.UserState `json:"state"`
	PasswordHash string            `json:"passwordHash,omitempty"`
	Identity     *account.Identity `json:"identity,omitempty"`
	// Invitation is consumed by the event; FirstOwner requires that no user exists yet.
	Invitation account.InvitationID `json:"invitation,omitempty"`
	FirstOwner bool                 `json:"firstOwner,omitempty"`
	By         account.Actor        `json:"by"`
	At         time.Time            `json:"at"`
}

// UserChange names the part of a user that changes.
type UserChange string

// The kinds of user changes. The comments name the field that carries the new value.
const (
	UserApproved        UserChange = "approved"         // pending to active
	UserSuspended       UserChange = "suspended"        // ends sessions, keys and tokens
	UserReinstated      UserChange = "reinstated"       // suspended to active
	UserRoleChanged     UserChange = "role_changed"     // Role
	UserRenamed         UserChange = "renamed"          // Name
	UserPasswordChanged UserChange = "password_changed" // PasswordHash; ends all sessions except that of By
	UserPasswordRehash  UserChange = "password_rehash"  // PasswordHash of the same password; ends no session
	UserIdentityLinked  UserChange = "identity_linked"  // Identity
)

// UserChanged changes one property of a user. It has no effect if the user does not exist
// or if no active owner would remain.
type UserChanged struct {
	User         account.UserID `json:"user"`
	Change       UserChange     `json:"change"`
	Role         account.Role   `json:"role,omitempty"`
	Name         string         `json:"name,omitempty"`
	PasswordHash string         `json:"passwordHash,omitempty"`
	// Replaces is the hash that PasswordHash replaces: the event has no effect if the user has
	// another one. Empty: any.
	Replaces string            `json:"replaces,omitempty"`
	Identity *account.Identity `json:"identity,omitempty"`
	By       account.Actor     `json:"by"`
	At       time.Time         `json:"at"`
}

// UserRemoved removes a user with all sessions, keys, tokens and access. It has no effect
// on the last active owner.
type UserRemoved struct {
	User account.UserID `json:"user"`
	By   account.Actor  `json:"by"`
	At   time.Time      `json:"at"`
}

// InvitationCreated lets one person become a user until it expires.
type InvitationCreated struct {
	Invitation account.InvitationID `json:"invitation"`
	Hash       string               `json:"hash"`
	Email      string               `json:"email,omitempty"`
	Role       account.Role         `json:"role"`
	ExpiresAt  time.Time            `json:"expiresAt"`
	By         account.Actor        `json:"by"`
	At         time.Time            `json:"at"`
}

// InvitationRevoked revokes an invitation.
type InvitationRevoked struct {
	Invitation account.InvitationID `json:"invitation"`
	By         account.Actor        `json:"by"`
	At         time.Time            `json:"at"`
}

// SessionGrace is the time that a session remains valid after its replacement, because
// requests in flight still carry it.
const SessionGrace = time.Minute

// SessionStarted is a sign-in. It has no effect if the user is not active.
type SessionStarted struct {
	Session   account.SessionID `json:"session"`
	User      account.UserID    `json:"user"`
	Hash      string            `json:"hash"`
	ExpiresAt time.Time         `json:"expiresAt"`
	// Replaces is the session that this one replaces (rotation). The old session expires
	// SessionGrace after At, or earlier.
	Replaces account.SessionID `json:"replaces,omitempty"`
	// Method is the sign-in method: password, oidc, invitation, setup, reset or rotation.
	Method string `json:"method"`
	// Provider holds the claims of the OpenID Connect provider at this sign-in; nil if
	// the user signed in without one.
	Provider *ProviderClaims `json:"provider,omitempty"`
	By       account.Actor   `json:"by"`
	At       time.Time       `json:"at"`
}

// ProviderClaims holds a provider's claims about a user at a sign-in. They replace the
// earlier ones: an identity at a code host that the provider no longer names is unlinked.
type ProviderClaims struct {
	Issuer string `json:"issuer"`
	// HostUser is the identity of the user at a code host; nil if the provider names none.
	HostUser *account.Identity `json:"hostUser,omitempty"`
	// EmailVerified reports that the provider has verified the user's address.
	EmailVerified bool `json:"emailVerified,omitempty"`
}

// SessionEnded ends one session, or all sessions of the user if it names none.
type SessionEnded struct {
	User    account.UserID    `json:"user"`
	Session account.SessionID `json:"session,omitempty"`
	By      account.Actor     `json:"by"`
	At      time.Time         `json:"at"`
}

// KeyCreated adds an API key. It has no effect if the user is not active or already has a
// key with that name.
type KeyCreated struct {
	ID     account.KeyID  `json:"key"`
	User   account.UserID `json:"user"`
	Name   string         `json:"name"`
	Prefix string         `json:"prefix"`
	// ShownPrefix is the beginning of the value as the user received it; empty in events
	// of old keys, whose values begin with Prefix.
	ShownPrefix string `json:"shownPrefix,omitempty"`
	Hash        string `json:"hash"`
	// Scopes holds only scopes of the first release; see AllScopes.
	Scopes []account.Scope `json:"scopes"`
	// Scip adds account.ScopeScip.
	Scip         bool                `json:"scip,omitempty"`
	Repositories []code.RepositoryID `json:"repositories,omitempty"`
	ExpiresAt    time.Time           `json:"expiresAt,omitzero"`
	By           account.Actor       `json:"by"`
	At           time.Time           `json:"at"`
}

// AllScopes returns the scopes of the key.
func (e *KeyCreated) AllScopes() []account.Scope {
	if e.Scip {
		return append(slices.Clip(e.Scopes), account.ScopeScip)
	}
	return e.Scopes
}

// KeyDeleted ends an API key and the tokens that it minted.
type KeyDeleted struct {
	ID   account.KeyID  `json:"key"`
	User account.UserID `json:"user"`
	By   account.Actor  `json:"by"`
	At   time.Time      `json:"at"`
}

// TokenMinted adds a scoped access token. It has no effect if its key no longer exists.
type TokenMinted struct {
	Token        account.TokenID     `json:"token"`
	MintedBy     account.KeyID       `json:"key"`
	User         account.UserID      `json:"user"`
	Hash         string              `json:"hash"`
	Repositories []code.RepositoryID `json:"repositories"`
	ExpiresAt    time.Time           `json:"expiresAt"`
	By           account.Actor       `json:"by"`
	At           time.Time           `json:"at"`
}

// TokenRevoked ends a scoped access token.
type TokenRevoked struct {
	Token account.TokenID `json:"token"`
	By    account.Actor   `json:"by"`
	At    time.Time       `json:"at"`
}

// AccessChanged replaces an owner's decision about a repository.
type AccessChanged struct {
	// ID is the repository; without a visibility and members, the decision is withdrawn.
	ID         code.RepositoryID  `json:"repository"`
	Visibility account.Visibility `json:"visibility,omitempty"`
	Members    []account.UserID   `json:"members,omitempty"`
	By         account.Actor      `json:"by"`
	At         time.Time          `json:"at"`
}

// ActivityNoted records when users and keys were last seen. Each process writes it every
// few minutes for those seen since the last one.
type ActivityNoted struct {
	Users map[account.UserID]time.Time `json:"users,omitempty"`
	Keys  map[account.KeyID]time.Time  `json:"keys,omitempty"`
	At    time.Time                    `json:"at"`
}

// EventType implements Event.
func (*UserCreated) EventType() Type       { return TypeUserCreated }
func (*UserChanged) EventType() Type       { return TypeUserChanged }
func (*UserRemoved) EventType() Type       { return TypeUserRemoved }
func (*InvitationCreated) EventType() Type { return TypeInvitationCreated }
func (*InvitationRevoked) EventType() Type { return TypeInvitationRevoked }
func (*SessionStarted) EventType() Type    { return TypeSessionStarted }
func (*SessionEnded) EventType() Type      { return TypeSessionEnded }
func (*KeyCreated) EventType() Type        { return TypeKeyCreated }
func (*KeyDeleted) EventType() Type        { return TypeKeyDeleted }
func (*TokenMinted) EventType() Type       { return TypeTokenMinted }
func (*TokenRevoked) EventType() Type      { return TypeTokenRevoked }
func (*AccessChanged) EventType() Type     { return TypeAccessChanged }
func (*ActivityNoted) EventType() Type     { return TypeActivityNoted }

// Key implements Event. It returns 0, because the topic has one partition and its events
// have no key.
func (*UserCreated) Key() code.RepositoryID       { return 0 }
func (*UserChanged) Key() code.RepositoryID       { return 0 }
func (*UserRemoved) Key() code.RepositoryID       { return 0 }
func (*InvitationCreated) Key() code.RepositoryID { return 0 }
func (*InvitationRevoked) Key() code.RepositoryID { return 0 }
func (*SessionStarted) Key() code.RepositoryID    { return 0 }
func (*SessionEnded) Key() code.RepositoryID      { return 0 }
func (*KeyCreated) Key() code.RepositoryID        { return 0 }
func (*KeyDeleted) Key() code.RepositoryID        { return 0 }
func (*TokenMinted) Key() code.RepositoryID       { return 0 }
func (*TokenRevoked) Key() code.RepositoryID      { return 0 }
func (*AccessChanged) Key() code.RepositoryID     { return 0 }
func (*ActivityNoted) Key() code.RepositoryID     { return 0 }
