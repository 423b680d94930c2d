package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/api/internal/pace"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// auditTimeout bounds how long an answer waits for the audit log.
const auditTimeout = 10 * time.Second

// refusalRecords is how many refused requests of one address are recorded one by
// one; the next recorded one says how many others there were. Refused credentials
// are bounded by the rate limit alone: each is a record, within allRefusalRecords,
// which bounds those of all addresses.
var (
	refusalRecords    = pace.Limit{PerSecond: 1, Burst: 20}
	allRefusalRecords = pace.Limit{PerSecond: 20, Burst: 20_000}
)

// errNotRecorded is a change that was made and could not be recorded.
var errNotRecorded = errors.New("the change was made, but the audit log cannot be written now; check before retrying")

// setAuditTarget notes what a request reads or changes, for the audit log. Metadata are
// pairs of name and value; empty values are left out. Outside of a route it does
// nothing.
func (s *Server) setAuditTarget(r *http.Request, kind audit.TargetType, name string, metadata ...string) {
	setAuditTargetIn(r.Context(), kind, name, metadata...)
}

// setAuditTargetIn is target for what has the context alone.
func setAuditTargetIn(ctx context.Context, kind audit.TargetType, name string, metadata ...string) {
	x := exchangeIn(ctx)
	if x == nil {
		return
	}
	x.targetType, x.target = kind, failure.Cut(name, audit.MaxTargetBytes)
	for i := 0; i+1 < len(metadata); i += 2 {
		x.addMetadata(metadata[i], metadata[i+1])
	}
}

// exchangeIn returns the exchange of a request, nil if there is none.
func exchangeIn(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// addMetadata adds a word to the record of the request.
func (x *exchange) addMetadata(name, value string) {
	if x == nil || value == "" || len(x.metadata) >= audit.MaxMetadata {
		return
	}
	if x.metadata == nil {
		x.metadata = map[string]string{}
	}
	x.metadata[name] = failure.Cut(value, audit.MaxMetadataBytes)
}

// errNotChanged is a change that was refused because it could not be kept.
var errNotChanged = errors.New("nothing was changed")

// checkWritable refuses a request that changes something while nothing can be kept.
func (s *Server) checkWritable(rt *route) error {
	check := s.o.Writable
	if rt.frees && s.o.Removable != nil {
		check = s.o.Removable
	}
	if !rt.changesState() || check == nil {
		return nil
	}
	if err := check(); err != nil {
		return fmt.Errorf("%w: %w", errNotChanged, err)
	}
	return nil
}

// changesState reports whether a request of the route makes a change that no account
// event records.
func (rt *route) changesState() bool {
	return rt.action != "" && rt.access >= accessOwner && rt.method != http.MethodGet
}

// writeAuditRecord records a request: a read soon, a change before this returns. On an error the
// request fails with it: what cannot be recorded is not answered.
func (s *Server) writeAuditRecord(rt *route, r *http.Request, x *exchange) error {
	x.done = true
	if x.recorded || x.principal == nil {
		return nil
	}
	rec, wanted := s.auditRecord(rt, r, x)
	if !wanted {
		return nil
	}
	x.recorded = true
	// A client that disconnects early is recorded as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	switch {
	case x.refusal != "":
		_ = s.o.Audit.Note(ctx, rec) // the answer says no, whether it is written down or not
		return nil
	case !rt.changesState() || x.status >= http.StatusBadRequest:
		return s.o.Audit.Note(ctx, rec)
	}
	return s.o.Audit.Record(ctx, rec)
}

// unrecordedError is the response to a request whose record could not be written, for
// the given reason: if it made a change, the response says so.
func (s *Server) unrecordedError(rt *route, x *exchange, reason error) error {
	if !rt.changesState() || x.status >= http.StatusBadRequest {
		return reason
	}
	s.metrics.unrecorded.Inc()
	return fmt.Errorf("%w: %w", errNotRecorded, reason)
}

// recordPanic is deferred: it makes the record of a request that ends in a
// panic, which it lets pass.
func (s *Server) recordPanic(rt *route, r *http.Request, x *exchange) {
	if !x.done {
		x.status = http.StatusInternalServerError
		_ = s.writeAuditRecord(rt, r, x) // there is no better answer than the panic's
	}
}

// auditRecord returns the entry of a request, if there is to be one.
func (s *Server) auditRecord(rt *route, r *http.Request, x *exchange) (rec audit.Record, wanted bool) {
	rec = audit.Record{
		At: s.o.Now().UTC(), Action: rt.action, Actor: x.principal.Actor,
		TargetType: x.targetType, Target: x.target, RequestID: x.id, Status: x.status, Metadata: x.metadata,
	}
	switch {
	case rec.TargetType != "":
	case rt.action == audit.ReadOperations || rt.action == audit.ChangedOperations:
		rec.TargetType, rec.Target = audit.TargetOperation, failure.Cut(r.URL.Path, audit.MaxTargetBytes)
	default:
		rec.TargetType = audit.TargetInstance
	}
	if x.refusal == "" {
		return rec, rt.action != ""
	}
	rec.Action = x.refusal
	suppressed, wanted := s.refusals.admitRecord(x, s.o.Now())
	x.addMetadata("route", rt.method+" "+rt.path)
	if suppressed > 0 {
		x.addMetadata("suppressed", strconv.FormatInt(suppressed, 10))
	}
	rec.Metadata = x.metadata
	return rec, wanted
}
