package account

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Visibility determines which callers can see a repository.
type Visibility string

// The kinds of visibility.
const (
	Public   Visibility = "public"   // every caller that may send requests
	Internal Visibility = "internal" // users
	Private  Visibility = "private"  // owners, and the users in Access.Members
)

// Valid reports whether v is one of the kinds.
func (v Visibility) Valid() bool { return v == Public || v == Internal || v == Private }

// Access is an owner's decision about a repository. Without one, the visibility that the
// code host reports applies, or else the configured default.
type Access struct {
	Repository code.RepositoryID
	// Visibility is empty if the code host's visibility applies.
	Visibility Visibility
	// Members lists in ascending order the users who can see the repository while it is
	// private.
	Members []UserID
}

// ActorKind identifies the way in which an actor authenticated.
type ActorKind string

// The kinds of actors.
const (
	ActorAnonymous ActorKind = "anonymous"
	ActorUser      ActorKind = "user"     // by a session
	ActorKey       ActorKind = "api_key"  // by an API key
	ActorToken     ActorKind = "token"    // by a scoped access token
	ActorOperator  ActorKind = "operator" // by the operator's token in the data directory
	ActorSystem    ActorKind = "system"   // the server itself
)

// Actor identifies the person or program that did something, and the address it came
// from.
type Actor struct {
	Kind ActorKind `json:"kind"`
	User UserID    `json:"user,omitempty"`
	// Credential is the ID of the key, token or session; never its value.
	Credential string `json:"credential,omitempty"`
	// Address is the address of the client, without port.
	Address string `json:"address,omitempty"`
	// Client is the name that the client sends in X-Quarry-Client-Source, or its user
	// agent; at most MaxClientBytes.
	Client string `json:"client,omitempty"`
}

// MaxClientBytes bounds Actor.Client.
const MaxClientBytes = 200

// MaxHostUserBytes bounds the ID of a code host's user in an event.
const MaxHostUserBytes = 40

// ShortenHostUser returns the ID of a code host's user as events store it: the ID itself,
// or a digest if the ID is longer than MaxHostUserBytes, as those of Atlassian accounts
// are.
func ShortenHostUser(id string) string {
	if len(id) <= MaxHostUserBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])[:MaxHostUserBytes-len("sha256:")]
}

// HostAccess lists the users who can read a repository at its code host, as of the last
// reading.
type HostAccess struct {
	Repository code.RepositoryID
	// Connection is the connection that read the list. The list grants nothing if the
	// repository belongs to another connection.
	Connection string
	// Users are user IDs at the host, Emails are addresses that the host has verified.
	// Both are in ascending order.
	Users, Emails []string
	ReadAt        time.Time
	// RemovedAt is when a user was last removed from the list without a reading; zero if
	// that never happened. A reading that began earlier is outdated.
	RemovedAt time.Time
}

// HostDoubt names a repository, or all repositories of a connection, whose permissions
// must be read again from the code host.
type HostDoubt struct {
	Connection string
	Repository code.RepositoryID // 0 for all
}
