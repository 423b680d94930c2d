package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// partition is the only partition of event.TopicAudit.
const partition int32 = 0

// Run writes the pending records of an earlier process, then records until ctx ends, and
// then drains the queue within Options.DrainTimeout. Records that the log does not accept
// by then are stored in Options.PendingFile. Run must be called once.
func (r *Recorder) Run(ctx context.Context) error {
	r.appendPending(ctx)
	for r.awaitGroup(ctx) {
		r.flushGroup(ctx, 0)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.DrainTimeout)
	defer cancel()
	return r.drainQueue(drain)
}

// awaitGroup returns true once there is a group to write, and false when ctx has ended. A
// group is the entries of Options.FlushEvery, or fewer if a caller waits for one or an
// event is full.
func (r *Recorder) awaitGroup(ctx context.Context) bool {
	var timer <-chan time.Time
	for {
		n, awaited := r.countPending()
		switch {
		case ctx.Err() != nil:
			return false
		case awaited || n >= event.MaxAuditRecords:
			return true
		case n > 0 && timer == nil:
			t := time.NewTimer(r.o.FlushEvery)
			defer t.Stop()
			timer = t.C
		}
		select {
		case <-r.wake:
		case <-timer:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (r *Recorder) countPending() (n int, awaited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.queue.len(), r.mu.queue.awaited > 0
}

// group holds the entries of one event.
type group struct {
	entries []entry
	event   event.Record
	lost    int64 // the number of lost records that it reports
}

// flushGroup writes the oldest group and reports whether it did. It retries until ctx
// ends, or for the given number of attempts if that is not 0. An unfinished group goes
// first: another attempt sends the same event.
func (r *Recorder) flushGroup(ctx context.Context, attempts int) bool {
	if r.currentGroup == nil && !r.beginGroup() {
		return true
	}
	if !r.appendUntilWritten(ctx, r.currentGroup.event, attempts) {
		return false
	}
	r.completeGroup(r.currentGroup)
	r.currentGroup = nil
	return true
}

// appendUntilWritten appends a record, retrying until ctx ends, or for the given number
// of attempts if that is not 0.
func (r *Recorder) appendUntilWritten(ctx context.Context, rec event.Record, attempts int) bool {
	wait := minWait
	for attempt := 1; ; attempt++ {
		err := r.appendOnce(ctx, rec)
		if err == nil {
			return true
		}
		r.reportFailure(err)
		if attempt == attempts || clock.Sleep(ctx, wait) != nil {
			return false
		}
		wait = min(2*wait, maxWait)
	}
}

func (r *Recorder) beginGroup() bool {
	r.mu.Lock()
	entries, lost := r.mu.queue.firstGroup(), r.mu.lost
	r.mu.Unlock()
	if len(entries) == 0 {
		return false
	}
	r.groups++
	r.currentGroup = r.encodeGroup(entries, lost)
	return true
}

func (r *Recorder) appendOnce(ctx context.Context, rec event.Record) error {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	started := time.Now()
	_, err := r.o.Log.Append(ctx, event.TopicAudit, partition, rec)
	if err == nil {
		r.metrics.append.Observe(time.Since(started).Seconds())
	}
	return err
}

// reportFailure logs a failure once until an append succeeds again.
func (r *Recorder) reportFailure(err error) {
	r.metrics.failures.Inc()
	if !r.failing {
		n, bytes, _ := r.queueState()
		r.o.Logger.Error("audit log unavailable: records are queued, and requests are refused once the queue is full",
			"waiting", n, "bytes", bytes, "at_most_bytes", int64(r.o.QueueBytes), "error", err)
	}
	r.failing = true
}

// completeGroup removes a group from the queue.
func (r *Recorder) completeGroup(g *group) {
	if r.failing {
		r.o.Logger.Info("audit log recovered")
	}
	r.failing = false
	for i := range g.entries {
		g.entries[i].reportOutcome(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.queue.dropFirst(len(g.entries))
	r.mu.lost.count -= g.lost
	close(r.mu.room)
	r.mu.room = make(chan struct{})
	r.signalLocked()
}

// encodeGroup creates the event of entries and of earlier losses.
func (r *Recorder) encodeGroup(entries []entry, lost loss) *group {
	ev := &event.AuditRecorded{Records: make([]audit.Record, 0, len(entries)+1)}
	for i := range entries {
		ev.Records = append(ev.Records, entries[i].record)
	}
	g := &group{entries: entries}
	if lost.count > 0 && len(ev.Records) < event.MaxAuditRecords {
		ev.Records, g.lost = append(ev.Records, lost.lostRecord()), lost.count
	}
	env := event.Envelope{ID: r.o.Instance + "/" + strconv.FormatUint(r.groups, 10), Source: source, Time: r.o.Now()}
	var err error
	if g.event, err = event.Encode(env, ev); err == nil {
		return g
	}
	r.o.Logger.Error("audit record violates its format; it is written without its text", "error", err)
	r.replaceInvalid(env, ev)
	if g.event, err = event.Encode(env, ev); err != nil {
		panic("audit: a record of nothing but constants cannot be encoded: " + err.Error())
	}
	return g
}

// replaceInvalid replaces records that are invalid in spite of Clean.
func (r *Recorder) replaceInvalid(env event.Envelope, ev *event.AuditRecorded) {
	for i := range ev.Records {
		if _, err := event.Encode(env, &event.AuditRecorded{Records: ev.Records[i : i+1]}); err != nil {
			r.metrics.invalid.Inc()
			ev.Records[i] = invalidRecord(&ev.Records[i], env.Time, err)
		}
	}
}

// invalidRecord returns the replacement of an invalid record.
func invalidRecord(r *audit.Record, at time.Time, reason error) audit.Record {
	return Clean(audit.Record{
		At: at, Action: audit.RecordInvalid, Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetInstance,
		Metadata: map[string]string{"reason": fmt.Sprint(reason), "action": string(r.Action), "actor": string(r.Actor.Kind) + " " + string(r.Actor.User)},
	})
}

// lostRecord returns the record that reports lost records.
func (l loss) lostRecord() audit.Record {
	return audit.Record{
		At: l.last, Action: audit.RecordsLost, Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetInstance,
		Metadata: map[string]string{
			"count": strconv.FormatInt(l.count, 10),
			"from":  l.first.UTC().Format(time.RFC3339Nano), "until": l.last.UTC().Format(time.RFC3339Nano),
		},
	}
}

// drainQueue writes the remaining records. It stores records that the log does not accept
// in a file, and counts those that it cannot store.
func (r *Recorder) drainQueue(ctx context.Context) error {
	attempts := 0
	if r.o.PendingFile != "" {
		attempts = drainAttempts
	}
	for ctx.Err() == nil && len(r.pendingRecords) == 0 {
		if n, _ := r.countPending(); n == 0 && r.endIfEmpty() {
			return nil
		}
		if !r.flushGroup(ctx, attempts) {
			break
		}
	}
	r.mu.Lock()
	r.mu.ended = true
	left := r.mu.queue.entries
	r.mu.queue = queue{}
	r.mu.Unlock()
	lost, err := r.keepPending(left)
	for i := range left {
		left[i].reportOutcome(fmt.Errorf("%w: the server stops", ErrUnavailable))
	}
	if lost == 0 && err == nil {
		return nil
	}
	r.metrics.lost.Add(float64(lost))
	return errors.Join(fmt.Errorf("audit: %d records are lost: %w within %s", lost, ErrUnavailable, r.o.DrainTimeout), err)
}

// endIfEmpty stops accepting records if the queue is still empty.
func (r *Recorder) endIfEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.ended = r.mu.queue.len() == 0
	return r.mu.ended
}
