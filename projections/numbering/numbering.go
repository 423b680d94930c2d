package numbering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/numbers"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

const (
	// assignTimeout bounds how long a registration waits for the number of its
	// repository.
	assignTimeout = 10 * time.Second
	// assignRetryInterval is the pause before a failed assignment of numbers is retried.
	assignRetryInterval = time.Second
)

// ErrPending is the reason why a server that has just started is not ready.
var ErrPending = errors.New("the repositories that were registered before are being numbered")

// Assigner assigns numbers to repositories and connections: to repositories of the
// registration endpoint before they are registered, to all others once the catalog
// contains them. Other processes may number the same repositories concurrently.
type Assigner struct {
	numbers  *numbers.Numbers
	accounts *projections.Runner // runner that applies the numbers
	events   accountrows.Events
	versions *versions.Versions
	caughtUp func() bool // of the projection versions
	now      func() time.Time
	logger   *slog.Logger
	// complete is set if every repository of the catalog had a number at the last check
	// of Run. started is closed once that was true, or turned out to be impossible, with
	// a catalog that had caught up with the log.
	complete atomic.Bool
	started  chan struct{}
	// configured holds the names of the connections in the settings. wake, which has room
	// for one value, signals that they have changed.
	configured atomic.Pointer[[]string]
	wake       chan struct{}
	// refused holds the repositories beyond the last number.
	refused map[code.RepositoryID]bool
}

// New returns an Assigner that numbers the repositories of v in the rows of a.
func New(a *accountrows.Rows, v *versions.Versions, now func() time.Time, logger *slog.Logger) *Assigner {
	return &Assigner{
		numbers: a.Numbers, accounts: a.AccountsRunner(), events: accountrows.NewEvents(a.Log, now), now: now,
		versions: v, caughtUp: v.CaughtUp, logger: logger,
		started: make(chan struct{}), wake: make(chan struct{}, 1), refused: map[code.RepositoryID]bool{},
	}
}

// CheckReady returns an error if repositories that were registered before the start have
// no number yet.
func (n *Assigner) CheckReady() error {
	select {
	case <-n.started:
		return nil
	default:
	}
	if n.complete.Load() && !n.caughtUp() {
		return nil // everything shown while the catalog catches up has a number
	}
	return ErrPending
}

// HasNumber reports whether a repository has a number. A repository without a number is
// not shown.
func (n *Assigner) HasNumber(id code.RepositoryID) bool { return n.numbers.OfRepository(id) != 0 }

// NumberRepository returns the number of a repository that is about to be registered. It
// waits until all repositories that were registered before have numbers, so that numbers
// follow the order of registration.
func (n *Assigner) NumberRepository(ctx context.Context, r code.Repository) (code.RepositoryNumber, error) {
	if number := n.numbers.OfRepository(r.ID); number != 0 {
		return number, nil
	}
	ctx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	select {
	case <-n.started:
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", failure.ErrNotReady, ErrPending)
	}
	if err := n.assignNumbers(ctx, []*catalog.Repository{{Repository: r}}); err != nil {
		return 0, fmt.Errorf("%w: number repository %s: %w", failure.ErrUnavailable, r.Name, err)
	}
	number := n.numbers.OfRepository(r.ID)
	if number == 0 {
		return 0, fmt.Errorf("%w: all %d numbers of repositories are in use, and those of removed repositories are not given again; nothing more can be registered here",
			failure.ErrConflict, code.MaxNumber)
	}
	return number, nil
}

// Run numbers the current and future repositories of the catalog, until ctx ends.
func (n *Assigner) Run(ctx context.Context) error {
	select {
	case <-n.accounts.CaughtUp():
	case <-ctx.Done():
		return nil
	}
	var last *catalog.Snapshot
	var of *versions.Version
	var missing []*catalog.Repository
	for {
		caughtUp := n.caughtUp() // read before the snapshot, which is then at least as new
		live := n.versions.Live()
		if of != live {
			of, last = live, nil
		}
		snapshot := live.Catalog.Snapshot()
		missing = n.findUnnumbered(append(missing, snapshot.ChangedSince(last)...))
		last = snapshot
		n.complete.Store(len(missing) == 0)
		var again <-chan time.Time // nil while there is nothing to retry
		behind := live.Runner.CaughtUp()
		if caughtUp {
			behind = nil
			if err := errors.Join(n.assignMissing(ctx, missing), n.numberConnections(ctx)); err != nil {
				n.logger.WarnContext(ctx, "numbering repositories failed; trying again", "repositories", len(missing), "error", err)
				again = time.After(assignRetryInterval)
			} else {
				missing = n.findUnnumbered(missing)
				n.markStarted()
			}
		}
		select {
		case <-snapshot.Superseded():
		case <-live.Superseded:
		case <-n.wake:
		case <-behind:
		case <-again:
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *Assigner) markStarted() {
	select {
	case <-n.started:
	default:
		close(n.started)
	}
}

// findUnnumbered returns the repositories that need a number, or whose connection does,
// without duplicates and in the order of registration.
func (n *Assigner) findUnnumbered(all []*catalog.Repository) []*catalog.Repository {
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

// assignMissing assigns numbers to repositories, and records those beyond the last
// number.
func (n *Assigner) assignMissing(ctx context.Context, missing []*catalog.Repository) error {
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

// SetConnections assigns numbers to the connections of the settings, including those that
// have registered no repository.
func (n *Assigner) SetConnections(names []string) {
	n.configured.Store(&names)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// numberConnections assigns numbers to the connections of the settings.
func (n *Assigner) numberConnections(ctx context.Context) error {
	names := n.configured.Load()
	if names == nil {
		return nil
	}
	var last event.Position
	for part := range slices.Chunk(*names, event.MaxNumbered) {
		ev := &event.NumbersAssigned{At: n.now().UTC()}
		for _, name := range part {
			if n.numbers.OfConnection(name) == 0 {
				ev.Connections = append(ev.Connections, name)
			}
		}
		if len(ev.Connections) == 0 {
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

// assignNumbers appends the events that number repositories and their connections, in
// this order, and waits until the numbers are readable.
func (n *Assigner) assignNumbers(ctx context.Context, repositories []*catalog.Repository) error {
	var last event.Position
	for part := range slices.Chunk(repositories, event.MaxNumbered) {
		ev := &event.NumbersAssigned{At: n.now().UTC()}
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
