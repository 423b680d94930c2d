package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// openHints opens the reader of the repositories that webhooks name.
func (s *Server) openHints() (err error) {
	o := discovery.HintOptions{
		Kinds: codehosts.Listers(), Log: tracedLog{s.log, s.traces.Tracer(), "read hint"}, Renew: s.codeHosts.RenewConnection, Dial: s.policy.Guard().DialContext,
		RequestTimeout: s.o.Config.Discovery.RequestTimeout.Std(),
		Audit:          s.noteChange, Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	}
	if s.repositories != nil {
		o.Catalog = s.repositories.ForDiscovery()
	}
	if s.discovery != nil {
		o.RequestSync = func(connection string) { s.discovery.RequestSync(connection, false) }
	}
	s.hints, err = discovery.NewHintReader(o)
	return err
}

// confirmHint implements webhook.Options.Confirm.
func (s *Server) confirmHint(ctx context.Context, h webhook.Hint) (code.Repository, error) {
	confirmed, err := s.hints.Confirm(ctx, discovery.Hint(h))
	switch {
	case errors.Is(err, discovery.ErrUnconfirmed):
		s.o.Logger.Info("a repository is registered as private, because its host does not confirm it", "connection", h.Connection,
			"repository", h.Repository.Name, "error", err)
		return confirmed, fmt.Errorf("%w: %w", webhook.ErrUnconfirmed, err)
	case errors.Is(err, discovery.ErrHostLacks):
		return confirmed, fmt.Errorf("%w: %w", webhook.ErrHostLacks, err)
	}
	return confirmed, err
}

// maxChangeWait bounds how long a webhook waits for room in the queue of the audit log.
const maxChangeWait = time.Second

// noteDelivery implements webhook.Options.Audit.
func (s *Server) noteDelivery(ctx context.Context, r audit.Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxChangeWait)
	defer cancel()
	s.noteChange(ctx, r)
}

// noteChange records a change of a repository in the audit log, if this process has one.
func (s *Server) noteChange(ctx context.Context, r audit.Record) {
	if s.recorder == nil {
		return
	}
	if err := s.recorder.Note(ctx, r); err != nil {
		s.o.Logger.Error("audit record of a change lost", "action", string(r.Action), "repository", r.Target, "error", err)
	}
}
