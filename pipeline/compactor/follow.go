package compactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// maxFaults bounds the attempts to read an unreadable input.
	maxFaults = 3
	// viewTimeoutAfterMiss bounds the wait for a View after the previous wait timed out,
	// because merges must keep up with the log even if the projections do not.
	viewTimeoutAfterMiss = 10 * time.Millisecond
	// eraseRetry is the pause before another request for a View that an erasure needs.
	eraseRetry = time.Second
	// appendTimeout bounds an append, which continues when the partition is revoked.
	appendTimeout = 10 * time.Second
)

// follower follows one assigned partition.
type follower struct {
	c          *Compactor
	assignment eventlog.Assignment
	partition  int32
	log        *slog.Logger
	state      *state
	tierGauges tierGauges
	// reader is nil before the first round and after an error of the log.
	reader eventlog.Reader
	// appendedNext is the offset after the last record appended.
	appendedNext event.Offset
	// pendingMerge is a completed merge that has not been appended.
	pendingMerge *pendingMerge
	// nextLookAt is when the follower next checks for dead text.
	nextLookAt   time.Time
	viewTimedOut bool
	// erasing is set after an erasure was requested, until a View shows which documents
	// are dead.
	erasing bool
	// committed is the last committed offset; nextCommitAt is when to commit next.
	committed    event.Offset
	nextCommitAt time.Time
	// saved is the position of the last snapshot.
	saved event.Offset
	// quietAt is when to look for merges of quiet classes; zero if there are none to make
	// before the next revision.
	quietAt time.Time
}

type pendingMerge struct {
	*mergeResult
	reason string
	start  time.Time
}

// followPartition merges segments of one partition until ctx ends. The group calls it for
// each assignment.
func (c *Compactor) followPartition(ctx context.Context, a eventlog.Assignment) error {
	f := &follower{
		c: c, assignment: a, partition: a.Partition(), log: c.o.Logger.With("partition", a.Partition()),
		state: newState(a.Partition(), c.o.Liveness != nil), tierGauges: tierGauges{metrics: c.metrics},
		quietAt: time.Now().Add(c.o.Quiet), // the previous holder may not have made these merges
	}
	defer f.close()
	if err := f.resumeSnapshot(ctx); err != nil {
		return nil // the partition was revoked
	}
	var pause backoff
	for {
		err := f.runRound(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, eventlog.ErrClosed):
			return err
		case err == nil:
			pause = backoff{}
			continue
		}
		c.metrics.failures.WithLabelValues(asReason(err)).Inc()
		f.log.Warn("cannot merge segments now, trying again", "error", err)
		f.closeReader()
		pause.waitNext(ctx)
	}
}

func (f *follower) close() {
	f.closeReader()
	f.saveSnapshot()
	f.tierGauges.updateGauges(f.c.o.Policy, nil)
}

func (f *follower) closeReader() {
	if f.reader != nil {
		_ = f.reader.Close() // it only reads, so a failure loses nothing
		f.reader = nil
	}
}

// runRound catches up and does one thing: it appends a merge, makes one, or waits for the
// next record.
func (f *follower) runRound(ctx context.Context) error {
	if err := f.catchUp(ctx); err != nil {
		return err
	}
	for _, e := range f.state.markLost() {
		f.c.metrics.failures.WithLabelValues(failureInput).Inc()
		f.log.Warn("a live segment is missing from the segment store and is excluded from merges; restore it or re-index its revisions", "segment", e.ref.ID)
	}
	f.tierGauges.updateGauges(f.c.o.Policy, f.state.segments)
	f.commitPosition(ctx)
	if f.pendingMerge != nil {
		return f.append(ctx)
	}
	acted, err := f.mergeIfDue(ctx)
	if acted || err != nil {
		return err
	}
	return f.awaitChange(ctx)
}

// catchUp reads up to the high-water mark.
func (f *follower) catchUp(ctx context.Context) error {
	high, err := f.c.o.Log.HighWater(ctx, f.c.o.Topic)
	if err == nil && int(f.partition) >= len(high) {
		err = fmt.Errorf("%s has %d partitions", f.c.o.Topic, len(high))
	}
	if err != nil {
		return wrapFailure(failureLog, "read the high-water mark of the log", err)
	}
	for f.state.next < max(high[f.partition], f.appendedNext) {
		if _, err := f.read(ctx); err != nil {
			return wrapFailure(failureLog, "read the log", err)
		}
	}
	return nil
}

// read applies one record to the state and reports whether it may have changed the
// segments.
func (f *follower) read(ctx context.Context) (changed bool, err error) {
	if f.reader == nil {
		f.reader, err = f.c.o.Log.Tail(ctx, f.c.o.Topic, f.partition, f.state.next)
		if err != nil {
			return false, err
		}
	}
	rec, err := f.reader.Next(ctx)
	if err != nil {
		return false, err
	}
	changed = f.state.read(rec)
	if requestsErasure(rec) {
		f.nextLookAt, f.erasing, changed = time.Time{}, true, true
	}
	if changed && event.TypeOf(rec) == event.TypeRevisionIndexed && f.quietAt.IsZero() {
		f.quietAt = time.Now().Add(f.c.o.Quiet)
	}
	return changed, nil
}

// requestsErasure reports whether a record requests that text leaves the disk
// immediately. A removal always counts, because the request is in its value.
func requestsErasure(rec event.Record) bool {
	t := event.TypeOf(rec)
	return t == event.TypeRepositoryRemoved || t == event.TypeErasureRequested
}

// awaitChange reads until a record concerns segments, until it is time to check for dead
// text, or until the partition is quiet.
func (f *follower) awaitChange(ctx context.Context) error {
	at := f.nextLookAt
	if !f.quietAt.IsZero() && f.quietAt.Before(at) {
		at = f.quietAt
	}
	untilLook, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	for {
		changed, err := f.read(untilLook)
		if untilLook.Err() != nil {
			return nil // the caller checks ctx
		}
		if changed || err != nil {
			return wrapFailure(failureLog, "read the log", err)
		}
	}
}

// commitPosition commits the position, which tools show as the position of the group, and
// saves the state for the next start. It does so at most once per Options.Interval,
// because a commit costs the embedded log a disk sync.
func (f *follower) commitPosition(ctx context.Context) {
	if f.state.next == f.committed || time.Now().Before(f.nextCommitAt) {
		return
	}
	f.nextCommitAt = time.Now().Add(f.c.o.Interval)
	f.saveSnapshot()
	if err := f.assignment.Commit(ctx, f.state.next); err != nil {
		f.log.Debug("cannot commit the position shown by the consumer group", "error", err)
		return
	}
	f.committed = f.state.next
}

// mergeIfDue merges if the policy returns a plan, and reports whether it did anything.
func (f *follower) mergeIfDue(ctx context.Context) (acted bool, err error) {
	due := !time.Now().Before(f.nextLookAt)
	if due {
		f.nextLookAt = time.Now().Add(f.c.o.Interval)
		if f.erasing {
			f.nextLookAt = time.Now().Add(min(f.c.o.Interval, eraseRetry))
		}
	}
	if !due && !f.c.o.Policy.needsClasses(f.state.segments, f.isQuiet()) && len(f.choosePlan(true).inputs) == 0 {
		return false, nil
	}
	view := f.acquireView(ctx)
	if view != nil {
		defer view.Release()
		f.correctState(view)
		f.erasing = false
		view = keepingView{view, f.state.unreadable}
	}
	if view == nil && f.isQuiet() && f.c.o.Liveness != nil {
		f.quietAt = time.Now().Add(f.c.o.Interval) // classes may be unknown until there is a View
	}
	p := f.choosePlan(view != nil)
	if len(p.inputs) == 0 || (p.reason == reasonDead || p.reason == reasonLost || p.reason == reasonDivide) && view == nil {
		return false, nil
	}
	return true, f.mergeSegments(ctx, p, view)
}

// isQuiet reports whether it is time to merge the segments of quiet classes.
func (f *follower) isQuiet() bool { return !f.quietAt.IsZero() && !time.Now().Before(f.quietAt) }

// choosePlan applies the policy, including merges of quiet classes when it is time for
// them. A purge needs a View.
func (f *follower) choosePlan(purge bool) plan {
	if purge {
		if p := f.choosePurge(); len(p.inputs) > 0 {
			return p
		}
	}
	if inputs := f.c.o.Policy.replacedSegments(f.state.segments); len(inputs) > 0 {
		return plan{inputs, reasonLost}
	}
	p := f.c.o.Policy.choosePlan(f.state.segments)
	if len(p.inputs) == 0 {
		if e := f.c.o.Policy.mixedSegment(f.state.segments); e != nil {
			return plan{[]*entry{e}, reasonDivide}
		}
	}
	if len(p.inputs) > 0 || !f.isQuiet() {
		return p
	}
	inputs, next := f.c.o.Policy.quietClass(f.state.segments, f.c.o.Quiet, time.Now())
	if len(inputs) == 0 {
		f.quietAt = next
		return p
	}
	return plan{inputs, reasonQuiet}
}

// acquireView returns a View that has applied all records read, or nil if there is none
// in time.
func (f *follower) acquireView(ctx context.Context) View {
	if f.c.o.Liveness == nil {
		return nil
	}
	patience := f.c.o.Patience
	if f.viewTimedOut {
		patience = min(patience, viewTimeoutAfterMiss)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	view, err := f.c.o.Liveness.At(ctx, f.partition, f.state.next)
	f.viewTimedOut = err != nil
	if err != nil {
		f.log.Debug("no view of live documents; nothing is dropped", "error", err)
		return nil
	}
	return view
}

// keepingView is a View that does not count on segments that cannot be read: documents
// that they hold are kept elsewhere.
type keepingView struct {
	View
	unreadable []segment.ID
}

// Liveness implements View.
func (v keepingView) Liveness(id segment.ID, lost ...segment.ID) ([]uint64, int, error) {
	return v.View.Liveness(id, append(lost, v.unreadable...)...)
}

func (f *follower) correctState(view View) {
	refused := f.state.applyView(view.Segments(f.partition))
	if refused > 0 {
		f.c.metrics.failures.WithLabelValues(failureRefused).Inc()
		f.log.Info("merge refused; merging its inputs again with all their documents", "segments", refused)
	}
}

// mergeSegments makes a merge, which the next round appends.
func (f *follower) mergeSegments(ctx context.Context, p plan, view View) error {
	start := time.Now()
	if p.reason == reasonLost {
		f.pendingMerge = &pendingMerge{&mergeResult{inputs: p.inputs}, p.reason, start}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.c.o.MergeTimeout)
	defer cancel()
	merge := f.c.merger.mergeSegments
	if p.reason == reasonDivide {
		merge = f.c.merger.divideSegment
	}
	out, err := merge(ctx, f.partition, p.inputs, view)
	if err != nil {
		return f.mergeFailed(ctx, p, err)
	}
	if p.reason == reasonDead && out.dropped == 0 {
		p.inputs[0].keepAll = true // a rewrite would gain nothing
		return nil
	}
	if p.reason == reasonPurge && out.dropped == 0 && !slices.ContainsFunc(p.inputs, func(e *entry) bool { return e.keepAll }) {
		for _, e := range out.inputs {
			e.rewriteDroppedNone = true
		}
		return nil
	}
	f.pendingMerge = &pendingMerge{out, p.reason, start}
	return nil
}

// mergeFailed excludes an input that caused the failure of a merge; it returns other
// errors.
func (f *follower) mergeFailed(ctx context.Context, p plan, err error) error {
	if full := new(fullError); errors.As(err, &full) {
		p.inputs[full.index].mergeAlone = true
		return nil
	}
	bad := new(inputError)
	if !errors.As(err, &bad) {
		return err
	}
	if errors.Is(err, code.ErrNotFound) {
		bad.input.suspect = true // another process may have merged it: read the log first
		return nil
	}
	// Quarantine a damaged object, to make room for an intact copy.
	if _, failed := f.c.merger.objects.Quarantine(ctx, segmentstore.SegmentName(bad.input.id)); failed != nil {
		err = errors.Join(err, failed)
	}
	if bad.input.faults++; bad.input.faults >= maxFaults {
		bad.input.lost = true
	}
	return wrapFailure(failureInput, "read segment to merge", err)
}

// append appends the pending merge. If it fails, the next round retries, unless the log
// then shows that the record was appended after all. The end of ctx does not interrupt
// it: otherwise a record that arrives after the partition was reassigned could be above
// the high-water mark that the next holder plans by.
func (f *follower) append(ctx context.Context) error {
	m := f.pendingMerge
	if !f.state.holdsAll(m.inputs) {
		f.pendingMerge = nil
		return nil
	}
	rec, err := m.encodeRecord(f.partition, &f.c.o)
	if err != nil {
		f.pendingMerge = nil
		return wrapFailure(failureLog, "encode merge", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTimeout)
	defer cancel()
	positions, err := f.c.o.Log.Append(ctx, f.c.o.Topic, f.partition, rec)
	if err != nil {
		return wrapFailure(failureLog, "append merge", err)
	}
	f.appendedNext = positions[len(positions)-1].Offset + 1
	f.pendingMerge = nil
	if m.dropped > 0 {
		f.nextLookAt = time.Time{} // check whether it was refused
	}
	f.reportMerge(m)
	return nil
}

func (f *follower) reportMerge(m *pendingMerge) {
	took := time.Since(m.start)
	in, out := m.textBytes()
	metrics := f.c.metrics
	metrics.merges.WithLabelValues(m.reason).Inc()
	metrics.inputs.Add(float64(len(m.inputs)))
	metrics.inputBytes.Add(float64(in))
	metrics.outputBytes.Add(float64(out))
	metrics.dropped.Add(float64(m.dropped))
	metrics.seconds.Observe(took.Seconds())
	var ids []string
	for _, output := range m.outputs {
		metrics.outputs.Inc()
		metrics.segmentBytes.Add(float64(output.Segment.SizeBytes))
		ids = append(ids, output.Segment.ID)
	}
	f.log.Info("merged segments", "reason", m.reason, "inputs", len(m.inputs), "output", strings.Join(ids, " "),
		"input_bytes", in, "output_bytes", out, "dropped_documents", m.dropped,
		"live_segments", len(f.state.segments)-len(m.inputs)+len(ids), "offset", f.appendedNext-1, "duration", took)
}
