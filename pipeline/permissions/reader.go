package permissions

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Connection is a connection whose permissions are read.
type Connection struct {
	Name string
	Kind code.HostKind
	// Interval is the time between two readings of a repository.
	Interval time.Duration
}

// Known provides the permissions that were read, as of the last applied event.
type Known interface {
	// HostAccess and HostDoubts return maps that must not be modified and do not change.
	HostAccess() (all map[code.RepositoryID]*account.HostAccess, version uint64)
	HostDoubts() map[account.HostDoubt]time.Time
}

// Options configures a Reader. All are required except Dial, Now, Logger and Registerer.
type Options struct {
	// Kinds maps each kind of host to its Open.
	Kinds   map[code.HostKind]discovery.Open
	Log     discovery.Log
	Catalog discovery.Catalog
	Known   Known
	// Renew returns the settings of a connection with the current credentials.
	Renew func(name string) (discovery.Connection, error)
	// Dial opens connections to hosts and checks their addresses.
	Dial           func(ctx context.Context, network, address string) (net.Conn, error)
	RequestTimeout time.Duration

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) validate() error {
	if o.Kinds == nil || o.Log == nil || o.Catalog == nil || o.Known == nil || o.Renew == nil {
		return errors.New("permissions: Kinds, Log, Catalog, Known and Renew are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Reader reads the permissions of connections. See the package comment.
type Reader struct {
	o       Options
	metrics *metrics

	mu struct {
		sync.Mutex
		connections []Connection
		// changed is closed when the connections are replaced.
		changed chan struct{}
		states  map[string]State
	}
}

// State describes how current the permissions of a connection are. It exists only in the
// process that reads them.
type State struct {
	Name string
	// Interval is the time between two readings of a repository.
	Interval time.Duration
	// Repositories counts the private repositories, Failing those whose last reading
	// failed.
	Repositories, Failing int
	// LastReadAt is the time of the newest reading among the repositories, OldestReadAt
	// that of the oldest; the latter is zero if one was never read.
	LastReadAt, OldestReadAt time.Time
	// NextAt is when the next repository is due; zero if there is none.
	NextAt time.Time
	// PausedUntil is when a failing host is tried again; zero if there is no pause.
	PausedUntil time.Time
	// Issues explain why the last readings failed, ordered by repository name; the first
	// may concern the connection as a whole and then has no target. MoreIssues counts
	// those beyond maxIssues.
	Issues     []discovery.Issue
	MoreIssues int
}

// New returns a Reader without connections; see SetConnections.
func New(o Options) (*Reader, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &Reader{o: o}
	r.mu.changed, r.mu.states = make(chan struct{}), map[string]State{}
	r.metrics = newMetrics(o.Registerer, r)
	return r, nil
}

// SetConnections replaces the connections.
func (r *Reader) SetConnections(connections []Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.connections = slices.Clone(connections)
	close(r.mu.changed)
	r.mu.changed = make(chan struct{})
}

// States returns the state of each connection that this process reads, by name.
func (r *Reader) States() []State {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]State, 0, len(r.mu.states))
	for _, s := range r.mu.states {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (r *Reader) setState(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.states[s.Name] = s
}

func (r *Reader) clearStates() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.mu.states)
}

// group is the consumer group whose leader reads permissions.
const group = "quarry-permissions"

// Run reads permissions until ctx ends, while this process leads the group.
func (r *Reader) Run(ctx context.Context) error {
	return eventlog.Lead(ctx, r.o.Log, group, r.o.Logger, r.readAssigned)
}

// readAssigned reads permissions while this process leads the group.
func (r *Reader) readAssigned(ctx context.Context) error {
	for ctx.Err() == nil {
		r.mu.Lock()
		connections, changed := r.mu.connections, r.mu.changed
		r.mu.Unlock()
		running, cancel := context.WithCancel(ctx)
		var followers sync.WaitGroup
		for _, c := range connections {
			followers.Go(func() { newFollower(r, c).followConnection(running) })
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		cancel()
		followers.Wait()
		r.clearStates()
	}
	return ctx.Err()
}
