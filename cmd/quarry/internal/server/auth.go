package server

import (
	"context"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// openAccounts opens the accounts, which outlive everything that uses them.
func (s *Server) openAccounts(context.Context) (err error) {
	if !s.o.Config.Has(roleQuery) {
		return nil
	}
	if s.masterSecret, err = accessSecret(s.o); err != nil {
		return err
	}
	if s.accounts, err = openAccountRows(s.o, s.log, s.damage); err != nil {
		return err
	}
	s.addCloser(s.accounts)
	return nil
}

// newAuth returns who decides by the accounts.
func (s *Server) newAuth() (*auth.Service, error) {
	c := s.o.Config
	token, err := operatorToken(s.o)
	if err != nil {
		return nil, err
	}
	return auth.NewService(auth.Options{
		Directory: s.accounts.directory, Appender: accountEvents{s.log}, Recorder: s.recorder,
		Secret: s.masterSecret, Operator: token,
		Anonymous: c.AnonymousAllowed(), DefaultVisibility: account.Visibility(c.Access.DefaultVisibility),
		AdmitAll: c.Access.AdmitAll, LinkByEmail: c.Access.LinkByEmail,
		SecureCookies: strings.HasPrefix(c.PublicURL, "https:"),
		SessionTTL:    c.Access.SessionTTL.Std(), InvitationTTL: c.Access.InvitationTTL.Std(),
		Catalog: s.repositories, Ready: s.checkCallersReady,
		Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}
