package server

import (
	"context"
	"errors"
	"log/slog"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/datadir"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/schemas/auditlog"
)

// VerifyAudit verifies the audit log of a data directory while no server runs. It first
// brings the rows up to date.
func VerifyAudit(ctx context.Context, o Options, heads []string, progress func(auditlog.Report) error) (report *auditlog.Report, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	directory, err := datadir.Lock(o.Config, o.Logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, directory.Close()) }()
	log, err := logdriver.Open(ctx, o.logOptions())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	secret, err := secrets.ReadMaster(o.Config, o.Logger)
	if err != nil {
		return nil, err
	}
	rows, err := accountrows.Open(accountOptionsOf(o, log, repair.NewMetrics(o.Registerer)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- rows.Run(running) }()
	err = rows.AwaitAll(ctx)
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return nil, err
	}
	return accountrows.NewAuditLog(rows, sealKey(secret)).Verify(ctx, heads, progress)
}
