package pins

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Defaults of Options.
const (
	DefaultInterval      = 5 * time.Second
	DefaultChildInterval = 2 * time.Minute
)

// group is the consumer group whose leader runs the rounds, and source the CloudEvents
// source of its events.
const (
	group  = "quarry-pins"
	source = "/pipeline/pins"
)

// Repository is a registered repository with its submodules and pins.
type Repository struct {
	code.Repository
	// Listed are the submodules of its default branch.
	Listed []code.Submodule
	Pins   []code.CommitID
}

// Snapshot contains the registered repositories at one moment.
type Snapshot interface {
	// All yields the repositories in a fixed order.
	All() iter.Seq[Repository]
	// ByCloneURL returns the repository with a clone URL.
	ByCloneURL(url string) (code.RepositoryID, bool)
}

// Catalog provides the registered repositories.
type Catalog interface {
	// Current returns a snapshot that includes everything in the log at the time of the
	// call; nil if it equals the previous one, or if the catalog shows a moment of the
	// past.
	Current(ctx context.Context, previous Snapshot) (Snapshot, error)
}

// Log is the part of an eventlog.Log that a Pinner uses.
type Log interface {
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	eventlog.Joiner
}

// Options configures a Pinner. Log and Catalog are required.
type Options struct {
	Log     Log
	Catalog Catalog
	// Interval is the time between two rounds; DefaultInterval if zero.
	Interval time.Duration
	// ChildInterval is the minimum time between two changes of the pins of one repository;
	// DefaultChildInterval if zero.
	ChildInterval time.Duration

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() error {
	if o.Log == nil || o.Catalog == nil {
		return errors.New("pins: Log and Catalog are required")
	}
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.ChildInterval = cmp.Or(o.ChildInterval, DefaultChildInterval)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Pinner keeps the pins of repositories equal to what submodules need. See the package
// comment.
type Pinner struct {
	o       Options
	metrics *metrics
	// seen is the snapshot of the last complete round, and changedAt the times of the
	// latest changes by repository. Only the leader uses them.
	seen      Snapshot
	changedAt map[code.RepositoryID]time.Time
}

// New returns a Pinner.
func New(o Options) (*Pinner, error) {
	if err := o.ensureDefaults(); err != nil {
		return nil, err
	}
	return &Pinner{o: o, metrics: newMetrics(o.Registerer), changedAt: map[code.RepositoryID]time.Time{}}, nil
}

// Run runs the rounds until ctx ends, while this process leads the group.
func (p *Pinner) Run(ctx context.Context) error {
	return eventlog.Lead(ctx, p.o.Log, group, p.o.Logger, func(ctx context.Context) error {
		p.seen = nil
		for {
			if err := p.runRound(ctx); err != nil && ctx.Err() == nil {
				p.o.Logger.Warn("cannot update pins; retrying", "error", err)
			}
			if err := clock.Sleep(ctx, p.o.Interval); err != nil {
				return err
			}
		}
	})
}

// runRound appends a PinsChanged for each repository whose pins are not those that
// submodules need.
func (p *Pinner) runRound(ctx context.Context) error {
	snapshot, err := p.o.Catalog.Current(ctx, p.seen)
	if err != nil || snapshot == nil {
		return err
	}
	needed := countReferences(snapshot)
	now, complete := p.o.Now(), true
	leftOut, pinned := 0, 0
	for r := range snapshot.All() {
		references := needed[r.ID]
		pins := choosePins(references, r.Pins)
		leftOut += len(references) - len(pins)
		pinned += len(pins)
		if slices.Equal(pins, r.Pins) {
			continue
		}
		if last, changed := p.changedAt[r.ID]; changed && now.Sub(last) < p.o.ChildInterval {
			complete = false
			continue
		}
		if err := p.appendPins(ctx, r, pins, now); err != nil {
			return err
		}
		p.changedAt[r.ID] = now
	}
	maps.DeleteFunc(p.changedAt, func(_ code.RepositoryID, last time.Time) bool { return now.Sub(last) >= p.o.ChildInterval })
	p.metrics.pins.Set(float64(pinned))
	p.metrics.leftOut.Set(float64(leftOut))
	if complete {
		p.seen = snapshot
	}
	return nil
}

// countReferences returns, for each child and commit, how many parents refer to it.
func countReferences(snapshot Snapshot) map[code.RepositoryID]map[code.CommitID]int {
	needed := map[code.RepositoryID]map[code.CommitID]int{}
	for parent := range snapshot.All() {
		if !parent.Submodules {
			continue
		}
		type pin struct {
			child  code.RepositoryID
			commit code.CommitID
		}
		counted := map[pin]bool{}
		for _, s := range parent.Listed {
			child, ok := snapshot.ByCloneURL(s.CloneURL)
			if !ok || counted[pin{child, s.Commit}] {
				continue
			}
			counted[pin{child, s.Commit}] = true
			if needed[child] == nil {
				needed[child] = map[code.CommitID]int{}
			}
			needed[child][s.Commit]++
		}
	}
	return needed
}

// choosePins returns at most event.MaxPins of the commits in ascending order: those that
// most parents need, and among equals those that are pins already.
func choosePins(references map[code.CommitID]int, pins []code.CommitID) []code.CommitID {
	isPin := make(map[code.CommitID]int, len(pins))
	for _, commit := range pins {
		isPin[commit] = 1
	}
	chosen := slices.SortedFunc(maps.Keys(references), func(a, b code.CommitID) int {
		return cmp.Or(references[b]-references[a], isPin[b]-isPin[a], strings.Compare(string(a), string(b)))
	})
	chosen = chosen[:min(len(chosen), event.MaxPins)]
	slices.Sort(chosen)
	return chosen
}

// appendPins appends a PinsChanged. Its list is never nil, which JSON would show as null.
func (p *Pinner) appendPins(ctx context.Context, r Repository, pins []code.CommitID, now time.Time) error {
	ev := &event.PinsChanged{Repository: r.ID, Commits: slices.Concat([]code.CommitID{}, pins), At: now.UTC()}
	rec, err := event.Encode(event.Envelope{ID: rand.Text(), Source: source, Time: ev.At}, ev)
	if err != nil {
		return err
	}
	if _, err := p.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec); err != nil {
		return fmt.Errorf("append the pins of %s: %w", r.Name, err)
	}
	p.metrics.changes.Inc()
	p.o.Logger.Info("pins changed", "repository", r.Name, "repository_id", r.ID, "before", len(r.Pins), "now", len(pins))
	return nil
}
