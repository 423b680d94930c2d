package discovery

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
)

// Syncer syncs connections. See the package comment.
type Syncer struct {
	o       Options
	metrics *metrics
	// wake is buffered for one signal: the next sync may be due earlier.
	wake  chan struct{}
	slots chan struct{}

	mu struct {
		sync.Mutex
		connections map[string]*connection
		configured  map[string]bool
		// leading means that this process syncs.
		leading bool
		// orphansDone means that no repositories of removed connections remain.
		orphansDone bool
		// lostByReload means that a connection was removed while the process ran.
		lostByReload bool
	}
}

// New returns a Syncer without connections.
func New(o Options) (*Syncer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.ensureDefaults()
	s := &Syncer{o: o, wake: make(chan struct{}, 1), slots: make(chan struct{}, o.Concurrency)}
	s.mu.connections, s.mu.configured = map[string]*connection{}, map[string]bool{}
	s.metrics = newMetrics(o.Registerer, s)
	return s, nil
}

// newClient returns the HTTP client for the API of a connection.
func (s *Syncer) newClient(c Connection, waiting func(time.Time)) (*http.Client, error) {
	o, err := TransportOptions(&c)
	if err != nil {
		return nil, err
	}
	o.Dial, o.Timeout, o.Waiting = s.o.Dial, s.o.RequestTimeout, waiting
	o.Observe = func(result string) { s.metrics.requests.WithLabelValues(string(c.Kind), result).Inc() }
	return hostapi.NewTransport(o).Client(), nil
}

// TransportOptions returns options with the proxy and certificate authorities of a
// connection.
func TransportOptions(c *Connection) (o hostapi.Options, err error) {
	if c.Proxy != "" {
		if o.Proxy, err = url.Parse(c.Proxy); err != nil {
			return o, fmt.Errorf("connection %s: proxy is no URL", c.Name) // the error would contain a password
		}
	}
	if c.CA != "" {
		if o.RootCAs = x509.NewCertPool(); !o.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return o, fmt.Errorf("connection %s: caFile holds no certificate in PEM", c.Name)
		}
	}
	return o, nil
}

// openLister returns the Lister of a connection.
func (s *Syncer) openLister(c Connection, client *http.Client) (Lister, error) {
	open := s.o.Kinds[c.Kind]
	if open == nil {
		return nil, fmt.Errorf("connection %s: repositories of kind %q cannot be listed", c.Name, c.Kind)
	}
	return open(c, client)
}

func (s *Syncer) newConnection(c Connection) *connection {
	out := &connection{Connection: c, state: State{Name: c.Name, Kind: c.Kind, NextAt: s.o.Now()}}
	out.lister, out.invalid = s.openConnection(out, c)
	return out
}

// openConnection returns the Lister of c with the given settings.
func (s *Syncer) openConnection(c *connection, settings Connection) (Lister, error) {
	client, err := s.newClient(settings, func(until time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.state.WaitingUntil = until
	})
	if err != nil {
		return nil, err
	}
	return s.openLister(settings, client)
}

// renewCredentials rereads the credentials of c, so that a token replaced in its file is
// used from the next sync on. Only the sync of c calls it.
func (s *Syncer) renewCredentials(c *connection) {
	if s.o.Renew == nil {
		return
	}
	fresh, err := s.o.Renew(c.Name)
	switch {
	case err != nil:
		c.invalid = err
	case !c.sameTargets(&fresh), c.invalid == nil && c.sameSettings(&fresh): // a reload has replaced c, or nothing has changed
	default:
		c.lister, c.invalid = s.openConnection(c, fresh)
		s.mu.Lock()
		c.Connection = fresh
		s.mu.Unlock()
	}
}

func (c *connection) sameSettings(other *Connection) bool {
	return reflect.DeepEqual(&c.Connection, other)
}

// sameTargets compares the settings that select repositories, not the credentials.
func (c *connection) sameTargets(other *Connection) bool {
	return c.Kind == other.Kind && c.URL == other.URL && reflect.DeepEqual(c.Targets, other.Targets) && reflect.DeepEqual(c.Exclude, other.Exclude)
}

// Run syncs until ctx ends, while this process leads the group.
func (s *Syncer) Run(ctx context.Context) error {
	return eventlog.Lead(ctx, s.o.Log, s.o.Group, s.o.Logger, s.runLeader)
}

// runLeader syncs while this process leads the group.
func (s *Syncer) runLeader(ctx context.Context) error {
	s.setLeading(true)
	defer s.setLeading(false)
	var running sync.WaitGroup
	defer running.Wait()
	for {
		s.removeOrphans(ctx)
		next := s.startDue(ctx, &running)
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

func (s *Syncer) setLeading(leading bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.leading = leading
}

// maxIdle bounds the sleep of the schedule, because clocks may be changed.
const maxIdle = time.Minute

// startDue starts the syncs that are due and returns the time until the next one.
func (s *Syncer) startDue(ctx context.Context, running *sync.WaitGroup) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := s.o.Now(), maxIdle
	for _, c := range s.mu.connections {
		if c.state.Running || c.state.NextAt.IsZero() {
			continue
		}
		if due := c.state.NextAt.Sub(now); due > 0 {
			wait = min(wait, due)
			continue
		}
		select {
		case s.slots <- struct{}{}:
		default:
			continue // the end of a running sync wakes the schedule
		}
		sync, cancel := context.WithTimeout(ctx, maxSyncTime)
		c.cancel, c.requested, c.state.Running, c.state.StartedAt = cancel, false, true, now
		running.Go(func() {
			defer func() { <-s.slots; cancel(); s.wakeUp() }()
			s.syncConnection(sync, c)
		})
	}
	return wait
}
