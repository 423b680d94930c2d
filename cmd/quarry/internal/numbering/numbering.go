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

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/accountrows"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/versions"
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
	// assignRetryInterval is the pause before a failed assignment of numbers is
	// retried.
	assignRetryInterval = time.Second
)

// ErrPending is why a server that has just begun is not ready.
var ErrPending = errors.New("the repositories that were registered before are being numbered")

// Assigner has repositories and connections numbered: those of the registration
// endpoint before they are registered, all others once the catalog has them. Other
// processes may do the same for the same repositories at once.
type Assigner struct {
	numbers  *numbers.Numbers
	accounts *projections.Runner // applies the numbers
	events   auth.Appender
	versions *versions.Versions
	caughtUp func() bool // of the versions
	logger   *slog.Logger
	// complete says that every repository of the catalog had a number when Run last
	// looked; started is closed once that held, or could not be made to hold, with a
	// catalog that had caught up with the log.
	complete atomic.Bool
	started  chan struct{}
	// configured are the names of the connections of the settings; wake has room for one:
	// they have changed.
	configured atomic.Pointer[[]string]
	wake       chan struct{}
	// refused are repositories beyond the last number.
	refused map[code.RepositoryID]bool
}

// New returns what numbers the repositories of v by the rows of a.
func New(a *accountrows.Rows, v *versions.Versions, logger *slog.Logger) *Assigner {
	return &Assigner{
		numbers: a.Numbers, accounts: a.AccountsRunner(), events: accountrows.NewEvents(a.Log), versions: v, caughtUp: v.CaughtUp, logger: logger,
		started: make(chan struct{}), wake: make(chan struct{}, 1), refused: map[code.RepositoryID]bool{},
	}
}

// CheckReady is nil unless repositories that were registered before the start have no
// number yet.
func (n *Assigner) CheckReady() error {
	select {
	case <-n.started:
		return nil
	default:
	}
	if n.complete.Load() && !n.caughtUp() {
		return nil // what is shown while the catalog catches up has numbers
	}
	return ErrPending
}

// HasNumber reports whether a repository has a number. One that has none is not shown.
func (n *Assigner) HasNumber(id code.RepositoryID) bool { return n.numbers.OfRepository(id) != 0 }

// NumberRepository returns the number of a repository that is about to be registered. It waits
// until those registered before have theirs, so that numbers follow the order of
// registration.
func (n *Assigner) NumberRepository(ctx context.Context, r code.Repository) (code.RepositoryNumber, error) {
	if number := n.numbers.OfRepository(r.ID); number != 0 {
		return number, nil
	}
	ctx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	select {
	case <-n.started:
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", auth.ErrNotReady, ErrPending)
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
		caughtUp := n.caughtUp() // before the snapshot, which then is no older
		live := n.versions.Live()
		if of != live {
			of, last = live, nil
		}
		snapshot := live.Catalog.Snapshot()
		missing = n.findUnnumbered(append(missing, snapshot.ChangedSince(last)...))
		last = snapshot
		n.complete.Store(len(missing) == 0)
		var again <-chan time.Time // nil while there is nothing to try again
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

// findUnnumbered returns those that need a number, or whose connection does, in the order of
// registration and once each.
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

// assignMissing has repositories numbered, and notes those beyond the last number.
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

// SetConnections has the connections of the settings numbered, also those that no
// repository came by.
func (n *Assigner) SetConnections(names []string) {
	n.configured.Store(&names)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// numberConnections has the connections of the settings numbered.
func (n *Assigner) numberConnections(ctx context.Context) error {
	names := n.configured.Load()
	if names == nil {
		return nil
	}
	var last event.Position
	for part := range slices.Chunk(*names, event.MaxNumbered) {
		ev := &event.NumbersAssigned{At: boot.Now().UTC()}
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

// assignNumbers appends what numbers repositories and their connections in this order, and
// waits until the numbers can be read.
func (n *Assigner) assignNumbers(ctx context.Context, repositories []*catalog.Repository) error {
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
