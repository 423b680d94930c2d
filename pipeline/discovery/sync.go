package discovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// eventSource is the CloudEvents source of this package's events.
const eventSource = "/pipeline/discovery"

// maxBatch is the number of events per append.
const maxBatch = 200

// errNotAdmitted means that the policy on clone URLs rejects a repository.
var errNotAdmitted = errors.New("the policy of this server refuses the clone URL")

// errLog means that events could not be appended.
var errLog = errors.New("append to the log")

// syncRun is one sync of a connection.
type syncRun struct {
	s        *Syncer
	c        *connection
	snapshot Snapshot
	listing  *Listing
	// admitted caches the policy's decision per host.
	admitted map[string]error
	records  []event.Record
	// audits are the audit records of records.
	audits []audit.Record

	registered, changed, removed int
}

// syncConnection syncs one connection and records the result in its state.
func (s *Syncer) syncConnection(ctx context.Context, c *connection) {
	started := s.o.Now()
	s.renewCredentials(c)
	r := &syncRun{s: s, c: c, admitted: map[string]error{}}
	r.listing = newListing(&c.Connection, s.o.MaxRepositories, func(f *Found) error { return r.takeFound(ctx, f) })
	err := r.listRepositories(ctx)
	if err == nil {
		err = r.listing.err
	}
	if err != nil {
		if errors.Is(err, errLog) {
			r.listing.Incomplete(Issue{Code: LogFailed, Detail: failure.Quote(err.Error(), maxDetailBytes)})
		} else {
			r.listing.Incomplete(NewIssue("", err))
		}
	}
	absent := 0
	if !r.listing.incomplete {
		absent = r.removeAbsent(ctx, started)
	}
	r.noteResult(started, absent, errors.Is(ctx.Err(), context.Canceled))
	s.removeOrphans(ctx)
}

// listRepositories lists the repositories and appends the resulting events.
func (r *syncRun) listRepositories(ctx context.Context) (err error) {
	if r.c.invalid != nil {
		r.listing.Incomplete(Issue{Code: InvalidSettings, Detail: failure.Quote(r.c.invalid.Error(), maxDetailBytes)})
		return nil
	}
	if r.snapshot, err = r.s.o.Catalog.Current(ctx); err != nil {
		return fmt.Errorf("%w: %w", errLog, err)
	}
	if err := r.c.lister.List(ctx, r.listing); err != nil {
		return errors.Join(err, r.appendRecords(ctx)) // the repositories found so far are valid
	}
	return r.appendRecords(ctx)
}

// takeFound plans the event of a found repository.
func (r *syncRun) takeFound(ctx context.Context, f *Found) error {
	known, ok := r.snapshot.ByID(f.ID)
	if !ok {
		if known, ok = r.snapshot.ByCloneURL(f.CloneURL); ok {
			r.listing.seen[known.ID] = struct{}{}
		}
	}
	var ev event.Event
	if ok {
		ev = planEvent(&r.c.Connection, &known, f.Repository, r.s.isOwned(&known, r.c))
	} else {
		if err := r.admitHost(ctx, f.Repository); err != nil {
			return err
		}
		ev = planEvent(&r.c.Connection, nil, f.Repository, false)
	}
	if ev == nil {
		return nil
	}
	if !ok {
		return r.addEvent(ctx, ev, nil)
	}
	return r.addEvent(ctx, ev, &known)
}

// isOwned reports whether a repository belongs to another configured connection.
func (s *Syncer) isOwned(known *code.Repository, c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return known.Connection != "" && known.Connection != c.Name && s.mu.configured[known.Connection]
}

// admitHost checks the policy once per host, or per path on this machine.
func (r *syncRun) admitHost(ctx context.Context, repository code.Repository) error {
	clone, err := code.ParseCloneURL(repository.CloneURL)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAdmitted, err)
	}
	key := clone.Scheme + "://" + clone.Host
	if clone.Host == "" {
		key = repository.CloneURL
	}
	err, asked := r.admitted[key]
	if !asked {
		if err = r.s.o.Admit(ctx, repository); err != nil {
			err = fmt.Errorf("%w: %w", errNotAdmitted, err)
		}
		r.admitted[key] = err
	}
	return err
}

// addEvent encodes an event and appends the collected events once there are enough. known
// is the repository in the snapshot, or nil. The listing is younger than the snapshot, so
// its private mark shows whether a delivery has overtaken it.
func (r *syncRun) addEvent(ctx context.Context, ev event.Event, known *code.Repository) error {
	now := r.s.o.Now().UTC()
	switch e := ev.(type) {
	case *event.RepositoryRegistered:
		mark := r.snapshot.PrivateMark(e.Repository.ID)
		e.At, e.PrivateMark = now, &mark
		r.registered++
	case *event.RepositoryChanged:
		mark := r.snapshot.PrivateMark(e.Repository.ID)
		e.At, e.PrivateMark = now, &mark
		r.changed++
	case *event.RepositoryRemoved:
		e.At = now
		r.removed++
	}
	record, err := event.Encode(event.Envelope{ID: rand.Text(), Source: eventSource, Time: now}, ev)
	if err != nil {
		return err
	}
	r.records = append(r.records, record)
	if record, ok := auditChange(ev, known, causeSync); ok {
		r.audits = append(r.audits, record)
	}
	if len(r.records) < maxBatch {
		return nil
	}
	return r.appendRecords(ctx)
}

func (r *syncRun) appendRecords(ctx context.Context) error {
	if len(r.records) == 0 {
		return nil
	}
	if _, err := r.s.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, r.records...); err != nil {
		return fmt.Errorf("%w: %w", errLog, err)
	}
	for _, record := range r.audits {
		r.s.o.Audit(ctx, record)
	}
	r.records, r.audits = r.records[:0], nil
	return nil
}

// removeAbsent removes repositories that this listing, which started at a time, and an
// earlier one lacked, or moves them to another connection that holds them. The earlier one
// must have ended Options.Grace before, also if a person requested this one, because a
// host may lack a repository for a moment. It returns how many must wait for the next
// listing.
func (r *syncRun) removeAbsent(ctx context.Context, started time.Time) (waiting int) {
	mine, now, absent := 0, r.s.o.Now(), map[code.RepositoryID]time.Time{}
	var due []code.Repository
	for known := range r.snapshot.All() {
		if known.Connection != r.c.Name {
			continue
		}
		mine++
		if _, seen := r.listing.seen[known.ID]; seen {
			continue
		}
		since, before := r.c.absent[known.ID]
		if !before {
			since = now
		}
		absent[known.ID] = since
		if before && started.Sub(since) >= r.s.o.Grace {
			due = append(due, known)
		}
	}
	if len(due) > 0 && r.mayRemove(len(due), mine) {
		for _, known := range due {
			if err := r.releaseRepository(ctx, known, r.c); err != nil {
				r.listing.Incomplete(Issue{Code: LogFailed, Detail: failure.Quote(err.Error(), maxDetailBytes)})
				return len(absent)
			}
			delete(absent, known.ID)
		}
	}
	if err := r.appendRecords(ctx); err != nil {
		r.listing.Incomplete(Issue{Code: LogFailed, Detail: failure.Quote(err.Error(), maxDetailBytes)})
		return len(absent)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.c.absent = absent
	return len(absent)
}

// mayRemove reports whether this many repositories may be removed, and otherwise adds an
// issue with the reason.
func (r *syncRun) mayRemove(due, mine int) bool {
	r.s.mu.Lock()
	others, sure := r.s.othersCompleteLocked(r.c), r.c.retargeted || r.c.remove
	r.s.mu.Unlock()
	switch {
	case !others:
		r.listing.addIssue(Issue{Code: RemovalWaits, Detail: fmt.Sprintf("%d repositories", due)})
		return false
	case !sure && questionsRemoval(due, mine):
		r.listing.addIssue(Issue{Code: RemovalHeld, Detail: fmt.Sprintf("%d of %d repositories are not listed any more", due, mine)})
		return false
	}
	return true
}

// releaseRepository moves a repository to another connection that holds it, or removes
// it.
func (r *syncRun) releaseRepository(ctx context.Context, known code.Repository, from *connection) error {
	r.s.mu.Lock()
	holder := r.s.holderLocked(known.ID, from)
	r.s.mu.Unlock()
	if holder != nil {
		next := known
		holder.applySettings(&next)
		return r.addEvent(ctx, &event.RepositoryChanged{Repository: next}, &known)
	}
	return r.addEvent(ctx, &event.RepositoryRemoved{Repository: known.ID, Reason: "connection " + known.Connection + " does not have it any more"}, &known)
}

// noteResult updates the state of the connection.
func (r *syncRun) noteResult(started time.Time, absent int, stopped bool) {
	s, c, l := r.s, r.c, r.listing
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	st := &c.state
	st.Running, st.FinishedAt, st.WaitingUntil = false, now, time.Time{}
	st.Found, st.Excluded, st.Absent = len(l.seen), l.excluded, absent
	st.Registered, st.Changed, st.Removed = r.registered, r.changed, r.removed
	st.Issues, st.MoreIssues = l.issues, l.dropped
	result := "complete"
	st.NextAt = time.Time{}
	if s.o.Interval > 0 {
		st.NextAt = now.Add(s.o.Interval)
	}
	switch {
	case l.incomplete:
		result = "incomplete"
		retry := min(minRetry<<min(c.failures, 16), max(s.o.Interval, minRetry))
		c.failures++
		if s.o.Interval > 0 {
			st.NextAt = now.Add(retry)
		}
	default:
		c.failures, st.CompleteAt, c.held = 0, now, l.seen
		if absent > 0 {
			st.NextAt = now.Add(s.o.Grace)
		} else {
			c.retargeted, c.remove = false, false
		}
	}
	if c.requested { // while this one ran, which may have missed the change behind the request
		st.NextAt = now
	}
	if stopped {
		return
	}
	s.metrics.syncs.WithLabelValues(string(c.Kind), result).Inc()
	s.metrics.seconds.Observe(now.Sub(started).Seconds())
	s.metrics.countEvents(r)
	log := s.o.Logger.With("connection", c.Name, "found", len(l.seen), "registered", r.registered, "changed", r.changed, "removed", r.removed)
	if len(l.issues) > 0 {
		log.Warn("connection synced with issues", "issues", len(l.issues)+l.dropped, "first", l.issues[0].String(), "detail", l.issues[0].Detail)
	} else {
		log.Info("connection synced")
	}
}

// removeOrphans removes the repositories of removed connections once all other
// connections have been listed completely and have taken over those that they hold.
func (s *Syncer) removeOrphans(ctx context.Context) {
	s.mu.Lock()
	ready := !s.mu.orphansDone && (len(s.mu.connections) > 0 || s.mu.lostByReload) && s.othersCompleteLocked(nil)
	s.mu.Unlock()
	if !ready || ctx.Err() != nil {
		return
	}
	r := &syncRun{s: s, c: &connection{}, listing: newListing(&Connection{}, 0, nil)}
	var err error
	if r.snapshot, err = s.o.Catalog.Current(ctx); err == nil {
		err = r.removeOrphans(ctx)
	}
	if err != nil {
		s.o.Logger.Warn("keeping repositories of removed connections for now", "error", err)
		return
	}
	s.mu.Lock()
	s.mu.orphansDone = true
	s.mu.Unlock()
	s.metrics.countEvents(r)
	if r.removed+r.changed > 0 {
		s.o.Logger.Info("connections removed", "removed", r.removed, "changed", r.changed)
	}
}

func (r *syncRun) removeOrphans(ctx context.Context) error {
	for known := range r.snapshot.All() {
		if known.Connection == "" || r.s.isConfigured(known.Connection) {
			continue
		}
		if err := r.releaseRepository(ctx, known, nil); err != nil {
			return err
		}
	}
	return r.appendRecords(ctx)
}

func (s *Syncer) isConfigured(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.configured[name]
}
