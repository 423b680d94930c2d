package accountrows

import (
	"context"
	"fmt"
	"strconv"

	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// AuditLog reads and verifies the audit log. It shows repositories by their numbers.
type AuditLog struct {
	rows *Rows
	log  *auditrows.Log
	key  *auditrows.Key
}

// NewAuditLog returns the audit log of rows. key checks its seals.
func NewAuditLog(rows *Rows, key *auditrows.Key) *AuditLog {
	return &AuditLog{rows: rows, log: auditrows.NewLog(rows.Store), key: key}
}

// numberTarget changes the target of an entry about repository access from an ID to a
// number. The event and the entry contain the ID; all other entries contain names.
func (l *AuditLog) numberTarget(e *auditlog.Entry) {
	if e.Action != audit.AccessChanged {
		return
	}
	if id, err := strconv.ParseUint(e.Target, 10, 64); err == nil {
		if number := l.rows.Numbers.OfRepository(code.RepositoryID(id)); number != 0 {
			e.Target = strconv.Itoa(int(number))
		}
	}
}

// List returns a page of entries.
func (l *AuditLog) List(_ context.Context, q auditlog.Query) (auditlog.Page, error) {
	page, err := l.log.List(q)
	for _, e := range page.Entries {
		l.numberTarget(e)
	}
	return page, err
}

// Export emits the entries after a cursor, and returns the cursor to continue from.
func (l *AuditLog) Export(ctx context.Context, q auditlog.Query, after string, emit func(*auditlog.Entry) error) (string, error) {
	cursor, err := auditrows.ParseCursor(after)
	if err != nil {
		return "", fmt.Errorf("%w: %w", failure.ErrCursor, err)
	}
	next, err := l.log.Export(ctx, q, cursor, func(e *auditlog.Entry) error { l.numberTarget(e); return emit(e) })
	return next.String(), err
}

// Heads returns the newest entry of each topic.
func (l *AuditLog) Heads(context.Context) ([]auditlog.Head, error) { return l.log.Heads() }

// Verify compares the log with the rows. Only one verification runs at a time, because each
// reads the whole log.
func (l *AuditLog) Verify(ctx context.Context, heads []string, progress func(auditlog.Report) error) (*auditlog.Report, error) {
	pins := make([]auditlog.Pin, len(heads))
	for i, text := range heads {
		var err error
		if pins[i], err = auditlog.ParsePin(text); err != nil {
			return nil, fmt.Errorf("%w: %w", failure.ErrAuditHead, err)
		}
	}
	release, held := l.rows.TryHold()
	if !held {
		return nil, fmt.Errorf("%w: the audit log is being verified already, or trimmed", failure.ErrUnavailable)
	}
	defer release()
	return auditrows.Verify(ctx, auditrows.VerifyOptions{
		Store: l.rows.Store, Log: l.rows.Log, Key: l.key, Pins: pins, Retention: l.rows.o.Retention, Now: l.rows.o.Now, Progress: progress,
	})
}
