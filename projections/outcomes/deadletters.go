package outcomes

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// DeadLetters lists the dead letters for the API.
type DeadLetters struct {
	follower *deadletters.Follower
	replayer *deadletters.Replayer
	versions *versions.Versions
}

// NewDeadLetters returns the dead letters of f. r replays them.
func NewDeadLetters(f *deadletters.Follower, r *deadletters.Replayer, v *versions.Versions) *DeadLetters {
	return &DeadLetters{follower: f, replayer: r, versions: v}
}

// ListDeadLetters returns the dead letters that q selects, newest first, and the number of
// open ones.
func (l *DeadLetters) ListDeadLetters(_ context.Context, q ledger.DeadLetterQuery) ([]ledger.DeadLetter, int, error) {
	letters, open := l.follower.List(q)
	for i := range letters {
		l.addName(&letters[i])
	}
	return letters, open, nil
}

// addName fills in the name of the repository, if it is registered.
func (l *DeadLetters) addName(letter *ledger.DeadLetter) {
	if known, ok := l.versions.Registered(letter.Repository); ok {
		letter.RepositoryName = known.Name
	}
}

// GetDeadLetter returns a dead letter and its record. It omits the value of account events, which
// may contain a password hash that must never leave the log.
func (l *DeadLetters) GetDeadLetter(ctx context.Context, at event.Position) (ledger.DeadLetter, event.Record, error) {
	rec, err := l.follower.Read(ctx, at)
	if err != nil {
		return ledger.DeadLetter{}, rec, asAPIError(err)
	}
	known := l.follower.Describe(rec)
	l.addName(known)
	if known.Of.Topic == event.TopicAccounts {
		rec.Value = nil
	}
	return *known, rec, nil
}

// ReplayDeadLetter appends the replacement of a dead letter, and returns its position.
func (l *DeadLetters) ReplayDeadLetter(ctx context.Context, at event.Position) (event.Position, error) {
	by, err := l.replayer.Replay(ctx, at)
	return by, asAPIError(err)
}

// DropDeadLetter resolves a dead letter without a replacement.
func (l *DeadLetters) DropDeadLetter(ctx context.Context, at event.Position, reason string) error {
	return asAPIError(l.replayer.Drop(ctx, at, reason))
}

// asAPIError converts a failure to an error of the API. A failure that is not an answer
// to the request becomes failure.ErrUnavailable: the log could not be read.
func asAPIError(err error) error {
	switch {
	case err == nil, errors.Is(err, code.ErrNotFound), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, deadletters.ErrOvertaken), errors.Is(err, deadletters.ErrNoReplay):
		return fmt.Errorf("%w: %w", failure.ErrConflict, err)
	case errors.Is(err, event.ErrOffsetOutOfRange):
		return fmt.Errorf("%w: the log no longer has the record; drop the dead letter: %w", failure.ErrConflict, err)
	}
	return fmt.Errorf("%w: %w", failure.ErrUnavailable, err)
}
