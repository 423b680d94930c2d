package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/datadir"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	recorder "github.com/quarrysearch/quarry/query/audit"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// openAudit opens the recorder and the sealer of the audit log.
func (s *Server) openAudit() (err error) {
	c := s.o.Config.Audit
	s.recorder, err = recorder.New(recorder.Options{
		Log: s.log, QueueBytes: int(c.QueueBytes), MaxWait: c.MaxWait.Std(), Lossy: !c.Required, HideQueries: !c.QueryText,
		PendingFile: filepath.Join(s.o.Config.Data, datadir.PendingAuditName),
		Now:         boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	if err != nil {
		return err
	}
	s.sealer, err = auditrows.NewSealer(auditrows.SealerOptions{
		Log: s.log, Key: sealKey(s.masterSecret), Chains: s.accounts.Audit, Every: c.SealEvery.Std(), Now: boot.Now, Logger: s.o.Logger,
	})
	return err
}

// sealKey returns the key of the audit log's seals.
func sealKey(secret secrets.Master) *auditrows.Key {
	return auditrows.NewKey(secret.DeriveKey("seals of the audit log"))
}

// auditor adapts the recorder to front.Auditor.
type auditor struct{ *recorder.Recorder }

var _ front.Auditor = auditor{}

// Note implements front.Auditor.
func (a auditor) Note(ctx context.Context, rec audit.Record) error {
	return asUnavailable(a.Recorder.Note(ctx, rec))
}

// Record implements front.Auditor.
func (a auditor) Record(ctx context.Context, rec audit.Record) error {
	return asUnavailable(a.Recorder.Record(ctx, rec))
}

func asUnavailable(err error) error {
	if errors.Is(err, recorder.ErrUnavailable) {
		return fmt.Errorf("%w: %w", failure.ErrUnavailable, err)
	}
	return err
}
