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

// auditTimeout bounds how long a response waits for the audit log.
const auditTimeout = 10 * time.Second

// refusalRecords is how many refused requests of one address get their own records; the
// next record after them counts the ones left out. Refused credentials are bounded by the
// rate limit and by allRefusalRecords, which bounds the records of all addresses.
var (
	refusalRecords    = pace.Limit{PerSecond: 1, Burst: 20}
	allRefusalRecords = pace.Limit{PerSecond: 20, Burst: 20_000}
)

// checkWritable refuses a request that makes a change while changes cannot be stored.
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

// writeAuditRecord records a request: a read soon, a change before this returns. If it
// returns an error, the request fails, because unrecorded requests get no data.
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
		_ = f.o.Audit.Note(ctx, rec) // the response is a refusal, recorded or not
		return nil
	case !rt.ChangesState() || x.status >= http.StatusBadRequest:
		return f.o.Audit.Note(ctx, rec)
	}
	return f.o.Audit.Record(ctx, rec)
}

// unrecordedError returns the response to a request whose record could not be written. If
// the request made a change, the response reports it.
func (f *Front) unrecordedError(rt *Route, x *Exchange, reason error) error {
	if !rt.ChangesState() || x.status >= http.StatusBadRequest {
		return reason
	}
	f.metrics.unrecorded.Inc()
	return fmt.Errorf("%w: %w", ErrNotRecorded, reason)
}

// recordPanic must be deferred. It records a request that ends in a panic, and lets the
// panic continue.
func (f *Front) recordPanic(rt *Route, r *http.Request, x *Exchange) {
	if !x.done {
		x.status = http.StatusInternalServerError
		_ = f.writeAuditRecord(rt, r, x) // the panic takes precedence over this error
	}
}

// auditRecord returns the audit entry of a request; wanted is false if it needs none.
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
