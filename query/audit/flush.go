package audit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// partition is the only one of event.TopicAudit.
const partition int32 = 0

// Run writes records until ctx ends, and then what is still there, within
// Options.DrainTimeout. It is called once.
func (r *Recorder) Run(ctx context.Context) error {
	for r.wait(ctx) {
		r.flush(ctx)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.DrainTimeout)
	defer cancel()
	return r.drain(drain)
}

// wait returns true once there is a group to write, false when ctx has ended. A
// group is whatever has come within Options.FlushEvery, or until somebody waits
// for it or an event is full.
func (r *Recorder) wait(ctx context.Context) bool {
	var timer <-chan time.Time
	for {
		n, urgent := r.pending()
		switch {
		case ctx.Err() != nil:
			return false
		case urgent || n >= event.MaxAuditRecords:
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

func (r *Recorder) pending() (n int, urgent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.queue.len(), r.mu.urgent
}

// flush writes the oldest group, however often it takes, until ctx ends.
func (r *Recorder) flush(ctx context.Context) {
	r.mu.Lock()
	group := r.mu.queue.head()
	r.mu.Unlock()
	if len(group) == 0 {
		return
	}
	r.groups++
	rec, lost := r.encode(group)
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		err := r.append(ctx, rec)
		if err == nil {
			r.written(group, lost)
			return
		}
		r.failed(err)
		if !pause(ctx, wait) {
			return
		}
	}
}

func (r *Recorder) append(ctx context.Context, rec event.Record) error {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	started := time.Now()
	_, err := r.o.Log.Append(ctx, event.TopicAudit, partition, rec)
	if err == nil {
		r.metrics.append.Observe(time.Since(started).Seconds())
	}
	return err
}

// failed says so once until it succeeds again.
func (r *Recorder) failed(err error) {
	r.metrics.failures.Inc()
	if !r.failing {
		n, bytes, _ := r.waiting()
		r.o.Logger.Error("the audit log cannot be written; records wait, and requests are refused once too many do",
			"waiting", n, "bytes", bytes, "atMost", r.o.QueueBytes, "error", err)
	}
	r.failing = true
}

// written takes a group out of the queue.
func (r *Recorder) written(group []entry, lost int64) {
	if r.failing {
		r.o.Logger.Info("the audit log is written again")
	}
	r.failing = false
	r.metrics.groups.Observe(float64(len(group)))
	for i := range group {
		group[i].finish(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.queue.drop(len(group))
	r.mu.lost.count -= lost
	r.mu.urgent = false
	for i := range r.mu.queue.entries {
		if r.mu.queue.entries[i].done != nil {
			r.mu.urgent = true
			break
		}
	}
	close(r.mu.room)
	r.mu.room = make(chan struct{})
	r.signalLocked()
}

// encode returns the event of a group, and how many lost records it tells of. Its
// ID is that of the group: another attempt is the same event.
func (r *Recorder) encode(group []entry) (event.Record, int64) {
	ev := &event.AuditRecorded{Records: make([]audit.Record, 0, len(group)+1)}
	for i := range group {
		ev.Records = append(ev.Records, group[i].record)
	}
	lost := r.lossToTell()
	if lost.count > 0 && len(ev.Records) < event.MaxAuditRecords {
		ev.Records = append(ev.Records, lost.record())
	} else {
		lost.count = 0
	}
	env := event.Envelope{ID: r.o.Instance + "/" + strconv.FormatUint(r.groups, 10), Source: source, Time: r.o.Now()}
	rec, err := event.Encode(env, ev)
	if err == nil {
		return rec, lost.count
	}
	// Clean has missed something. The records that are no good are written as far
	// as they can be.
	r.o.Logger.Error("a record of the audit log breaks a rule of its format; it is written without its text", "error", err)
	for i := range ev.Records {
		one := &event.AuditRecorded{Records: ev.Records[i : i+1]}
		if _, err := event.Encode(env, one); err != nil {
			r.metrics.invalid.Inc()
			ev.Records[i] = stub(&ev.Records[i], err)
		}
	}
	if rec, err = event.Encode(env, ev); err != nil {
		panic("audit: a record of nothing but constants cannot be encoded: " + err.Error())
	}
	return rec, lost.count
}

// stub is what is left of a record that breaks a rule.
func stub(r *audit.Record, reason error) audit.Record {
	return Clean(audit.Record{
		At: r.At, Action: audit.RecordInvalid, Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetInstance,
		Metadata: map[string]string{"reason": fmt.Sprint(reason), "action": string(r.Action), "actor": string(r.Actor.Kind) + " " + string(r.Actor.User)},
	})
}

func (r *Recorder) lossToTell() loss {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.lost
}

// record is what the log says of records that are not in it.
func (l loss) record() audit.Record {
	return audit.Record{
		At: l.last, Action: audit.RecordsLost, Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetInstance,
		Metadata: map[string]string{
			"count": strconv.FormatInt(l.count, 10),
			"from":  l.first.UTC().Format(time.RFC3339Nano), "until": l.last.UTC().Format(time.RFC3339Nano),
		},
	}
}

// drain writes what is left. What cannot be written is counted.
func (r *Recorder) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		if n, _ := r.pending(); n == 0 && r.end() {
			return nil
		}
		r.flush(ctx)
	}
	r.mu.Lock()
	r.mu.ended = true
	left := r.mu.queue.entries
	r.mu.queue = queue{}
	r.mu.Unlock()
	for i := range left {
		left[i].finish(fmt.Errorf("%w: the server stops", ErrUnavailable))
	}
	r.metrics.lost.Add(float64(len(left)))
	return fmt.Errorf("audit: %d records are lost: %w within %s", len(left), ErrUnavailable, r.o.DrainTimeout)
}

// end takes no more if the queue is still empty.
func (r *Recorder) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.ended = r.mu.queue.len() == 0
	return r.mu.ended
}

// pause waits and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
