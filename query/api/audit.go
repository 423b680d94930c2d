package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// AuditLog reads the audit log.
type AuditLog interface {
	// List returns a page, newest first.
	List(ctx context.Context, q auditlog.Query) (auditlog.Page, error)
	// Export calls emit with entries, oldest first, until it has emitted all entries that
	// existed at the beginning or ctx ends; the error is that of emit or ctx. It returns
	// the cursor to continue from. Invalid cursors fail with failure.ErrCursor.
	Export(ctx context.Context, q auditlog.Query, after string, emit func(*auditlog.Entry) error) (next string, err error)
	// Heads returns the current heads of the hash chains.
	Heads(ctx context.Context) ([]auditlog.Head, error)
	// Verify compares the log with its chains, and calls progress from time to time, in
	// this goroutine. heads are earlier values of auditlog.Head.Pin; an invalid one fails
	// with failure.ErrAuditHead.
	Verify(ctx context.Context, heads []string, progress func(auditlog.Report) error) (*auditlog.Report, error)
}

// organization is the ID of the only organization.
const organization = 1

// maxActorBytes bounds the filter by actor.
const maxActorBytes = 128

// auditLog returns the audit log, or an error if there is none.
func (s *Server) auditLog() (AuditLog, error) {
	if s.o.AuditLog == nil {
		return nil, fmt.Errorf("%w: this process has no audit log; use one with the role query", failure.ErrUnavailable)
	}
	return s.o.AuditLog, nil
}

// auditQuery reads the parameters that lists and exports share.
func (p *params) auditQuery() auditlog.Query {
	q := auditlog.Query{
		Since: p.timeParam("since"), Until: p.timeParam("until"),
		Action: audit.Action(p.textParam("action", event.MaxActionBytes)), Actor: p.textParam("actor", maxActorBytes),
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		p.addErrorf("since: want a time before until")
	}
	return q
}

// listAudit handles GET /api/ee/audit.
func (s *Server) listAudit(r *http.Request) (*reply, error) {
	p := queryParams(r)
	q, page := p.auditQuery(), p.pageParam()
	if p.err != nil {
		return nil, p.err
	}
	log, err := s.auditLog()
	if err != nil {
		return nil, err
	}
	q.Offset, q.Limit = page.itemOffset(), page.perPage
	found, err := log.List(r.Context(), q)
	if err != nil {
		return nil, fmt.Errorf("list the audit log: %w", err)
	}
	items := make([]wire.AuditRecord, len(found.Entries))
	for i, e := range found.Entries {
		items[i] = s.newAuditRecord(e)
	}
	out := okReply(items)
	out.header = page.pageHeader("/api/ee/audit", found.Total, p, "since", "until", "action", "actor")
	return out, nil
}

// newAuditRecord converts an entry. Its actor is the user, whatever the credential, as in
// the established interface; the metadata name the credential.
func (s *Server) newAuditRecord(e *auditlog.Entry) wire.AuditRecord {
	out := wire.AuditRecord{
		ID: e.ID, Timestamp: wire.At(e.At), Action: string(e.Action), ActorID: string(e.Actor.User), ActorType: wire.AuditRecordActorType(account.ActorUser),
		TargetID: e.Target, TargetType: string(e.TargetType), SourcebotVersion: s.o.Version, Metadata: entryMetadata(e), OrgID: organization,
	}
	if out.ActorID == "" {
		out.ActorID, out.ActorType = string(e.Actor.Kind), wire.AuditRecordActorType(e.Actor.Kind)
	}
	if out.TargetID == "" && e.TargetType == audit.TargetInstance {
		out.TargetID = strconv.Itoa(organization)
	}
	return out
}

// entryMetadata returns the fields of an entry that wire.AuditRecord lacks; nil if there
// are none.
func entryMetadata(e *auditlog.Entry) map[string]string {
	out := maps.Clone(e.Metadata)
	set := func(name, value string) {
		if value == "" {
			return
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	set("via", string(e.Actor.Kind))
	set("credential", e.Actor.Credential)
	set("address", e.Actor.Address)
	set("source", e.Actor.Client)
	set("requestId", e.RequestID)
	if e.Status != 0 {
		set("status", strconv.Itoa(e.Status))
	}
	set("refused", e.Refused)
	set("position", e.Position.String())
	return out
}

// auditHead handles GET /api/ee/audit/head.
func (s *Server) auditHead(r *http.Request) (*reply, error) {
	log, err := s.auditLog()
	if err != nil {
		return nil, err
	}
	heads, err := log.Heads(r.Context())
	if err != nil {
		return nil, fmt.Errorf("heads of the audit log: %w", err)
	}
	out := wire.AuditHeads{Heads: make([]wire.AuditHead, len(heads))}
	for i := range heads {
		h := &heads[i]
		out.Heads[i] = wire.AuditHead{
			Topic: string(h.Topic), Head: h.Pin(), Records: h.Records, Entries: h.Entries, At: wire.At(h.At), SealedAt: wire.At(h.SealedAt),
		}
		if h.SealedOffset >= 0 {
			out.Heads[i].SealedOffset = new(int64(h.SealedOffset))
		}
	}
	return okReply(out), nil
}
