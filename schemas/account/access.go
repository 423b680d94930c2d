package account

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Visibility says who may see a repository.
type Visibility string

// The kinds of visibility.
const (
	Public   Visibility = "public"   // every caller that may send requests
	Internal Visibility = "internal" // users
	Private  Visibility = "private"  // owners, and users who are named
)

// Valid reports whether v is one of the kinds.
func (v Visibility) Valid() bool { return v == Public || v == Internal || v == Private }

// Access is what an owner has decided on a repository. Without one the code
// host's word counts, or else the configured default.
type Access struct {
	Repository code.RepositoryID
	// Visibility is empty where the code host's word stays.
	Visibility Visibility
	// Members may see the repository while it is private, in order.
	Members []UserID
}

// ActorKind is how an actor authenticated.
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

// Actor is who did something, from where.
type Actor struct {
	Kind ActorKind `json:"kind"`
	User UserID    `json:"user,omitempty"`
	// Credential is the ID of the key, token or session; never its value.
	Credential string `json:"credential,omitempty"`
	// Address is the address of the client, without port.
	Address string `json:"address,omitempty"`
	// Client is what the client calls itself, X-Quarry-Client-Source or the user
	// agent; at most MaxClientBytes.
	Client string `json:"client,omitempty"`
}

// MaxClientBytes bounds Actor.Client.
const MaxClientBytes = 200

// MaxHostUserBytes bounds the ID of a user at a code host, as events hold it.
const MaxHostUserBytes = 40

// ShortenHostUser returns the ID of a user at a code host as events hold it: the ID itself, or
// a digest of it if it is longer, as those of Atlassian accounts are.
func ShortenHostUser(id string) string {
	if len(id) <= MaxHostUserBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])[:MaxHostUserBytes-len("sha256:")]
}

// HostAccess lists who may read a repository at its code host, from its last reading.
type HostAccess struct {
	Repository code.RepositoryID
	// Connection is the connection that read it. It grants nothing if the repository belongs
	// to another one.
	Connection string
	// Users are IDs of the host, Emails addresses that the host has verified. Both ascend.
	Users, Emails []string
	ReadAt        time.Time
}

// HostDoubt names what is to be read again at a code host: a repository, or all of a
// connection.
type HostDoubt struct {
	Connection string
	Repository code.RepositoryID // 0 for all
}
