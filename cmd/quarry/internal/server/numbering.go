package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/numbers"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// assignTimeout bounds how long a registration waits for the number of its
	// repository.
	assignTimeout = 10 * time.Second
	// assignAgainAfter is the pause before a failed assignment of numbers is
	// retried.
	assignRetryInterval = time.Second
)

// errNumbering is why a server that has just begun is not ready.
var errNumbering = errors.New("the repositories that were registered before are being numbered")

// numbering has repositories and connections numbered: those of the registration
// endpoint before they are registered, all others once the catalog has them. Other
// processes may do the same for the same repositories at once.
type numberAssigner struct {
	numbers  *numbers.Numbers
	accounts *projections.Runner // applies the numbers
	events   auth.Appender
	versions *versions
	logger   *slog.Logger
	// complete says that every repository of the catalog had a number when Run last
	// looked; started is closed once that held, or could not be made to hold, with a
	// catalog that had caught up with the log.
	complete atomic.Bool
	started  chan struct{}
	// refused are repositories beyond the last number.
	refused map[code.RepositoryID]bool
}

func newNumberAssigner(a *accountRows, v *versions, logger *slog.Logger) *numberAssigner {
	return &numberAssigner{
		numbers: a.numbers, accounts: a.accountsRunner(), events: accountEvents{a.log}, versions: v, logger: logger,
		started: make(chan struct{}), refused: map[code.RepositoryID]bool{},
	}
}

// checkReady is nil unless repositories that were registered before the start have no
// number yet.
func (n *numberAssigner) checkReady() error {
	select {
	case <-n.started:
		return nil
	default:
	}
	if n.complete.Load() && !n.versions.caughtUp() {
		return nil // what is shown while the catalog catches up has numbers
	}
	return errNumbering
}

// hasNumber reports whether a repository has a number. One that has none is not shown.
func (n *numberAssigner) hasNumber(id code.RepositoryID) bool { return n.numbers.OfRepository(id) != 0 }

// numberRepository returns the number of a repository that is about to be registered. It waits
// until those registered before have theirs, so that numbers follow the order of
// registration.
func (n *numberAssigner) numberRepository(ctx context.Context, r code.Repository) (code.RepositoryNumber, error) {
	if number := n.numbers.OfRepository(r.ID); number != 0 {
		return number, nil
	}
	ctx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	select {
	case <-n.started:
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", auth.ErrNotReady, errNumbering)
	}
	if err := n.assignNumbers(ctx, []*catalog.Repository{{Repository: r}}); err != nil {
		return 0, fmt.Errorf("%w: number repository %s: %w", api.ErrUnavailable, r.Name, err)
	}
	number := n.numbers.OfRepository(r.ID)
	if number == 0 {
		return 0, fmt.Errorf("%w: all %d numbers of repositories are in use, and those of removed repositories are not given again; nothing more can be registered here",
			api.ErrConflict, code.MaxNumber)
	}
	return number, nil
}

// Run numbers what the catalog has and will have, until ctx ends.
func (n *numberAssigner) Run(ctx context.Context) error {
	select {
	case <-n.accounts.CaughtUp():
	case <-ctx.Done():
		return nil
	}
	var last *catalog.Snapshot
	var of *index
	var missing []*catalog.Repository
	for {
		caughtUp := n.versions.caughtUp() // before the snapshot, which then is no older
		live := n.versions.live.Load()
		if of != live {
			of, last = live, nil
		}
		snapshot := live.catalog.Snapshot()
		missing = n.findUnnumbered(append(missing, snapshot.ChangedSince(last)...))
		last = snapshot
		n.complete.Store(len(missing) == 0)
		var again <-chan time.Time // nil while there is nothing to try again
		behind := live.runner.CaughtUp()
		if caughtUp {
			behind = nil
			if err := n.assignMissing(ctx, missing); err != nil {
				n.logger.WarnContext(ctx, "numbering repositories failed; trying again", "repositories", len(missing), "error", err)
				again = time.After(assignRetryInterval)
			} else {
				missing = n.findUnnumbered(missing)
				n.markStarted()
			}
		}
		select {
		case <-snapshot.Superseded():
		case <-live.superseded:
		case <-behind:
		case <-again:
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *numberAssigner) markStarted() {
	select {
	case <-n.started:
	default:
		close(n.started)
	}
}

// findUnnumbered returns those that need a number, or whose connection does, in the order of
// registration and once each.
func (n *numberAssigner) findUnnumbered(all []*catalog.Repository) []*catalog.Repository {
	var out []*catalog.Repository
	for _, r := range all {
		if n.numbers.OfRepository(r.ID) == 0 && !n.refused[r.ID] || r.Connection != "" && n.numbers.OfConnection(r.Connection) == 0 {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Repository) int {
		return cmp.Or(a.RegisteredAt.Compare(b.RegisteredAt), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(out, func(a, b *catalog.Repository) bool { return a.ID == b.ID })
}

// assignMissing has repositories numbered, and notes those beyond the last number.
func (n *numberAssigner) assignMissing(ctx context.Context, missing []*catalog.Repository) error {
	if len(missing) == 0 {
		return nil
	}
	if err := n.assignNumbers(ctx, missing); err != nil {
		return err
	}
	for _, r := range missing {
		if n.numbers.OfRepository(r.ID) == 0 {
			n.refused[r.ID] = true
			n.logger.ErrorContext(ctx, "repository is not shown: all numbers of repositories are in use", "repository", r.Name, "limit", code.MaxNumber)
		}
	}
	return nil
}

// assignNumbers appends what numbers repositories and their connections in this order, and
// waits until the numbers can be read.
func (n *numberAssigner) assignNumbers(ctx context.Context, repositories []*catalog.Repository) error {
	var last event.Position
	for part := range slices.Chunk(repositories, event.MaxNumbered) {
		ev := &event.NumbersAssigned{At: boot.Now().UTC()}
		for _, r := range part {
			if n.numbers.OfRepository(r.ID) == 0 {
				ev.Repositories = append(ev.Repositories, r.ID)
			}
			if r.Connection != "" && n.numbers.OfConnection(r.Connection) == 0 && !slices.Contains(ev.Connections, r.Connection) {
				ev.Connections = append(ev.Connections, r.Connection)
			}
		}
		if len(ev.Repositories)+len(ev.Connections) == 0 {
			continue
		}
		var err error
		if last, err = n.events.Append(ctx, ev); err != nil {
			return err
		}
	}
	if last.Topic == "" {
		return nil
	}
	return n.accounts.WaitFor(ctx, last)
}
