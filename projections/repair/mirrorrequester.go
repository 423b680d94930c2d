package repair

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxMirrorRequests bounds the repositories that a MirrorRequester remembers, and those
// whose requests are not in the log yet.
const maxMirrorRequests = 10_000

// A MirrorRequester requests that repositories are fetched again whose mirrors a reader
// found missing or old. The requests wait in the log for a slot of imports, like those of a
// Reindexer.
type MirrorRequester struct {
	log     Log
	now     func() time.Time
	logger  *slog.Logger
	metrics *Metrics
	queue   chan code.RepositoryID
	mu      struct {
		sync.Mutex
		attempts map[code.RepositoryID]attempt
		// next is the offset after the last request of each repository that is in the log.
		next map[code.RepositoryID]event.Offset
	}
}

// NewMirrorRequester returns a MirrorRequester. Run appends what Request requests.
func NewMirrorRequester(log Log, now func() time.Time, logger *slog.Logger, m *Metrics) *MirrorRequester {
	r := &MirrorRequester{log: log, now: now, logger: logger, metrics: m, queue: make(chan code.RepositoryID, maxMirrorRequests)}
	r.mu.attempts, r.mu.next = map[code.RepositoryID]attempt{}, map[code.RepositoryID]event.Offset{}
	return r
}

// Request requests a repository, unless that was done recently. It reports whether the
// repository is requested. It does not block.
func (r *MirrorRequester) Request(id code.RepositoryID) bool {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.mu.attempts[id]
	if now.Before(a.due) {
		return true
	}
	if now.Sub(a.due) > maxRepairWait {
		a.n = 0 // that loss is over
	}
	if len(r.mu.attempts) >= maxMirrorRequests {
		for other, b := range r.mu.attempts {
			if !now.Before(b.due) {
				delete(r.mu.attempts, other)
				delete(r.mu.next, other)
			}
		}
		if len(r.mu.attempts) >= maxMirrorRequests {
			return false
		}
	}
	select {
	case r.queue <- id:
		delete(r.mu.next, id)
		r.mu.attempts[id] = attempt{a.n + 1, now.Add(min(minRepairWait<<min(a.n, 16), maxRepairWait))}
		return true
	default:
		return false
	}
}

// IsWaiting reports whether a repository is requested, and its events below done, an
// offset of its partition, do not include the request.
func (r *MirrorRequester) IsWaiting(id code.RepositoryID, done event.Offset) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, requested := r.mu.attempts[id]
	next, appended := r.mu.next[id]
	return requested && (!appended || done < next)
}

// Run appends the requests to the log until ctx ends.
func (r *MirrorRequester) Run(ctx context.Context) error {
	for {
		select {
		case id := <-r.queue:
			if err := r.appendRequest(ctx, id); err != nil && ctx.Err() == nil {
				r.logger.Error("requesting a missing mirror failed; the next reader requests it again", "repository_id", id, "error", err)
				r.mu.Lock()
				delete(r.mu.attempts, id)
				r.mu.Unlock()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *MirrorRequester) appendRequest(ctx context.Context, id code.RepositoryID) error {
	now := r.now().UTC()
	rec, err := event.Encode(event.Envelope{ID: rand.Text(), Source: event.RepairSource, Time: now},
		&event.Push{Repository: id, Action: event.ActionRefresh, ReceivedAt: now})
	if err != nil {
		return err
	}
	positions, err := r.log.Append(ctx, event.TopicEvents, event.AnyPartition, rec)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.mu.next[id] = positions[0].Offset + 1
	r.mu.Unlock()
	r.metrics.mirrors.Inc()
	r.logger.Warn("mirror is missing or old; fetching it", "repository_id", id, "position", positions[0].String())
	return nil
}
