package discovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Confirm reads a repository that is not registered, and returns it as the host describes
// it, with the settings of the connection. It returns ErrUnconfirmed or ErrHostLacks if
// the host does not describe it; other errors are temporary.
func (r *HintReader) Confirm(ctx context.Context, h Hint) (code.Repository, error) {
	if err := r.admitReading(&h); err != nil {
		return code.Repository{}, err
	}
	opened, err := r.openReader(h.Connection)
	if err != nil {
		return code.Repository{}, err
	}
	found, err := opened.read(ctx, &h, nil)
	r.metrics.countReading(err)
	r.mu.Lock()
	if c := r.mu.counts[h.key()]; c != nil {
		c.last = err
	}
	r.mu.Unlock()
	if err != nil {
		return code.Repository{}, err
	}
	opened.settings.applySettings(&found.Repository)
	return found.Repository, nil
}

// admitReading counts a reading, or returns an error if there were too many: the last
// result for the repository, if that was final.
func (r *HintReader) admitReading(h *Hint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	if !r.nextLocked(h.key(), now).After(now) {
		r.countReadingLocked(h.key(), now)
		return nil
	}
	if c := r.mu.counts[h.key()]; c != nil && c.last != nil && isFinal(c.last) {
		return c.last
	}
	return fmt.Errorf("connection %s: too many repositories were read in %s", h.Connection, hintWindow)
}

// read reads the repository of a hint; known is its registration, or nil. It translates
// failures that a repetition does not change to ErrUnconfirmed and ErrHostLacks.
func (o *hostReader) read(ctx context.Context, h *Hint, known *code.Repository) (*Found, error) {
	if o.reader == nil || h.Identity == "" {
		return nil, ErrUnconfirmed
	}
	at := HostRepository{Identity: h.Identity, Paths: []string{h.Repository.DisplayName}, CloneURL: h.Repository.CloneURL}
	if known != nil && known.Connection != "" {
		// The payload is not confirmed: a repository that it misnames still exists.
		at.Paths, at.CloneURL = append(at.Paths, known.DisplayName), known.CloneURL
	}
	found, err := o.reader.ReadRepository(ctx, at)
	switch code := hostapi.CodeOf(err); {
	case err == nil:
	case code == hostapi.NotFound && !o.settings.hasCredentials():
		// Hosts answer that for private repositories as well.
		return nil, errors.Join(ErrHostLacks, ErrUnconfirmed, err)
	case code == hostapi.NotFound:
		return nil, errors.Join(ErrHostLacks, err)
	case code == hostapi.Unauthorized, code == hostapi.Forbidden, code == hostapi.NotJSON, code == hostapi.Redirected, code == hostapi.Refused, code == hostapi.Rejected:
		return nil, errors.Join(ErrUnconfirmed, err)
	default:
		return nil, err
	}
	switch {
	case found.Invalid != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnconfirmed, found.Invalid)
	case found.ID != h.Repository.ID:
		return nil, fmt.Errorf("%w: the host has another repository for %.80q", ErrUnconfirmed, h.Identity)
	}
	return found, nil
}

// errOvertaken means that a delivery said that the repository is private while it was
// read.
var errOvertaken = errors.New("the reading was overtaken")

// followHint reads the repository of a hint and applies what the host says.
func (r *HintReader) followHint(ctx context.Context, h Hint) error {
	snapshot, err := r.o.Catalog.Current(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errLog, err)
	}
	opened, err := r.openReader(h.Connection)
	if err != nil {
		return err
	}
	known := findKnown(snapshot, h.Repository.ID)
	found, err := opened.read(ctx, &h, known)
	r.metrics.countReading(err)
	switch {
	case errors.Is(err, ErrHostLacks):
		return r.applyAbsence(ctx, snapshot, &opened.settings, &h, known, err)
	case err != nil:
		return err
	}
	// The clone URL of the host decides whether a repository was registered by hand, not
	// that of the payload.
	if known == nil {
		if byURL, ok := snapshot.ByCloneURL(found.CloneURL); ok {
			known = &byURL
		}
	}
	if known == nil || known.Connection != "" && known.Connection != h.Connection {
		return nil
	}
	ev := planEvent(&opened.settings, known, found.Repository, false)
	if ev == nil {
		return nil
	}
	changed := ev.(*event.RepositoryChanged)
	mark := snapshot.PrivateMark(known.ID)
	changed.PrivateMark, changed.At = &mark, r.o.Now().UTC()
	if err := r.appendEvent(ctx, changed, known, &h); err != nil {
		return err
	}
	overtaken := false
	if known.Private && !changed.Repository.Private {
		after, err := r.o.Catalog.Current(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", errLog, err)
		}
		now := findKnown(after, known.ID)
		overtaken = now != nil && now.Private
	}
	if overtaken {
		changed.Repository.Private = true // as the catalog has it
	}
	r.auditEvent(ctx, changed, known, &h)
	if overtaken {
		return errOvertaken // it is read again
	}
	return nil
}

func findKnown(s Snapshot, id code.RepositoryID) *code.Repository {
	if known, ok := s.ByID(id); ok {
		return &known
	}
	return nil
}

// applyAbsence applies the answer that the host does not have a repository, or does not
// show it to the connection.
func (r *HintReader) applyAbsence(ctx context.Context, snapshot Snapshot, c *Connection, h *Hint, known *code.Repository, err error) error {
	if known == nil || known.Connection != "" && known.Connection != h.Connection {
		return err
	}
	switch {
	case h.Removed && (c.hasCredentials() || !known.Private):
		ev := &event.RepositoryRemoved{Repository: known.ID, Reason: "deleted on its host", At: r.o.Now().UTC()}
		if err := r.appendEvent(ctx, ev, known, h); err != nil {
			return err
		}
		r.auditEvent(ctx, ev, known, h)
		return nil
	case !known.Private:
		next := *known
		next.Private = true
		mark := snapshot.PrivateMark(known.ID)
		ev := &event.RepositoryChanged{Repository: next, PrivateMark: &mark, At: r.o.Now().UTC()}
		if err := r.appendEvent(ctx, ev, known, h); err != nil {
			return err
		}
		r.auditEvent(ctx, ev, known, h)
		r.o.RequestSync(h.Connection) // it removes the repository if the host does not list it
		return nil
	}
	return err
}

// appendEvent appends the event that results from a reading.
func (r *HintReader) appendEvent(ctx context.Context, ev event.Event, known *code.Repository, h *Hint) error {
	record, err := event.Encode(event.Envelope{ID: rand.Text(), Source: eventSource, Time: r.o.Now().UTC()}, ev)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
	}
	if _, err := r.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, record); err != nil {
		return fmt.Errorf("%w: %w", errLog, err)
	}
	what := "changed"
	if _, removed := ev.(*event.RepositoryRemoved); removed {
		what = "removed"
	}
	r.metrics.events.WithLabelValues(what).Inc()
	r.o.Logger.Info("repository read after a delivery", "connection", h.Connection, "repository", known.Name, "repository_id", known.ID.String(), "delivery_id", h.DeliveryID, "event", what)
	return nil
}

// auditEvent records an appended event in the audit log.
func (r *HintReader) auditEvent(ctx context.Context, ev event.Event, known *code.Repository, h *Hint) {
	if record, ok := auditChange(ev, known, causeReading); ok {
		record.Metadata["delivery"] = h.DeliveryID
		r.o.Audit(ctx, record)
	}
}
