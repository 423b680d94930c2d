package repair

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// These are the bounds of the repair.
const (
	// repairEvery is the interval between checks. A check that finds nothing missing
	// reads one key of each partition.
	repairEvery = time.Second
	// maxRepairs bounds the number of refs that are requested at a time. More are
	// requested once those have taken effect.
	maxRepairs = 10_000
	// maxDigested bounds the number of documents by which two checks are compared.
	maxDigested = 10_000
	// minRepairWait is the time after which a ref that still lacks something is requested
	// again. It doubles with each request.
	minRepairWait = 5 * time.Minute
	maxRepairWait = 24 * time.Hour
	// repairProgressEvery is the interval at which missing documents are logged.
	repairProgressEvery = 10 * time.Second
)

// A Reindexer appends requests to re-index refs from scratch: refs whose last event could
// not be applied because its base is missing, refs with files whose text is in no segment
// because segments were lost, and refs that a rebuild would lose (StoreChecker). It
// checks once the projections have caught up with the log. It requests a ref only if two
// checks find the same documents missing, because a running merge may still provide them.
// All refs of a repository are requested together, so that a worker fetches it once.
type Reindexer struct {
	Options

	// seen is the digest of the missing documents at the last check.
	seen [sha256.Size]byte
	// requests holds the offset after the last request of each partition. It is nil while
	// nothing is missing.
	requests map[int32]event.Offset
	attempts map[lackingRef]attempt
	// completed is the value of completeChecks at the last check.
	completed int64
	// due is the time of the next request, as long as seen does not change.
	due time.Time
	// brokenRefs is the number of broken refs at the last check.
	brokenRefs   atomic.Int64
	reported     missingCounts
	lastReported time.Time
}

// Options are the options of New. All are required but Every and
// Current.
type Options struct {
	// Every is the interval between checks. 0 means repairEvery. The interval between
	// checks of the segment store, storeCheckInterval, changes in proportion.
	Every time.Duration
	// Log receives the requests.
	Log Log
	// Acquire returns a view of the version. The Reindexer releases the view.
	Acquire func() *places.View
	// Applied returns the offset below which events have taken effect.
	Applied func(ctx context.Context, partition int32) (event.Offset, error)
	// Current reports whether the version has applied the log up to now. Otherwise a later
	// record may bring what is missing. Nil means that it always has.
	Current func() bool
	// Store finds what a rebuild would lose.
	Store  *StoreChecker
	Logger *slog.Logger
	Now    func() time.Time
}

// New returns a Reindexer. It checks when CheckOnce or Run is called.
func New(o Options) *Reindexer {
	if o.Current == nil {
		o.Current = func() bool { return true }
	}
	if o.Every == 0 {
		o.Every = repairEvery
	}
	return &Reindexer{Options: o}
}

// BrokenRefs returns the number of broken refs at the last check.
func (r *Reindexer) BrokenRefs() int { return int(r.brokenRefs.Load()) }

// missingCounts counts everything that is missing.
type missingCounts struct {
	places.Missing
	// Unstored counts documents and refs that a rebuild would lose.
	Unstored int
}

func countMissing(v *places.View, lost *UnstoredSet) (missing missingCounts, err error) {
	missing.Unstored = lost.CountAll()
	missing.Missing, err = v.Missing()
	return missing, err
}

// attempt records how often a ref was requested at a commit, and when it may be requested
// again.
type attempt struct {
	n   int
	due time.Time
}

// Run keeps the segment store complete and requests missing documents, until ctx ends. It
// starts once the projections have caught up with the log. It checks the segment store
// before the missing documents, because that check adds to them.
func (r *Reindexer) Run(ctx context.Context, caughtUp <-chan struct{}) error {
	select {
	case <-caughtUp:
	case <-ctx.Done():
		return nil
	}
	var kept time.Time
	look := func(ctx context.Context) {
		if now := time.Now(); now.Sub(kept) >= storeCheckInterval/repairEvery*r.Every {
			kept = now
			r.Store.CheckOnce(ctx)
		}
		r.CheckOnce(ctx)
	}
	look(ctx)
	return clock.RunEvery(ctx, r.Every, look)
}

// CheckOnce requests the documents that are currently missing. It logs a failure and
// leaves the retry to the next check.
func (r *Reindexer) CheckOnce(ctx context.Context) {
	v := r.Acquire()
	defer v.Release()
	if err := r.checkView(ctx, v); err != nil && ctx.Err() == nil {
		r.Logger.Error("requesting missing documents failed; retrying", "error", err)
	}
}

func (r *Reindexer) checkView(ctx context.Context, v *places.View) error {
	if !r.Current() {
		return nil
	}
	lost := r.Store.Unstored()
	missing, err := countMissing(v, lost)
	if err != nil {
		return err
	}
	r.brokenRefs.Store(int64(missing.Refs))
	r.logMissing(missing)
	// If nothing was missing at some point since the last check, everything that is
	// missing now was lost later.
	completed := r.Store.completeChecks.Load()
	healed := completed != r.completed && missing.Missing == (places.Missing{})
	r.completed = completed
	if healed || missing == (missingCounts{}) {
		r.seen, r.requests, r.attempts = [sha256.Size]byte{}, nil, nil
		return nil
	}
	digest, err := digestOf(v, missing)
	if err != nil {
		return err
	}
	stable := digest == r.seen
	if !stable {
		r.seen, r.due = digest, time.Time{}
	}
	if pending, err := r.hasPending(ctx); err != nil || pending || !stable || r.Now().Before(r.due) {
		return err
	}
	refs, err := lackingRefs(ctx, v, lost)
	if err != nil {
		return err
	}
	return r.requestRefs(ctx, r.selectDue(refs), missing)
}

// digestOf returns a digest that identifies a set of missing documents.
func digestOf(v *places.View, missing missingCounts) (sum [sha256.Size]byte, err error) {
	keys, err := v.UnheldDocuments(maxDigested)
	if err != nil {
		return sum, err
	}
	broken, err := v.Broken(maxDigested)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	_, _ = fmt.Fprintln(h, missing) // never fails
	for _, k := range keys {
		_, _ = fmt.Fprintf(h, "%x %s\n", k.Blob, k.Language)
	}
	for _, b := range broken {
		_, _ = fmt.Fprintln(h, b.Position)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// hasPending reports whether some requests have not taken effect yet. At first this
// includes the requests of an earlier process, wherever they are in the log.
func (r *Reindexer) hasPending(ctx context.Context) (bool, error) {
	if r.requests == nil {
		high, err := r.Log.HighWater(ctx, event.TopicEvents)
		if err != nil {
			return false, err
		}
		r.requests, r.attempts = map[int32]event.Offset{}, map[lackingRef]attempt{}
		for partition, next := range high {
			r.requests[int32(partition)] = next
		}
	}
	for partition, next := range r.requests {
		before, err := r.Applied(ctx, partition)
		if err != nil {
			return false, err
		}
		if before < next {
			return true, nil
		}
		delete(r.requests, partition)
	}
	return false, nil
}

// selectDue returns the refs that are due, and sets the time when the next one is.
func (r *Reindexer) selectDue(refs []lackingRef) []lackingRef {
	now := r.Now()
	r.due = now.Add(maxRepairWait)
	var due []lackingRef
	for _, ref := range refs {
		switch a := r.attempts[ref]; {
		case a.due.After(now):
			r.due = minTime(r.due, a.due)
		case len(due) < maxRepairs:
			due = append(due, ref)
			r.due = now // check then whether it helped
		}
	}
	return due
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// requestRefs appends the requests for refs, grouped by repository.
func (r *Reindexer) requestRefs(ctx context.Context, refs []lackingRef, missing missingCounts) error {
	repositories := 0
	for rest := refs; len(rest) > 0; repositories++ {
		n := slices.IndexFunc(rest, func(ref lackingRef) bool { return ref.repository != rest[0].repository })
		if n < 0 {
			n = len(rest)
		}
		for chunk := range slices.Chunk(rest[:n], event.MaxHandledPushes) {
			if !r.Current() { // the process was stopped since the check
				return nil
			}
			if err := r.appendRequests(ctx, chunk); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	if len(refs) > 0 {
		r.Logger.Warn("documents are missing: re-indexing the refs that lack them", "repositories", repositories, "refs", len(refs),
			"missing_documents", missing.Documents, "broken_refs", missing.Refs, "unstored_documents", missing.Unstored)
	}
	return nil
}

// appendRequests appends the requests for refs of one repository.
func (r *Reindexer) appendRequests(ctx context.Context, refs []lackingRef) error {
	now := r.Now().UTC()
	records := make([]event.Record, len(refs))
	for i, ref := range refs {
		ev := &event.Push{Repository: ref.repository, Ref: ref.ref, Action: event.ActionRefresh, ReceivedAt: now}
		var err error
		records[i], err = event.Encode(event.Envelope{ID: rand.Text(), Source: event.RepairSource, Time: now}, ev)
		if err != nil {
			return err
		}
	}
	positions, err := r.Log.Append(ctx, event.TopicEvents, event.AnyPartition, records...)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		a := r.attempts[ref]
		r.attempts[ref] = attempt{a.n + 1, now.Add(min(minRepairWait<<min(a.n, 16), maxRepairWait))}
		r.requests[positions[i].Partition] = positions[i].Offset + 1
	}
	return nil
}

// logMissing logs what is missing at intervals, and once when nothing is missing anymore.
func (r *Reindexer) logMissing(missing missingCounts) {
	now := r.Now()
	switch {
	case missing == r.reported:
		return
	case missing == (missingCounts{}):
		r.Logger.Info("no documents are missing now")
	case now.Sub(r.lastReported) < repairProgressEvery:
		return
	default:
		r.Logger.Info("documents are missing", "missing_documents", missing.Documents, "broken_refs", missing.Refs, "unstored_documents", missing.Unstored)
	}
	r.reported, r.lastReported = missing, now
}
