package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// eventSource is the CloudEvents source of events that a client of the API caused.
const eventSource = "/query/api"

// registrar appends the events that the administration API requests. It implements
// api.Registrar.
type registrar struct {
	log    eventlog.Log
	policy mirror.Policy
	now    func() time.Time
	// numbering is nil in a process without the role query, where nothing registers.
	numbering *numberAssigner
}

var _ api.Registrar = (*registrar)(nil)

func newRegistrar(log eventlog.Log, policy mirror.Policy) *registrar {
	return &registrar{log: log, policy: policy, now: boot.Now}
}

// Register implements api.Registrar. The number comes first: numbers then follow the
// order of registration, and a repository that can have none is not registered.
func (r *registrar) Register(ctx context.Context, repository code.Repository) (code.RepositoryNumber, event.Position, error) {
	if err := r.checkPolicy(ctx, repository); err != nil {
		return 0, event.Position{}, err
	}
	number, err := r.numbering.numberRepository(ctx, repository)
	if err != nil {
		return 0, event.Position{}, err
	}
	at, err := r.appendEvent(ctx, &event.RepositoryRegistered{Repository: repository, At: r.now().UTC()})
	return number, at, err
}

// checkPolicy checks a repository against the policy on clone URLs.
func (r *registrar) checkPolicy(ctx context.Context, repository code.Repository) error {
	err := r.policy.Check(ctx, repository.CloneURL)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mirror.ErrUnreachable):
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", api.ErrRefused, err)
}

// Remove implements api.Registrar.
func (r *registrar) Remove(ctx context.Context, id code.RepositoryID, reason string) (event.Position, error) {
	return r.appendEvent(ctx, &event.RepositoryRemoved{Repository: id, Reason: reason, At: r.now().UTC()})
}

// Refresh implements api.Registrar.
func (r *registrar) Refresh(ctx context.Context, id code.RepositoryID) (event.Position, error) {
	return r.appendEvent(ctx, &event.Push{Repository: id, Action: event.ActionRefresh, ReceivedAt: r.now().UTC()})
}

// Reindex implements api.Registrar. It appends a refresh for each
// ref, which makes the worker re-index the ref from scratch.
func (r *registrar) Reindex(ctx context.Context, id code.RepositoryID, refs []code.Ref) (event.Position, error) {
	if len(refs) == 0 {
		return r.Refresh(ctx, id)
	}
	events := make([]event.Event, len(refs))
	for i, ref := range refs {
		events[i] = &event.Push{Repository: id, Ref: ref, Action: event.ActionRefresh, ReceivedAt: r.now().UTC()}
	}
	positions, err := r.appendEvents(ctx, events...)
	if err != nil {
		return event.Position{}, err
	}
	return positions[len(positions)-1], nil
}

func (r *registrar) appendEvent(ctx context.Context, ev event.Event) (event.Position, error) {
	positions, err := r.appendEvents(ctx, ev)
	if err != nil {
		return event.Position{}, err
	}
	return positions[0], nil
}

// appendEvents returns once the log has the events.
func (r *registrar) appendEvents(ctx context.Context, events ...event.Event) ([]event.Position, error) {
	records := make([]event.Record, len(events))
	for i, ev := range events {
		var err error
		records[i], err = event.Encode(event.Envelope{ID: rand.Text(), Source: eventSource, Time: r.now().UTC()}, ev)
		if err != nil {
			return nil, err
		}
	}
	positions, err := r.log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, records...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return positions, nil
}
