package api

import (
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Gate authenticates callers and decides what exists for them; auth.Service is one.
type Gate interface {
	front.Authenticator
	// Visible returns which repositories exist for p now.
	Visible(p *auth.Principal) auth.Visible
	// Visibility returns the visibility of r now: what an owner has decided, else
	// what the code host says, else the default.
	Visibility(r *code.Repository) account.Visibility
}
