package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Bounds of operations that read the whole audit log.
const (
	// maxExportTime bounds an export; the next export returns the rest.
	maxExportTime = 15 * time.Minute
	// maxAuditVerification bounds a verification.
	maxAuditVerification = 4 * time.Hour
	// exportFlush is the number of entries after which the output is flushed.
	exportFlush = 100
	// maxAuditHeads bounds the heads that a verification compares.
	maxAuditHeads = 100
	// maxAuditCursor bounds the parameter after.
	maxAuditCursor = 200
)

// exportEnd is the last line of an export.
type exportEnd struct {
	// Next is the value of the parameter after that continues the export.
	Next string `json:"next"`
	// Complete is set if the export contains everything that existed when it began.
	Complete bool `json:"complete"`
}

// exportAudit handles GET /api/ee/audit/export: one entry per line, oldest first, then an
// exportEnd.
func (s *Server) exportAudit(w http.ResponseWriter, r *http.Request) error {
	p := queryParams(r)
	q, after := p.auditQuery(), p.textParam("after", maxAuditCursor)
	if p.err != nil {
		return p.err
	}
	log, err := s.auditLog()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxExportTime)
	defer cancel()
	l := &jsonLines{f: newFrameWriter(w, front.ExchangeIn(r.Context()).Control(), s.o.PartTimeout, time.Now().Add(maxExportTime+s.o.WriteTimeout))}
	defer l.f.close()
	next, err := log.Export(ctx, q, after, func(e *auditlog.Entry) error { return l.write(s.newAuditRecord(e)) })
	complete := err == nil
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		err = nil // the next export returns the rest
	}
	if err == nil {
		err = errors.Join(l.write(exportEnd{Next: next, Complete: complete}), l.flush())
	}
	if err != nil && l.f.begun {
		return err
	}
	if err != nil {
		return fmt.Errorf("export the audit log: %w", err)
	}
	_ = l.f.control.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // restore it for later requests on the connection
	return nil
}

// jsonLines writes JSON, one value per line, with the time limits of a stream.
type jsonLines struct {
	f     *frameWriter
	lines int
}

func (l *jsonLines) write(v any) error {
	if !l.f.begun {
		l.f.begun = true
		l.f.w.Header().Set("Content-Type", "application/x-ndjson")
		l.f.w.WriteHeader(http.StatusOK)
	}
	l.f.out.Raw(string(mustEncode(v)))
	if l.lines++; l.lines%exportFlush == 0 {
		return l.flush()
	}
	return nil
}

func (l *jsonLines) flush() error {
	if err := l.f.out.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// AuditProgress returns the frame that reports the progress of a verification.
func AuditProgress(r *auditlog.Report) *wire.AuditFrame {
	return &wire.AuditFrame{Type: wire.AuditFrameTypeProgress, Counts: newAuditCounts(r)}
}

// AuditFindings returns the frames of a finished verification, with the summary last.
func AuditFindings(r *auditlog.Report) []*wire.AuditFrame {
	out := make([]*wire.AuditFrame, 0, len(r.Findings)+1)
	for i := range r.Findings {
		f := &r.Findings[i]
		frame := &wire.AuditFrame{Type: wire.AuditFrameTypeFinding, Kind: wire.AuditFrameKind(f.Kind), Entry: f.Entry, Message: f.Message}
		if f.At.Topic != "" {
			frame.Position = wire.PositionOf(f.At)
		}
		out = append(out, frame)
	}
	counts := newAuditCounts(r)
	counts.Chains = r.Chains()
	return append(out, &wire.AuditFrame{Type: wire.AuditFrameTypeSummary, Counts: counts})
}

// newAuditCounts sums the counts of both topics.
func newAuditCounts(r *auditlog.Report) *wire.AuditCounts {
	c := &wire.AuditCounts{
		Seals: r.Seals, SealsUnchecked: r.SealsUnchecked, SealedAt: wire.At(r.SealedAt), Heads: r.Pins, Findings: len(r.Findings) + r.More,
	}
	for i := range r.Topics {
		c.Records += r.Topics[i].Records
		c.Entries += r.Topics[i].Entries
		c.Unproven += r.Topics[i].Unproven
	}
	return c
}

// verifyAudit handles POST /api/ee/audit/verifications and streams frames.
func (s *Server) verifyAudit(w http.ResponseWriter, r *http.Request) error {
	var in wire.AuditVerificationRequest
	if err := s.decodeBody(r, &in); err != nil {
		return err
	}
	if len(in.Heads) > maxAuditHeads {
		return fmt.Errorf("%w: heads: %d, at most %d", errBody, len(in.Heads), maxAuditHeads)
	}
	log, err := s.auditLog()
	if err != nil {
		return err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "")
	ctx, cancel := context.WithTimeout(r.Context(), maxAuditVerification)
	defer cancel()
	f := newFrameWriter(w, front.ExchangeIn(r.Context()).Control(), s.o.PartTimeout, time.Now().Add(maxAuditVerification))
	defer f.close()
	report, err := log.Verify(ctx, in.Heads, func(r auditlog.Report) error { return f.sendFrame(AuditProgress(&r)) })
	if err == nil {
		for _, frame := range AuditFindings(report) {
			if err := f.sendFrame(frame); err != nil {
				return err
			}
		}
		if err = f.sendLine("[DONE]"); err != nil {
			return err
		}
		_ = f.control.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // restore it for later requests on the connection
		return nil
	}
	if !f.begun {
		return fmt.Errorf("verify the audit log: %w", err)
	}
	if f.err == nil {
		f.sendError(err, front.ExchangeIn(r.Context()).ID())
	}
	return err
}
