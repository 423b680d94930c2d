package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// EventSource is the CloudEvents source of events that a client of the API caused.
const EventSource = "/query/api"

// Registrar appends the events that the administration API requests. It implements
// api.Registrar.
type Registrar struct {
	log     eventlog.Log
	policy  mirror.Policy
	numbers Numbers
}

// Numbers assigns a number to a repository before it is registered.
type Numbers interface {
	NumberRepository(ctx context.Context, r code.Repository) (code.RepositoryNumber, error)
}

var _ api.Registrar = (*Registrar)(nil)

// NewRegistrar returns a Registrar that registers the repositories that policy allows.
// SetNumbers must be called before the first registration.
func NewRegistrar(log eventlog.Log, policy mirror.Policy) *Registrar {
	return &Registrar{log: log, policy: policy}
}

// SetNumbers sets the assigner of numbers. It must be called before any registration.
func (r *Registrar) SetNumbers(n Numbers) { r.numbers = n }

// Register implements api.Registrar. It assigns the number first, so that numbers follow
// the order of registration and a repository that cannot get a number is not registered.
func (r *Registrar) Register(ctx context.Context, repository code.Repository) (code.RepositoryNumber, event.Position, error) {
	if err := r.Admit(ctx, repository); err != nil {
		return 0, event.Position{}, err
	}
	number, err := r.numbers.NumberRepository(ctx, repository)
	if err != nil {
		return 0, event.Position{}, err
	}
	at, err := r.AppendEvent(ctx, &event.RepositoryRegistered{Repository: repository, At: boot.Now().UTC()})
	return number, at, err
}

// Admit checks whether a repository that a person names may be registered. It is
// CheckPolicy, except that a host that does not exist is refused: the person has mistyped
// its name.
func (r *Registrar) Admit(ctx context.Context, repository code.Repository) error {
	err := r.CheckPolicy(ctx, repository)
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fmt.Errorf("%w: there is no host %q: check the clone URL", failure.ErrRefused, dns.Name)
	}
	return err
}

// CheckPolicy checks a repository against the policy on clone URLs.
func (r *Registrar) CheckPolicy(ctx context.Context, repository code.Repository) error {
	err := r.policy.Check(ctx, repository.CloneURL)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mirror.ErrUnreachable):
		return fmt.Errorf("%w: %w", failure.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", failure.ErrRefused, err)
}

// Rename implements api.Registrar. The projections take a repository whose name, host and
// path all change in one event for another one with the same ID, so a new clone URL and a
// new name are two events.
func (r *Registrar) Rename(ctx context.Context, from, to code.Repository) (event.Position, error) {
	steps := []code.Repository{to}
	if to.CloneURL != from.CloneURL {
		if err := r.Admit(ctx, to); err != nil {
			return event.Position{}, err
		}
		if to.Name != from.Name {
			moved := to
			moved.Name = from.Name
			steps = []code.Repository{moved, to}
		}
	}
	events := make([]event.Event, len(steps))
	for i := range steps {
		// The mark leaves a repository private that became private meanwhile.
		events[i] = &event.RepositoryChanged{Repository: steps[i], PrivateMark: new(event.Offset), At: boot.Now().UTC()}
	}
	positions, err := r.AppendEvents(ctx, events...)
	if err != nil {
		return event.Position{}, err
	}
	return positions[len(positions)-1], nil
}

// Remove implements api.Registrar.
func (r *Registrar) Remove(ctx context.Context, id code.RepositoryID, reason string) (event.Position, error) {
	return r.AppendEvent(ctx, &event.RepositoryRemoved{Repository: id, Reason: reason, At: boot.Now().UTC()})
}

// Refresh implements api.Registrar.
func (r *Registrar) Refresh(ctx context.Context, id code.RepositoryID) (event.Position, error) {
	return r.AppendEvent(ctx, &event.Push{Repository: id, Action: event.ActionRefresh, ReceivedAt: boot.Now().UTC()})
}

// Reindex implements api.Registrar. It appends a refresh for each ref, which makes the
// worker re-index the ref from scratch.
func (r *Registrar) Reindex(ctx context.Context, id code.RepositoryID, refs []code.Ref) (event.Position, error) {
	if len(refs) == 0 {
		return r.Refresh(ctx, id)
	}
	events := make([]event.Event, len(refs))
	for i, ref := range refs {
		events[i] = &event.Push{Repository: id, Ref: ref, Action: event.ActionRefresh, ReceivedAt: boot.Now().UTC()}
	}
	positions, err := r.AppendEvents(ctx, events...)
	if err != nil {
		return event.Position{}, err
	}
	return positions[len(positions)-1], nil
}

// AppendEvent appends an event and returns once it is durable.
func (r *Registrar) AppendEvent(ctx context.Context, ev event.Event) (event.Position, error) {
	positions, err := r.AppendEvents(ctx, ev)
	if err != nil {
		return event.Position{}, err
	}
	return positions[0], nil
}

// AppendEvents appends events and returns once they are durable.
func (r *Registrar) AppendEvents(ctx context.Context, events ...event.Event) ([]event.Position, error) {
	records := make([]event.Record, len(events))
	for i, ev := range events {
		var err error
		records[i], err = event.Encode(event.Envelope{ID: rand.Text(), Source: EventSource, Time: boot.Now().UTC()}, ev)
		if err != nil {
			return nil, err
		}
	}
	positions, err := r.log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, records...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", failure.ErrUnavailable, err)
	}
	return positions, nil
}
