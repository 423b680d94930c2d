package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// fakeGate identifies callers by the word after Bearer:
//
//	operator  owner  member  searcher (a key with the search scope)
//	gitter (a key with the git scope)  token (a scoped access token)
//
// A request without a credential acts as the operator, or is anonymous if strict is set.
type fakeGate struct {
	strict    bool // requests without a credential are anonymous
	closed    bool // and anonymous requests are refused
	err       error
	invisible map[string]bool // names of repositories that only owners see
}

var everyScope = []account.Scope{account.ScopeSearch, account.ScopeGit, account.ScopeAdmin, account.ScopeScip}

var principals = map[string]*auth.Principal{
	"operator": {Actor: account.Actor{Kind: account.ActorOperator}, Role: account.RoleOwner, Scopes: everyScope},
	"owner":    {Actor: account.Actor{Kind: account.ActorUser, User: "u1", Credential: "s1"}, Role: account.RoleOwner, Scopes: everyScope},
	"ownerkey": {Actor: account.Actor{Kind: account.ActorKey, User: "u1", Credential: "k1"}, Role: account.RoleOwner, Scopes: everyScope[:2]},
	"member":   {Actor: account.Actor{Kind: account.ActorUser, User: "u2", Credential: "s2"}, Role: account.RoleMember, Scopes: everyScope},
	"searcher": {Actor: account.Actor{Kind: account.ActorKey, User: "u2", Credential: "k2"}, Role: account.RoleMember, Scopes: everyScope[:1]},
	"gitter":   {Actor: account.Actor{Kind: account.ActorKey, User: "u2", Credential: "k3"}, Role: account.RoleMember, Scopes: everyScope[1:2]},
	"token":    {Actor: account.Actor{Kind: account.ActorToken, User: "u2", Credential: "t1"}, Role: account.RoleMember, Scopes: everyScope[:2]},
}

var anonymous = &auth.Principal{Actor: account.Actor{Kind: account.ActorAnonymous}, Scopes: everyScope[:2]}

// Authenticate implements api.Gate.
func (g *fakeGate) Authenticate(r *http.Request) (*auth.Principal, error) {
	credential := r.Header.Get("Authorization")
	switch p := principals[strings.TrimPrefix(credential, "Bearer ")]; {
	case g.err != nil:
		return nil, g.err
	case p != nil:
		return p, nil
	case credential != "":
		return nil, fmt.Errorf("%w: the credential is not valid", auth.ErrUnauthenticated)
	case g.closed:
		return nil, fmt.Errorf("%w: anonymous requests are not allowed", auth.ErrUnauthenticated)
	case g.strict:
		return anonymous, nil
	}
	return principals["operator"], nil
}

// Visible implements api.Gate.
func (g *fakeGate) Visible(p *auth.Principal) auth.Visible {
	if p.Role == account.RoleOwner || len(g.invisible) == 0 {
		return auth.Visible{}
	}
	return auth.Only(func(r *code.Repository) bool { return !g.invisible[r.Name] })
}

// Visibility implements api.Gate.
func (g *fakeGate) Visibility(r *code.Repository) account.Visibility {
	if g.invisible[r.Name] {
		return account.Private
	}
	return account.Public
}

// fakeAudit collects records.
type fakeAudit struct {
	mu      sync.Mutex
	err     error
	records []audit.Record
	durable int
}

func (a *fakeAudit) addRecord(rec audit.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.records = append(a.records, rec)
	return nil
}

// Note implements api.Auditor.
func (a *fakeAudit) Note(_ context.Context, rec audit.Record) error { return a.addRecord(rec) }

// Record implements api.Auditor.
func (a *fakeAudit) Record(_ context.Context, rec audit.Record) error {
	err := a.addRecord(rec)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.durable++
	}
	return err
}

// lastRecord returns the newest record, and the number of records.
func (a *fakeAudit) lastRecord() (audit.Record, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.records) == 0 {
		return audit.Record{}, 0
	}
	return a.records[len(a.records)-1], len(a.records)
}
