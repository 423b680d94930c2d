package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// source is the CloudEvents source of the pushes of this package.
const source = "/quarry/reconcile"

// errLost means that the partition was revoked during a check.
var errLost = errors.New("the partition was taken away")

// lookAll checks repositories one after another as they become due.
func (r *Reconciler) lookAll(ctx context.Context) {
	for {
		k := r.next(ctx)
		if k == nil {
			return
		}
		r.checkRepository(ctx, k)
	}
}

// checkRepository checks one repository and schedules its next check.
func (r *Reconciler) checkRepository(ctx context.Context, k *repository) {
	started := r.o.Now()
	v, err := r.compareRemote(ctx, k)
	if err == nil && len(v.drift) > 0 {
		err = r.appendPushes(ctx, k, v)
	}
	if ctx.Err() != nil || errors.Is(err, errLost) {
		return
	}
	if err != nil {
		v.result = ResultFailed
		r.o.Logger.Warn("checking a repository for lost pushes failed", "repository", k.Name, "repository_id", k.ID, "error", err)
	}
	r.metrics.looks.WithLabelValues(v.result).Inc()
	r.metrics.seconds.Observe(r.o.Now().Sub(started).Seconds())
	r.recordLook(k, v, err)
}

// compareRemote lists the refs of the repository and compares them with the log.
func (r *Reconciler) compareRemote(ctx context.Context, k *repository) (lookResult, error) {
	r.mu.Lock()
	is := k.Repository
	r.mu.Unlock()
	state, err := r.o.Remotes.List(ctx, is)
	moved, ok := errors.AsType[*mirror.MovedError](err)
	if ok {
		at := is
		at.CloneURL = moved.CloneURL
		state, err = r.o.Remotes.List(ctx, at)
	}
	if err != nil {
		return lookResult{}, err
	}
	committed, err := r.awaitLogRead(ctx, k)
	if err != nil {
		return lookResult{}, err
	}
	if ok {
		return lookResult{result: ResultWaiting}, r.renameRepository(ctx, k, is.CloneURL, moved.CloneURL)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.gone {
		return lookResult{}, errLost
	}
	return k.classifyDifferences(k.findDifferences(state), committed, k.partition.next, r.o.Now(), &r.o), nil
}

// awaitLogRead returns the workers' committed offset in the partition of k, after all
// records that the workers appended for the records below it have been read here.
func (r *Reconciler) awaitLogRead(ctx context.Context, k *repository) (event.Offset, error) {
	// Read the committed offset first and the high-water mark second, because a worker
	// appends the results of a record before it commits the record.
	committed, err := r.o.Log.Committed(ctx, r.o.Workers, r.o.Topic)
	if err != nil {
		return 0, fmt.Errorf("read the offsets of the workers: %w", err)
	}
	high, err := r.o.Log.HighWater(ctx, r.o.Topic)
	if err != nil {
		return 0, fmt.Errorf("read the high-water mark of the log: %w", err)
	}
	p := k.partition
	if int(p.number) >= len(committed) || int(p.number) >= len(high) {
		return 0, fmt.Errorf("there is no partition %d: the log has %d", p.number, len(high))
	}
	r.mu.Lock()
	f := readWaiter{high[p.number], make(chan struct{})}
	p.waiting = append(p.waiting, f)
	p.releaseWaiters()
	r.mu.Unlock()
	limit := time.NewTimer(fenceTimeout)
	defer limit.Stop()
	select {
	case <-f.reached:
		return committed[p.number], nil
	case <-limit.C:
		return 0, fmt.Errorf("the log was not read up to offset %d within %s", f.next, fenceTimeout)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// appendPushes appends the missing pushes.
func (r *Reconciler) appendPushes(ctx context.Context, k *repository, v lookResult) error {
	now := r.o.Now().UTC()
	var records []event.Record
	for _, d := range v.drift {
		id := eventID(k.ID, d)
		ev := &event.Push{Repository: k.ID, Ref: d.ref, Before: d.before, After: d.after, Action: d.action,
			Connection: connection, DeliveryID: id, ReceivedAt: now}
		rec, err := event.Encode(event.Envelope{ID: id, Source: source, Time: now}, ev)
		if err != nil {
			return fmt.Errorf("push of %s: %w", d.ref, err)
		}
		records = append(records, rec)
	}
	if _, err := r.o.Log.Append(ctx, r.o.Topic, eventlog.AnyPartition, records...); err != nil {
		return fmt.Errorf("append %d pushes: %w", len(records), err)
	}
	r.metrics.drift.Add(float64(v.newDrifts))
	for _, d := range v.drift {
		r.o.Logger.Warn("ref differs from the log; a push was appended", "result", v.result, "repository", k.Name, "repository_id", k.ID,
			"ref", string(d.ref), "action", string(d.action), "indexed", string(d.before), "found", string(d.after))
	}
	return nil
}

// eventID returns the same ID for the same drift, whichever process finds it, at any
// time.
func eventID(id code.RepositoryID, d difference) string {
	sum := sha256.Sum256([]byte(string(d.ref) + "\x00" + string(d.action) + "\x00" + string(d.after)))
	return "reconcile/" + id.String() + "/" + hex.EncodeToString(sum[:16])
}

// recordLook records the result of a check and schedules the next one.
func (r *Reconciler) recordLook(k *repository, v lookResult, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	k.status = Status{LookedAt: now, Result: v.result}
	if err != nil {
		k.failures++
		k.status.Code, k.status.Detail = failure.CodeOf(err), failure.Detail(err)
		if r.noteReachedLocked(k); k.status.Code == failure.Unreachable {
			r.noteUnreachableLocked(k)
		}
		// Subtract one interval, because nextLook adds it.
		r.scheduleLocked(k, nextLook(k.ID, now.Add(backoffInterval(k.failures, r.o.Interval)-r.o.Interval), r.o.Interval))
		return
	}
	k.failures, k.suspects = 0, v.suspects
	r.noteReachedLocked(k)
	r.retryHostLocked(k)
	if len(v.suspects) > 0 && k.relooks < maxRelooks {
		k.relooks++
		r.scheduleLocked(k, now.Add(r.o.Grace))
		return
	}
	k.relooks = 0
	r.scheduleLocked(k, nextLook(k.ID, now, r.o.Interval))
}
