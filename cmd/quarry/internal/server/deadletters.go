package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// deadLetters are the records that were given up as the API sees them.
type deadLetters struct {
	follower *deadletters.Follower
	replayer *deadletters.Replayer
	versions *versions
}

var _ api.DeadLetters = (*deadLetters)(nil)

// Registered implements deadletters.Catalog.
func (v *versions) Registered(id code.RepositoryID) (code.Repository, bool) {
	i := v.acquireLive()
	defer i.refCount.release()
	known, ok := i.catalog.Snapshot().ByID(id)
	if !ok {
		return code.Repository{}, false
	}
	return known.Repository, true
}

func (s *Server) openDeadLetters() (*deadLetters, error) {
	follower, err := deadletters.New(deadletters.Options{Log: tailer{s.log}, Logger: s.o.Logger, Registerer: s.o.Registerer})
	if err != nil {
		return nil, err
	}
	s.addCloser(closerFunc(follower.Close))
	replayer, err := deadletters.NewReplayer(deadletters.ReplayerOptions{
		Follower: follower, Log: tailer{s.log}, Appender: s.log, Catalog: s.versions,
	})
	return &deadLetters{follower: follower, replayer: replayer, versions: s.versions}, err
}

// ListDeadLetters implements api.DeadLetters.
func (l *deadLetters) ListDeadLetters(_ context.Context, q api.DeadLetterQuery) ([]api.DeadLetter, int, error) {
	found, open := l.follower.List(deadletters.Filter{Stage: q.Stage, Type: q.Type, Repository: q.Repository})
	out := make([]api.DeadLetter, len(found))
	for i := range found {
		out[i] = l.convertDeadLetter(&found[i])
	}
	return out, open, nil
}

// failureReason says why the workers gave an event up, if they did.
func (l *deadLetters) failureReason(at event.Position) (string, bool) {
	letter := l.follower.OfPush(at)
	if letter == nil {
		return "", false
	}
	return letter.Reason, true
}

func (l *deadLetters) convertDeadLetter(from *deadletters.DeadLetter) api.DeadLetter {
	out := api.DeadLetter{
		Position: from.Position, Of: from.Of, Stage: from.Stage, Reason: from.Reason, Code: from.Code, Attempts: from.Attempts, Type: from.Type,
		Repository: from.Repository, At: from.At, ValueBytes: from.ValueBytes, Copies: from.Copies,
	}
	if known, ok := l.versions.Registered(from.Repository); ok {
		out.RepositoryName = known.Name
	}
	return out
}

// GetDeadLetter implements api.DeadLetters. It omits the value of
// account events: the value may hold a password hash, which must never leave the
// log.
func (l *deadLetters) GetDeadLetter(ctx context.Context, at event.Position) (api.DeadLetter, event.Record, error) {
	rec, err := l.follower.Read(ctx, at)
	if err != nil {
		return api.DeadLetter{}, rec, asAPIError(err)
	}
	known := l.convertDeadLetter(l.follower.Describe(rec))
	if known.Of.Topic == event.TopicAccounts {
		rec.Value = nil
	}
	return known, rec, nil
}

// ReplayDeadLetter implements api.DeadLetters.
func (l *deadLetters) ReplayDeadLetter(ctx context.Context, at event.Position) (event.Position, error) {
	by, err := l.replayer.Replay(ctx, at)
	return by, asAPIError(err)
}

// DropDeadLetter implements api.DeadLetters.
func (l *deadLetters) DropDeadLetter(ctx context.Context, at event.Position, reason string) error {
	return asAPIError(l.replayer.Drop(ctx, at, reason))
}

// asAPIError maps a failure to an error of the API. Every failure that is not an answer
// to the request is api.ErrUnavailable: the log could not be read.
func asAPIError(err error) error {
	switch {
	case err == nil, errors.Is(err, code.ErrNotFound), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, deadletters.ErrOvertaken), errors.Is(err, deadletters.ErrNoReplay):
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, eventlog.ErrOffsetOutOfRange):
		return fmt.Errorf("%w: the log no longer has the record; drop the letter: %w", api.ErrConflict, err)
	}
	return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
}
