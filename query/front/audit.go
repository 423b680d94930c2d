package front

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/front/internal/pace"
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

// checkWritable refuses a request that changes something while nothing can be kept.
func (f *Front) checkWritable(rt *Route) error {
	check := f.o.Writable
	if rt.FreesSpace {
		check = f.o.Removable
	}
	if !rt.ChangesState() || check == nil {
		return nil
	}
	if err := check(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotChanged, err)
	}
	return nil
}

// writeAuditRecord records a request: a read soon, a change before this returns. On an error the
// request fails with it: what cannot be recorded is not answered.
func (f *Front) writeAuditRecord(rt *Route, r *http.Request, x *Exchange) error {
	x.done = true
	if x.recorded || x.principal == nil {
		return nil
	}
	rec, wanted := f.auditRecord(rt, r, x)
	if !wanted {
		return nil
	}
	x.recorded = true
	// A client that disconnects early is recorded as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	switch {
	case x.refusal != "":
		_ = f.o.Audit.Note(ctx, rec) // the answer says no, whether it is written down or not
		return nil
	case !rt.ChangesState() || x.status >= http.StatusBadRequest:
		return f.o.Audit.Note(ctx, rec)
	}
	return f.o.Audit.Record(ctx, rec)
}

// unrecordedError is the response to a request whose record could not be written, for
// the given reason: if it made a change, the response says so.
func (f *Front) unrecordedError(rt *Route, x *Exchange, reason error) error {
	if !rt.ChangesState() || x.status >= http.StatusBadRequest {
		return reason
	}
	f.metrics.unrecorded.Inc()
	return fmt.Errorf("%w: %w", ErrNotRecorded, reason)
}

// recordPanic is deferred: it makes the record of a request that ends in a
// panic, which it lets pass.
func (f *Front) recordPanic(rt *Route, r *http.Request, x *Exchange) {
	if !x.done {
		x.status = http.StatusInternalServerError
		_ = f.writeAuditRecord(rt, r, x) // there is no better answer than the panic's
	}
}

// auditRecord returns the entry of a request, if there is to be one.
func (f *Front) auditRecord(rt *Route, r *http.Request, x *Exchange) (rec audit.Record, wanted bool) {
	rec = audit.Record{
		At: f.o.Now().UTC(), Action: rt.Action, Actor: x.principal.Actor,
		TargetType: x.targetType, Target: x.target, RequestID: x.id, Status: x.status, Metadata: x.metadata,
	}
	switch {
	case rec.TargetType != "":
	case rt.Action == audit.ReadOperations || rt.Action == audit.ChangedOperations:
		rec.TargetType, rec.Target = audit.TargetOperation, failure.Cut(r.URL.Path, audit.MaxTargetBytes)
	default:
		rec.TargetType = audit.TargetInstance
	}
	if x.refusal == "" {
		return rec, rt.Action != ""
	}
	rec.Action = x.refusal
	suppressed, wanted := f.refusals.admitRecord(x, f.o.Now())
	x.AddMetadata("route", rt.Method+" "+rt.Path)
	if suppressed > 0 {
		x.AddMetadata("suppressed", strconv.FormatInt(suppressed, 10))
	}
	rec.Metadata = x.metadata
	return rec, wanted
}
