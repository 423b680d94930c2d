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
)

// auditTimeout bounds how long an answer waits for the audit log.
const auditTimeout = 10 * time.Second

// refusalRecords is how many refused requests of one address are written down one
// by one; of the others the next that is says how many there were. Refused
// credentials are bounded by the rate limit alone: each is a record.
var refusalRecords = pace.Limit{PerSecond: 1, Burst: 20}

// errNotRecorded is a change that was made and could not be written down.
var errNotRecorded = errors.New("the change was made, but the audit log cannot be written now; look before you try again")

// target notes what a request reads or changes, for the audit log. Metadata are
// pairs of name and value; empty values are left out. Outside of a route it does
// nothing.
func (s *Server) target(r *http.Request, kind audit.TargetType, name string, metadata ...string) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return
	}
	x.targetType, x.target = kind, cut(name, audit.MaxTargetBytes)
	for i := 0; i+1 < len(metadata); i += 2 {
		x.note(metadata[i], metadata[i+1])
	}
}

// note adds a word to the record of the request.
func (x *exchange) note(name, value string) {
	if value == "" || len(x.metadata) >= audit.MaxMetadata {
		return
	}
	if x.metadata == nil {
		x.metadata = map[string]string{}
	}
	x.metadata[name] = cut(value, audit.MaxMetadataBytes)
}

// changes reports whether a request of the route changes what is not written down
// by an event of the accounts.
func (rt *route) changes() bool {
	return rt.action != "" && rt.access == accessOwner && rt.method != http.MethodGet
}

// writeDown makes the record of a request. What is read is written down shortly,
// a change at once. An error is the answer then: what is not written down is not
// given, and of a change it is said that it was made (errNotRecorded).
func (s *Server) writeDown(rt *route, r *http.Request, x *exchange) error {
	if x.recorded || x.principal == nil {
		return nil
	}
	rec, wanted := s.record(rt, x)
	if !wanted {
		return nil
	}
	x.recorded = true
	// Who leaves early is written down as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	switch {
	case x.refusal != "":
		_ = s.o.Audit.Note(ctx, rec) // the answer says no, whether it is written down or not
		return nil
	case !rt.changes():
		return s.o.Audit.Note(ctx, rec)
	}
	if err := s.o.Audit.Record(ctx, rec); err != nil {
		s.metrics.unrecorded.Inc()
		return fmt.Errorf("%w: %w", errNotRecorded, err)
	}
	return nil
}

// record returns the entry of a request, if there is to be one.
func (s *Server) record(rt *route, x *exchange) (rec audit.Record, wanted bool) {
	rec = audit.Record{
		At: s.o.Now().UTC(), Action: rt.action, Actor: x.principal.Actor,
		TargetType: x.targetType, Target: x.target, RequestID: x.id, Status: x.status, Metadata: x.metadata,
	}
	if rec.TargetType == "" {
		rec.TargetType = audit.TargetInstance
	}
	if x.refusal == "" {
		return rec, rt.action != ""
	}
	rec.Action = x.refusal
	suppressed, wanted := s.refusals.admit(x, s.o.Now())
	x.note("route", rt.method+" "+rt.path)
	if suppressed > 0 {
		x.note("suppressed", strconv.FormatInt(suppressed, 10))
	}
	rec.Metadata = x.metadata
	return rec, wanted
}
