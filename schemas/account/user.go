package account

import "time"

// Bounds of text that people choose.
const (
	MaxEmailBytes    = 254 // RFC 5321, section 4.5.3.1.3
	MaxNameBytes     = 200
	MaxKeyNameBytes  = 100
	MinPasswordBytes = 8
	MaxPasswordBytes = 1024
)

// UserID identifies a user permanently. It contains no personal data.
type UserID string

// Role determines what a user may do in the whole instance.
type Role string

// The roles.
const (
	// RoleOwner sees every repository and administers the instance.
	RoleOwner Role = "OWNER"
	// RoleMember sees public and internal repositories, and private ones that name
	// the user.
	RoleMember Role = "MEMBER"
)

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r == RoleOwner || r == RoleMember }

// UserState determines whether a user may sign in.
type UserState string

// The states of a user.
const (
	StatePending   UserState = "pending"   // waiting for an owner's approval
	StateActive    UserState = "active"    // may sign in
	StateSuspended UserState = "suspended" // may not sign in until reinstated
)

// HostClaimSeparator separates the issuer of a provider from the name of the claim that
// contains a user's ID at a code host, in the issuer of an Identity; no issuer contains
// it. Such an identity cannot be used to sign in, and a user has at most one of each
// issuer.
const HostClaimSeparator = "#"

// Identity identifies a user at an OpenID Connect provider.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// User is an account.
type User struct {
	ID    UserID
	Email string // lower case; unique among users
	// EmailVerified reports that an identity provider had verified the address when the
	// user last signed in through one.
	EmailVerified bool
	Name          string // may be empty
	Role          Role
	State         UserState
	// PasswordHash is in PHC string format ($argon2id$…), empty for users who sign in
	// through a provider.
	PasswordHash string
	Identities   []Identity
	CreatedAt    time.Time
	UpdatedAt    time.Time
	// SuspendedAt and LastActivityAt are zero if there is no such time.
	SuspendedAt    time.Time
	LastActivityAt time.Time
}

// Active reports whether the user may sign in and use keys.
func (u *User) Active() bool { return u.State == StateActive }
