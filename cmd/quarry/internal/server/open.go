package server

import (
	"context"
	"net"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// openGate lets everybody in as the operator, as it was before there were
// accounts: until auth.Service takes its place.
type openGate struct{}

// Authenticate implements api.Gate.
func (openGate) Authenticate(r *http.Request) (*auth.Principal, error) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	return &auth.Principal{
		Actor: account.Actor{Kind: account.ActorOperator, Address: address},
		Role:  account.RoleOwner, Scopes: []account.Scope{account.ScopeSearch, account.ScopeGit, account.ScopeAdmin},
	}, nil
}

// Visible implements api.Gate.
func (openGate) Visible(*auth.Principal) auth.Visible { return auth.Visible{} }

// Visibility implements api.Gate.
func (openGate) Visibility(*code.Repository) account.Visibility { return account.Public }

// noAudit writes nothing down.
type noAudit struct{}

// Note implements api.Auditor.
func (noAudit) Note(context.Context, audit.Record) error { return nil }

// Record implements api.Auditor.
func (noAudit) Record(context.Context, audit.Record) error { return nil }
