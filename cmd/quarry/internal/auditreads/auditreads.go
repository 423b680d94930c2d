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
)

// Log is what the API reads of the audit log.
type Log struct {
	rows *accountrows.Rows
	log  *auditrows.Log
	key  *auditrows.Key
}

var _ api.AuditLog = (*Log)(nil)

// sealPurpose distinguishes the key of seals from others derived from the secret.
const sealPurpose = "seals of the audit log"

// SealKey returns the key of the seals of the audit log.
func SealKey(secret secrets.Master) *auditrows.Key {
	return auditrows.NewKey(secret.DeriveKey(sealPurpose))
}

// New returns what rows have of the audit log, whose seals the secret proves.
func New(rows *accountrows.Rows, secret secrets.Master) *Log {
	return &Log{rows: rows, log: auditrows.NewLog(rows.Store), key: SealKey(secret)}
}

// numberTarget has an entry name a repository whose access was changed by its number: the
// event, and the entry, have the ID; all other entries have names.
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
		return "", fmt.Errorf("%w: %w", api.ErrCursor, err)
	}
	next, err := l.log.Export(ctx, q, cursor, func(e *auditlog.Entry) error { l.numberTarget(e); return emit(e) })
	return next.String(), err
}

// Heads implements api.AuditLog.
func (l *Log) Heads(context.Context) ([]auditlog.Head, error) { return l.log.Heads() }

// Verify implements api.AuditLog. One runs at a time: each reads the whole log.
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
		return nil, fmt.Errorf("%w: the audit log is being verified already, or trimmed", api.ErrUnavailable)
	}
	defer release()
	return auditrows.Verify(ctx, auditrows.VerifyOptions{
		Store: l.rows.Store, Log: l.rows.Log, Key: l.key, Pins: pins, Retention: l.rows.Retention(), Now: boot.Now, Progress: progress,
	})
}
