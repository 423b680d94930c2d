package auditreads

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/accountrows"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
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
func (l *Log) Heads(context.Context) ([]api.AuditHead, error) {
	heads, err := l.log.Heads()
	out := make([]api.AuditHead, len(heads))
	for i := range heads {
		out[i] = auditHead(&heads[i])
	}
	return out, err
}

func auditHead(h *auditrows.Head) api.AuditHead {
	out := api.AuditHead{Topic: h.Topic, Records: h.Records, Entries: h.Entries, At: optionalTime(h.At), SealedAt: optionalTime(h.SealedAt)}
	if h.Hash != "" && h.Last >= 0 {
		out.Head = auditrows.Pin{Hash: h.Hash, At: event.Position{Topic: h.Topic, Offset: h.Last}}.String()
	}
	if h.SealedOffset >= 0 {
		out.SealedOffset = &h.SealedOffset
	}
	return out
}

// optionalTime returns nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Verify implements api.AuditLog. One runs at a time: each reads the whole log.
func (l *Log) Verify(ctx context.Context, heads []string, emit func(*api.AuditFrame) error) error {
	pins := make([]auditrows.Pin, len(heads))
	for i, text := range heads {
		var err error
		if pins[i], err = auditrows.ParsePin(text); err != nil {
			return fmt.Errorf("%w: %w", api.ErrAuditHead, err)
		}
	}
	release, held := l.rows.TryHold()
	if !held {
		return fmt.Errorf("%w: the audit log is being verified already, or trimmed", api.ErrUnavailable)
	}
	defer release()
	report, err := auditrows.Verify(ctx, auditrows.VerifyOptions{
		Store: l.rows.Store, Log: l.rows.Log, Key: l.key, Pins: pins, Retention: l.rows.Retention(), Now: boot.Now,
		Progress: func(r auditrows.Report) error {
			return emit(&api.AuditFrame{Type: api.FrameProgress, Counts: auditCounts(&r)})
		},
	})
	if err != nil {
		return err
	}
	counts := auditCounts(report)
	for i := range report.Topics {
		if t := &report.Topics[i]; t.Hash != "" {
			counts.Chains = append(counts.Chains, auditrows.Pin{Hash: t.Hash, At: event.Position{Topic: t.Topic, Offset: t.Last}}.String())
		}
	}
	for i := range report.Findings {
		if err := emit(findingFrame(&report.Findings[i])); err != nil {
			return err
		}
	}
	return emit(&api.AuditFrame{Type: api.FrameSummary, Counts: counts})
}

func findingFrame(f *auditrows.Finding) *api.AuditFrame {
	frame := &api.AuditFrame{Type: api.FrameFinding, Kind: f.Kind, Entry: f.Entry, Message: f.Message}
	if f.At.Topic != "" {
		frame.Position = &f.At
	}
	return frame
}

func auditCounts(r *auditrows.Report) *api.AuditCounts {
	c := &api.AuditCounts{
		Seals: r.Seals, SealsUnchecked: r.SealsUnchecked, SealedAt: optionalTime(r.SealedAt), Heads: r.Pins, Findings: len(r.Findings) + r.More,
	}
	for i := range r.Topics {
		c.Records += r.Topics[i].Records
		c.Entries += r.Topics[i].Entries
		c.Unproven += r.Topics[i].Unproven
	}
	return c
}
