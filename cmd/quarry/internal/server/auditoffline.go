package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/query/api"
)

// catchUpTimeout bounds how long the rows of a stopped server take to read what
// the log has.
const catchUpTimeout = 30 * time.Minute

// VerifyAudit verifies the audit log of a data directory while no server runs. The
// rows are brought up to date first.
func VerifyAudit(ctx context.Context, o Options, heads []string, emit func(*api.AuditFrame) error) (err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	directory, err := lockData(o)
	if err != nil {
		return err
	}
	defer closeInto(&err, directory)
	log, err := openLog(ctx, o)
	if err != nil {
		return err
	}
	defer closeInto(&err, log)
	secret, err := accessSecret(o)
	if err != nil {
		return err
	}
	rows, err := openAccountRows(o, log, newDamageMetrics(o.Registerer))
	if err != nil {
		return err
	}
	defer closeInto(&err, rows)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // bound: one send
	go func() { ended <- rows.Run(running) }()
	err = rows.awaitAll(ctx)
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	return newAuditLog(rows, secret.deriveKey(sealPurpose)).Verify(ctx, heads, emit)
}

// awaitAll waits until both topics are as the log had them at the start.
func (a *accountRows) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	for _, t := range a.runners {
		select {
		case <-t.runner.CaughtUp():
		case <-ctx.Done():
			return fmt.Errorf("read %s: %w", t.topic, ctx.Err())
		}
	}
	return nil
}
