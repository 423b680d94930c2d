package server

import (
	"context"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/account"
)

// openAccounts opens the accounts. It is called before anything that uses them is opened,
// so they are closed last.
func (s *Server) openAccounts(context.Context) (err error) {
	if !s.o.Config.Has(config.RoleQuery) {
		return nil
	}
	if s.masterSecret, err = secrets.ReadMaster(s.o.Config, s.o.Logger); err != nil {
		return err
	}
	if s.accounts, err = accountrows.Open(accountOptionsOf(s.o, s.log, s.damage)); err != nil {
		return err
	}
	s.addCloser(s.accounts)
	return nil
}

// accountOptionsOf returns the options of the account rows.
func accountOptionsOf(o Options, log eventlog.Log, damage *repair.Metrics) accountrows.Options {
	return accountrows.Options{
		Directory: o.Config.AccountsDir(), Retention: o.Config.Audit.Retention.Std(), Now: boot.Now, Log: log, Damage: damage,
		DiskFull: o.diskFull, Logger: o.Logger, Registerer: o.Registerer,
	}
}

// newAuth returns the service that authenticates and authorizes callers by the accounts.
func (s *Server) newAuth() (*auth.Service, error) {
	c := s.o.Config
	token, err := secrets.ReadOperatorToken(s.o.Config, s.o.Logger)
	if err != nil {
		return nil, err
	}
	public, err := publicurl.Parse(s.publicURL())
	if err != nil {
		return nil, err
	}
	return auth.NewService(auth.Options{
		Directory: s.accounts.Directory, Appender: accountrows.NewEvents(s.log, boot.Now), Recorder: s.recorder,
		Secret: s.masterSecret, Operator: token,
		Anonymous: c.AnonymousAllowed(), DefaultVisibility: account.Visibility(c.Access.DefaultVisibility),
		AdmitAll: c.Access.AdmitAll, LinkByEmail: c.Access.LinkByEmail,
		PublicURL:  public,
		SessionTTL: c.Access.SessionTTL.Std(), InvitationTTL: c.Access.InvitationTTL.Std(),
		HostRules: s.hostRules.rules,
		Catalog:   s.repositories, Ready: s.checkCallersReady,
		Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}
