package web

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// Accounts authenticates visitors and changes accounts. auth.Service implements it, and
// documents each method and its errors.
type Accounts interface {
	Authenticate(r *http.Request) (*auth.Principal, error)
	Origin(r *http.Request) account.Actor
	Visible(p *auth.Principal) auth.Visible

	SetupValue() string
	Setup(ctx context.Context, from account.Actor, n auth.Newcomer) (*auth.SignedIn, error)
	SignIn(ctx context.Context, from account.Actor, email, password string) (*auth.SignedIn, error)
	SignInIdentity(ctx context.Context, from account.Actor, id auth.Identified) (*auth.SignedIn, error)
	InvitationOf(value string) (*account.Invitation, bool)
	Accept(ctx context.Context, from account.Actor, n auth.Newcomer) (*auth.SignedIn, error)

	UserOfReset(value string) (*account.User, bool)
	ResetPassword(ctx context.Context, from account.Actor, value, password string) (*auth.SignedIn, error)

	Me(p *auth.Principal) (*account.User, error)
	Rename(ctx context.Context, p *auth.Principal, name string) (*account.User, error)
	ChangePassword(ctx context.Context, p *auth.Principal, old, password string) error

	LinkIdentity(ctx context.Context, p *auth.Principal, id, host account.Identity) error

	Keys(p *auth.Principal) ([]*account.Key, error)
	CreateKey(ctx context.Context, p *auth.Principal, n auth.NewKey) (*account.Key, string, error)
	DeleteKey(ctx context.Context, p *auth.Principal, name string) error
	SavedSearches(p *auth.Principal) ([]*account.SavedSearch, error)
	SavedSearch(p *auth.Principal, id account.SavedSearchID) (*account.SavedSearch, error)
	SaveSearch(ctx context.Context, p *auth.Principal, edit auth.SavedSearchEdit) (*account.SavedSearch, error)
	ChangeSavedSearch(ctx context.Context, p *auth.Principal, id account.SavedSearchID, edit auth.SavedSearchEdit) (*account.SavedSearch, error)
	SavedContexts(p *auth.Principal) []auth.SavedContext
	ParseQuery(p *auth.Principal, text string, o syntax.Options) (*syntax.Parsed, error)
	DeleteSavedSearch(ctx context.Context, p *auth.Principal, id account.SavedSearchID) error

	Cookie(in *auth.SignedIn) *http.Cookie
	NoCookie() *http.Cookie
	Rotate(ctx context.Context, p *auth.Principal) (*auth.SignedIn, error)
	Sessions(p *auth.Principal) ([]*account.Session, error)
	EndSession(ctx context.Context, p *auth.Principal, id account.SessionID) error
	SignOut(ctx context.Context, p *auth.Principal) error
	SignOutEverywhere(ctx context.Context, p *auth.Principal) error

	Users(p *auth.Principal) ([]*account.User, error)
	ResetValue(ctx context.Context, p *auth.Principal, id account.UserID) (string, error)
	Approve(ctx context.Context, p *auth.Principal, id account.UserID) (*account.User, error)
	Suspend(ctx context.Context, p *auth.Principal, id account.UserID) (*account.User, error)
	Reinstate(ctx context.Context, p *auth.Principal, id account.UserID) (*account.User, error)
	ChangeRole(ctx context.Context, p *auth.Principal, id account.UserID, role account.Role) (*account.User, error)
	Remove(ctx context.Context, p *auth.Principal, id account.UserID) error
	Invite(ctx context.Context, p *auth.Principal, i auth.Invitation) (*account.Invitation, string, error)
	Invitations(p *auth.Principal) ([]*account.Invitation, error)
	RevokeInvitation(ctx context.Context, p *auth.Principal, id account.InvitationID) error
}

var _ Accounts = (*auth.Service)(nil)

// Repositories finds the registered repositories; api.Catalog implements it.
type Repositories interface {
	Repositories(ctx context.Context) ([]*corpus.Repository, error)
}

// Auditor records reads. An error means that the record was not accepted, and that the
// page must not be shown.
type Auditor interface {
	Note(ctx context.Context, rec audit.Record) error
}
