package api

import (
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Gate authenticates callers and decides which repositories exist for them; auth.Service
// implements it.
type Gate interface {
	front.Authenticator
	// Visible returns which repositories currently exist for p.
	Visible(p *auth.Principal) auth.Visible
	// Visibility returns the current visibility of r: an owner's decision, else the code
	// host's setting, else the default.
	Visibility(r *code.Repository) account.Visibility
}
