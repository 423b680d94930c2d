package auditreads

import (
	"context"
	"fmt"
	"strconv"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/accountrows"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Log implements the API's reads of the audit log.
type Log struct {
	rows *accountrows.Rows
	log  *auditrows.Log
	key  *auditrows.Key
}

var _ api.AuditLog = (*Log)(nil)

// sealPurpose separates the key of the seals from other keys that are derived from the
// secret.
const sealPurpose = "seals of the audit log"

// SealKey returns the key of the audit log's seals.
func SealKey(secret secrets.Master) *auditrows.Key {
	return auditrows.NewKey(secret.DeriveKey(sealPurpose))
}

// New returns the audit log of rows. secret is used to check its seals.
func New(rows *accountrows.Rows, secret secrets.Master) *Log {
	return &Log{rows: rows, log: auditrows.NewLog(rows.Store), key: SealKey(secret)}
}

// numberTarget changes the target of an entry about repository access from an ID to a
// number. The event and the entry contain the ID; all other entries contain names.
func (l *Log) numberTarget(e *auditlog.Entry) {
	if e.Action != audit.AccessChanged {
		return
	}
	if id, err := strconv.ParseUint(e.Target, 10, 64); err == nil {
		if number := l.rows.Numbers.OfRepository(code.RepositoryID(id)); number != 0 {
			e.Target = strconv.Itoa(int(number))
		}
	}
}

// List implements api.AuditLog.
func (l *Log) List(_ context.Context, q auditlog.Query) (auditlog.Page, error) {
	page, err := l.log.List(q)
	for _, e := range page.Entries {
		l.numberTarget(e)
	}
	return page, err
}

// Export implements api.AuditLog.
func (l *Log) Export(ctx context.Context, q auditlog.Query, after string, emit func(*auditlog.Entry) error) (string, error) {
	cursor, err := auditrows.ParseCursor(after)
	if err != nil {
		return "", fmt.Errorf("%w: %w", failure.ErrCursor, err)
	}
	next, err := l.log.Export(ctx, q, cursor, func(e *auditlog.Entry) error { l.numberTarget(e); return emit(e) })
	return next.String(), err
}

// Heads implements api.AuditLog.
func (l *Log) Heads(context.Context) ([]auditlog.Head, error) { return l.log.Heads() }

// Verify implements api.AuditLog. Only one verification runs at a time, because each
// reads the whole log.
func (l *Log) Verify(ctx context.Context, heads []string, progress func(auditlog.Report) error) (*auditlog.Report, error) {
	pins := make([]auditlog.Pin, len(heads))
	for i, text := range heads {
		var err error
		if pins[i], err = auditlog.ParsePin(text); err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrAuditHead, err)
		}
	}
	release, held := l.rows.TryHold()
	if !held {
		return nil, fmt.Errorf("%w: the audit log is being verified already, or trimmed", failure.ErrUnavailable)
	}
	defer release()
	return auditrows.Verify(ctx, auditrows.VerifyOptions{
		Store: l.rows.Store, Log: l.rows.Log, Key: l.key, Pins: pins, Retention: l.rows.Retention(), Now: boot.Now, Progress: progress,
	})
}
