package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/query/api"
	recorder "github.com/quarrysearch/quarry/query/audit"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// sealPurpose distinguishes the key of seals from others derived from the secret.
const sealPurpose = "seals of the audit log"

// pendingAuditName is the file of the data directory with records that the log did not
// take before the stop.
const pendingAuditName = "audit.pending"

// auditRows opens the entries and the chain of a topic.
func (a *accountRows) auditRows(topic event.Topic, decoder *projections.Decoder) (*auditrows.Projection, error) {
	p, err := auditrows.New(auditrows.Options{
		Topic: topic, Store: a.store, Decoder: decoder, Refused: refusalOf(a.directory),
		Retention: a.o.Config.Audit.Retention.Std(), Registerer: a.o.Registerer,
	})
	if err != nil {
		return nil, err
	}
	a.audit = append(a.audit, p)
	return p, nil
}

// refusalOf says why the record that is being applied has no effect.
func refusalOf(d *accounts.Directory) func(event.Position) string {
	return func(at event.Position) string {
		why, _ := d.Outcome(at) // the directory is applied before, and knows
		return string(why)
	}
}

// followAudit opens the projection of event.TopicAudit.
func (a *accountRows) followAudit() error {
	decoder := projections.NewDecoder(nil)
	p, err := a.auditRows(event.TopicAudit, decoder)
	if err != nil {
		return err
	}
	_, err = a.followTopic(event.TopicAudit, decoder, p)
	return err
}

// openAudit opens what writes the audit log down, and what seals it.
func (s *Server) openAudit() (err error) {
	c := s.o.Config.Audit
	s.recorder, err = recorder.New(recorder.Options{
		Log: s.log, QueueBytes: int(c.QueueBytes), MaxWait: c.MaxWait.Std(), Lossy: !c.Required, HideQueries: !c.QueryText,
		PendingFile: filepath.Join(s.o.Config.Data, pendingAuditName),
		Now:         boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	if err != nil {
		return err
	}
	s.sealer, err = auditrows.NewSealer(auditrows.SealerOptions{
		Log: s.log, Key: auditrows.NewKey(s.masterSecret.deriveKey(sealPurpose)), Chains: s.accounts.audit, Every: c.SealEvery.Std(), Now: boot.Now, Logger: s.o.Logger,
	})
	return err
}

// auditor is the recorder as the API calls it.
type auditor struct{ *recorder.Recorder }

var _ api.Auditor = auditor{}

// Note implements api.Auditor.
func (a auditor) Note(ctx context.Context, rec audit.Record) error {
	return asUnavailable(a.Recorder.Note(ctx, rec))
}

// Record implements api.Auditor.
func (a auditor) Record(ctx context.Context, rec audit.Record) error {
	return asUnavailable(a.Recorder.Record(ctx, rec))
}

func asUnavailable(err error) error {
	if errors.Is(err, recorder.ErrUnavailable) {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return err
}

// auditLog is what the API reads of the audit log.
type auditLog struct {
	rows *accountRows
	log  *auditrows.Log
	key  *auditrows.Key
}

var _ api.AuditLog = (*auditLog)(nil)

func newAuditLog(rows *accountRows, secret []byte) *auditLog {
	return &auditLog{rows: rows, log: auditrows.NewLog(rows.store), key: auditrows.NewKey(secret)}
}

func rowQuery(q api.AuditQuery) auditrows.Query {
	return auditrows.Query{Since: q.Since, Until: q.Until, Action: q.Action, Actor: q.Actor, Offset: q.Offset, Limit: q.Limit}
}

// convertEntry returns an entry as the API has it. Of a repository whose access was changed the
// event, and the entry, have the ID; all other entries have names.
func (l *auditLog) convertEntry(e *auditrows.Entry) *api.AuditEntry {
	out := &api.AuditEntry{Record: e.Record, ID: e.ID, Position: e.Position, Refused: e.Refused}
	if e.Action != audit.AccessChanged {
		return out
	}
	if id, err := strconv.ParseUint(e.Target, 10, 64); err == nil {
		if number := l.rows.numbers.OfRepository(code.RepositoryID(id)); number != 0 {
			out.Target = strconv.Itoa(int(number))
		}
	}
	return out
}

// List implements api.AuditLog.
func (l *auditLog) List(_ context.Context, q api.AuditQuery) (api.AuditPage, error) {
	page, err := l.log.List(rowQuery(q))
	out := api.AuditPage{Entries: make([]*api.AuditEntry, len(page.Entries)), Total: page.Total}
	for i, e := range page.Entries {
		out.Entries[i] = l.convertEntry(e)
	}
	return out, err
}

// Export implements api.AuditLog.
func (l *auditLog) Export(ctx context.Context, q api.AuditQuery, after string, emit func(*api.AuditEntry) error) (string, error) {
	cursor, err := auditrows.ParseCursor(after)
	if err != nil {
		return "", fmt.Errorf("%w: %w", api.ErrCursor, err)
	}
	next, err := l.log.Export(ctx, rowQuery(q), cursor, func(e *auditrows.Entry) error { return emit(l.convertEntry(e)) })
	return next.String(), err
}

// Heads implements api.AuditLog.
func (l *auditLog) Heads(context.Context) ([]api.AuditHead, error) {
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
func (l *auditLog) Verify(ctx context.Context, heads []string, emit func(*api.AuditFrame) error) error {
	pins := make([]auditrows.Pin, len(heads))
	for i, text := range heads {
		var err error
		if pins[i], err = auditrows.ParsePin(text); err != nil {
			return fmt.Errorf("%w: %w", api.ErrAuditHead, err)
		}
	}
	if !l.rows.verifyMutex.TryLock() {
		return fmt.Errorf("%w: the audit log is being verified already, or trimmed", api.ErrUnavailable)
	}
	defer l.rows.verifyMutex.Unlock()
	told := 0
	tell := func(r *auditrows.Report) error {
		var err error
		for ; told < len(r.Findings) && err == nil; told++ {
			err = emit(findingFrame(&r.Findings[told]))
		}
		return err
	}
	report, err := auditrows.Verify(ctx, auditrows.VerifyOptions{
		Store: l.rows.store, Log: tailer{l.rows.log}, Key: l.key, Pins: pins, Retention: l.rows.o.Config.Audit.Retention.Std(), Now: boot.Now,
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
	return errors.Join(tell(report), emit(&api.AuditFrame{Type: api.FrameSummary, Counts: counts}))
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
