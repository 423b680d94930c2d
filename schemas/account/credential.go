package account

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Scope is a permission of a key.
type Scope string

// The scopes. They are independent: admin does not include the others.
const (
	ScopeSearch Scope = "search" // search, symbols, the list of repositories
	ScopeGit    Scope = "git"    // files, history, differences, blame
	ScopeAdmin  Scope = "admin"  // the changes that the user's role allows
	ScopeScip   Scope = "scip"   // uploads of precise indexes, for owners
)

// Valid reports whether s is one of the scopes.
func (s Scope) Valid() bool {
	return s == ScopeSearch || s == ScopeGit || s == ScopeAdmin || s == ScopeScip
}

// KeyID names an API key, TokenID a scoped access token, InvitationID an
// invitation and SessionID a session; none of them can be used to sign in.
type (
	KeyID        string
	TokenID      string
	InvitationID string
	SessionID    string
)

// Prefixes of credentials, by kind. 64 hexadecimal characters (32 random bytes) follow.
// Keyed hashes and events contain these prefixes; earlier versions also issued keys and
// tokens with them, which are still accepted.
const (
	PrefixKey        = "qk_"
	PrefixToken      = "qt_"
	PrefixSession    = "qs_"
	PrefixInvitation = "qi_"
	PrefixSetup      = "qo_" // the one-time link that creates the first owner
	PrefixOperator   = "qx_" // the operator's token in the data directory
)

// Prefixes of new API keys and tokens. They are the prefixes of the established
// interface, which its clients and secret scanners check.
const (
	PublicPrefixKey   = "sbk_"
	PublicPrefixToken = "sbst_"
	// LegacyPrefixKey begins old keys of the established server. Such keys are accepted
	// but no longer issued.
	LegacyPrefixKey = "sourcebot-"
)

// Key is an API key.
type Key struct {
	ID   KeyID
	User UserID
	Name string // unique among the keys of the user
	// Prefix is the beginning of the value, by which the user recognizes the key:
	// PublicPrefixKey, or PrefixKey for an older key, and six characters.
	Prefix string
	// Hash is the keyed hash of the value.
	Hash   string
	Scopes []Scope
	// Repositories restricts the key; if empty, there is no restriction.
	Repositories []code.RepositoryID
	CreatedAt    time.Time
	// ExpiresAt and LastUsedAt are zero if there is no such time. LastUsedAt is accurate
	// to a few minutes.
	ExpiresAt  time.Time
	LastUsedAt time.Time
}

// Token is a scoped access token: a short-lived credential for some repositories, minted
// with a key. It only reads, and becomes invalid with its key and user.
type Token struct {
	ID           TokenID
	Key          KeyID
	User         UserID
	Hash         string
	Repositories []code.RepositoryID // at least one
	CreatedAt    time.Time
	ExpiresAt    time.Time
}

// Session is a signed-in browser.
type Session struct {
	ID        SessionID
	User      UserID
	Hash      string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Address and Agent are those of the sign-in, so that the user can recognize the
	// session.
	Address string
	Agent   string
}

// Invitation lets one person become a user.
type Invitation struct {
	ID        InvitationID
	Hash      string
	Email     string // the only e-mail address that may accept it; empty: any
	Role      Role
	By        UserID
	CreatedAt time.Time
	ExpiresAt time.Time
}
