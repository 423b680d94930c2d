package shards

import (
	"encoding/json"
	"fmt"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// caller describes whose view a session has. It is signed by the handshake of package rpc.
type caller struct {
	Kind       account.ActorKind `json:"kind"`
	User       account.UserID    `json:"user,omitempty"`
	Credential string            `json:"credential,omitempty"`
	Role       account.Role      `json:"role,omitempty"`
	Scopes     []account.Scope   `json:"scopes,omitempty"`
	// Only restricts the credential to some repositories; nil means no restriction.
	Only *[]code.RepositoryID `json:"only,omitempty"`
	// Accounts are the positions of the accounts that the front has applied.
	Accounts []event.Position `json:"accounts,omitempty"`
	// Repository is the repository of a session about one.
	Repository code.RepositoryID `json:"repository,omitempty"`
	// Settings is the digest of the settings of the front that decide what callers see.
	Settings string `json:"settings,omitempty"`
}

// encodeCaller encodes the caller of a principal.
func encodeCaller(p *auth.Principal, accounts []event.Position, id code.RepositoryID, settings string) ([]byte, error) {
	c := caller{
		Kind: p.Actor.Kind, User: p.Actor.User, Credential: p.Actor.Credential, Role: p.Role, Scopes: p.Scopes, Accounts: accounts,
		Repository: id, Settings: settings,
	}
	if p.Repositories != nil {
		only := make([]code.RepositoryID, 0, len(p.Repositories))
		for id := range p.Repositories {
			only = append(only, id)
		}
		c.Only = &only
	}
	return json.Marshal(c)
}

// decodeCaller returns a caller and its principal.
func decodeCaller(b []byte) (*caller, *auth.Principal, error) {
	var c caller
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, nil, fmt.Errorf("decode the caller: %w", err)
	}
	p := &auth.Principal{Actor: account.Actor{Kind: c.Kind, User: c.User, Credential: c.Credential}, Role: c.Role, Scopes: c.Scopes}
	if c.Only != nil {
		p.Repositories = map[code.RepositoryID]struct{}{}
		for _, id := range *c.Only {
			p.Repositories[id] = struct{}{}
		}
	}
	return &c, p, nil
}
