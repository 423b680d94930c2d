package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of a HintReader.
const (
	// maxHints bounds the hints that wait. More are dropped; the next sync makes up for
	// them.
	maxHints = 10_000
	// maxHintReadings bounds the readings at the same time. A connection has one.
	maxHintReadings = 8
	// In hintWindow, maxRepositoryHints readings of a repository begin immediately, and
	// maxConnectionHints readings of a connection; more begin at its end. Repeated
	// deliveries must not use up the host's rate limit.
	hintWindow         = 10 * time.Minute
	maxRepositoryHints = 10
	maxConnectionHints = 300
	// minHintRetry is the time until a reading that failed is repeated. It doubles with
	// each failure; after maxHintAttempts, the hint is dropped.
	minHintRetry    = 2 * time.Second
	maxHintAttempts = 10
	// maxHintTime bounds one reading, including waits for rate limits.
	maxHintTime = 90 * time.Minute
)

// Hint says that a repository may have changed at its host.
type Hint struct {
	// Connection is the connection to read with: that of the repository, or, if it has
	// none, that of the delivery.
	Connection string
	// Repository is the repository as the delivery describes it, unconfirmed.
	Repository code.Repository
	// Identity is the host's own identity of the repository.
	Identity string
	// Removed means that the delivery says that the repository was removed.
	Removed bool
	// DeliveryID is the ID of the delivery.
	DeliveryID string
}

// Errors of HintReader.Confirm.
var (
	// ErrUnconfirmed means that the host cannot say whether a repository is as described:
	// its kind has no API, or the credentials do not suffice.
	ErrUnconfirmed = errors.New("the host does not confirm the repository")
	// ErrHostLacks means that the host does not have the repository, or does not show it
	// to the connection.
	ErrHostLacks = errors.New("the host does not have the repository, or does not show it to the connection")
)

// HintOptions configures a HintReader. Renew and Log are required.
type HintOptions struct {
	// Kinds maps each kind of host to its Open.
	Kinds map[code.HostKind]Open
	Log   Appender
	// Catalog is nil in a process that only calls Confirm.
	Catalog Catalog
	// Renew returns the settings of a connection with the current credentials.
	Renew func(name string) (Connection, error)
	// Dial opens connections to hosts and checks their addresses.
	Dial           func(ctx context.Context, network, address string) (net.Conn, error)
	RequestTimeout time.Duration
	// RequestSync requests a sync of a connection; nil if there is none.
	RequestSync func(connection string)
	// Audit records a change in the audit log; nil if there is none.
	Audit func(ctx context.Context, r audit.Record)

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// HintReader reads the repositories that deliveries name from their hosts, and applies
// what it reads by the rules of a sync. See the package comment.
type HintReader struct {
	o       HintOptions
	metrics *hintMetrics
	// wake is buffered for one signal: a hint may be due.
	wake chan struct{}

	mu struct {
		sync.Mutex
		waiting map[hintKey]*waitingHint
		// running are the connections with a reading in progress.
		running map[string]bool
		counts  map[hintKey]*hintCount
		readers map[string]*hostReader
	}
}

// hintKey identifies the repository of a hint; without a repository, all of a connection.
type hintKey struct {
	connection string
	repository code.RepositoryID
}

func (h *Hint) key() hintKey { return hintKey{h.Connection, h.Repository.ID} }

// waitingHint is a hint and the state of its readings.
type waitingHint struct {
	Hint
	next     time.Time
	failures int
	// again means that another hint of the repository arrived during the reading.
	again bool
}

// hintCount counts readings in a hintWindow.
type hintCount struct {
	begun time.Time
	n     int
	// last is the result of the last reading by Confirm.
	last error
}

// hostReader is an open RepositoryReader and its settings.
type hostReader struct {
	settings Connection
	reader   RepositoryReader // nil if the kind of host has no API
}

// NewHintReader returns a HintReader. Run reads.
func NewHintReader(o HintOptions) (*HintReader, error) {
	if o.Log == nil || o.Renew == nil {
		return nil, errors.New("discovery: want a log and settings")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.RequestSync == nil {
		o.RequestSync = func(string) {}
	}
	if o.Audit == nil {
		o.Audit = func(context.Context, audit.Record) {}
	}
	r := &HintReader{o: o, wake: make(chan struct{}, 1)}
	r.mu.waiting, r.mu.running = map[hintKey]*waitingHint{}, map[string]bool{}
	r.mu.counts, r.mu.readers = map[hintKey]*hintCount{}, map[string]*hostReader{}
	r.metrics = newHintMetrics(o.Registerer, r)
	return r, nil
}

// Add queues a hint. Several hints of a repository cause one reading. It returns false if
// the hint was dropped, because too many wait.
func (r *HintReader) Add(h Hint) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, now := h.key(), r.o.Now()
	if w := r.mu.waiting[key]; w != nil {
		// A removal is kept until the host has answered.
		h.Removed = h.Removed || w.Removed
		w.Hint, w.again, w.failures = h, true, 0
		if due := r.nextLocked(key, now); due.Before(w.next) {
			w.next = due
		}
		r.signalLocked(w, now)
	} else {
		if len(r.mu.waiting) >= maxHints {
			r.metrics.results.WithLabelValues(hintDropped).Inc()
			return false
		}
		w := &waitingHint{Hint: h, next: r.nextLocked(key, now)}
		r.mu.waiting[key] = w
		r.signalLocked(w, now)
	}
	return true
}

// signalLocked wakes Run if a hint can be followed now. Run notices others in time, so
// that many deliveries do not keep it busy.
func (r *HintReader) signalLocked(w *waitingHint, now time.Time) {
	if !w.next.After(now) && !r.mu.running[w.Connection] {
		r.signal()
	}
}

func (r *HintReader) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // a signal is pending
	}
}

// Pending returns the number of hints that wait or are being followed.
func (r *HintReader) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.waiting)
}

// nextLocked returns the time at which the next reading of a repository may begin.
func (r *HintReader) nextLocked(key hintKey, now time.Time) time.Time {
	next := now
	for k, most := range map[hintKey]int{key: maxRepositoryHints, {connection: key.connection}: maxConnectionHints} {
		if c := r.mu.counts[k]; c != nil && c.n >= most && !now.Before(c.begun) {
			if end := c.begun.Add(hintWindow); end.After(next) {
				next = end
			}
		}
	}
	return next
}

// countReadingLocked counts a reading that begins now, and forgets old windows.
func (r *HintReader) countReadingLocked(key hintKey, now time.Time) {
	if len(r.mu.counts) > 2*maxHints {
		maps.DeleteFunc(r.mu.counts, func(_ hintKey, c *hintCount) bool { return !now.Before(c.begun.Add(hintWindow)) })
	}
	for _, k := range []hintKey{key, {connection: key.connection}} {
		c := r.mu.counts[k]
		if c == nil || now.Before(c.begun) || !now.Before(c.begun.Add(hintWindow)) {
			c = &hintCount{begun: now}
			r.mu.counts[k] = c
		}
		c.n++
	}
}

// Run follows hints until ctx ends.
func (r *HintReader) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		timer := time.NewTimer(r.startDue(ctx, &running))
		select {
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// startDue starts the readings that are due and returns the time until the next one.
func (r *HintReader) startDue(ctx context.Context, running *sync.WaitGroup) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, wait := r.o.Now(), maxIdle
	due := map[string]*waitingHint{} // the first of each connection
	for _, w := range r.mu.waiting {
		if r.mu.running[w.Connection] {
			continue // the end of the reading wakes Run
		}
		if !w.next.After(now) {
			w.next = r.nextLocked(w.key(), now)
		}
		if in := w.next.Sub(now); in > 0 {
			wait = min(wait, in)
		} else if first := due[w.Connection]; first == nil || w.next.Before(first.next) {
			due[w.Connection] = w
		}
	}
	for _, w := range due {
		if len(r.mu.running) >= maxHintReadings {
			break // as above
		}
		r.countReadingLocked(w.key(), now)
		r.mu.running[w.Connection] = true
		w.again = false
		h := w.Hint
		running.Go(func() {
			reading, cancel := context.WithTimeout(ctx, maxHintTime)
			defer cancel()
			r.finishReading(ctx, h, r.followHint(reading, h))
		})
	}
	return wait
}

// finishReading removes a hint that was followed, and schedules a failed one again.
func (r *HintReader) finishReading(ctx context.Context, h Hint, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.signal()
	delete(r.mu.running, h.Connection)
	w := r.mu.waiting[h.key()]
	switch {
	case ctx.Err() != nil:
	case err == nil && w.again:
		w.next = r.o.Now()
	case err == nil:
		delete(r.mu.waiting, h.key())
	case isFinal(err) && !w.again:
		r.o.Logger.Info("the host does not confirm a delivery", "connection", h.Connection, "repository", h.Repository.Name, "delivery_id", h.DeliveryID, "error", err)
		delete(r.mu.waiting, h.key())
	case w.failures+1 >= maxHintAttempts:
		r.metrics.results.WithLabelValues(hintGivenUp).Inc()
		r.o.Logger.Warn("giving up a hint; the next sync makes up for it", "connection", h.Connection, "repository", h.Repository.Name, "delivery_id", h.DeliveryID, "error", err)
		delete(r.mu.waiting, h.key())
	default:
		w.next = r.o.Now().Add(minHintRetry << w.failures)
		w.failures++
		r.o.Logger.Debug("reading a repository failed", "connection", h.Connection, "repository", h.Repository.Name, "error", err)
	}
}

// isFinal reports whether it is of no use to repeat a reading.
func isFinal(err error) bool {
	return errors.Is(err, ErrUnconfirmed) || errors.Is(err, ErrHostLacks) || errors.Is(err, errNoHintConnection)
}

// errNoHintConnection means that the settings no longer have the connection of a hint.
var errNoHintConnection = errors.New("the settings have no such connection")

// openReader returns the RepositoryReader of a connection with the current credentials.
func (r *HintReader) openReader(name string) (*hostReader, error) {
	settings, err := r.o.Renew(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHintConnection, err)
	}
	r.mu.Lock()
	opened := r.mu.readers[name]
	r.mu.Unlock()
	if opened != nil && reflect.DeepEqual(opened.settings, settings) {
		return opened, nil
	}
	o, err := TransportOptions(&settings)
	if err != nil {
		return nil, err
	}
	o.Dial, o.Timeout = r.o.Dial, r.o.RequestTimeout
	next := &hostReader{settings: settings}
	if next.reader, err = r.openKind(settings, hostapi.NewTransport(o).Client()); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.readers[name] = next
	return next, nil
}

func (r *HintReader) openKind(c Connection, client *http.Client) (RepositoryReader, error) {
	open := r.o.Kinds[c.Kind]
	if open == nil {
		return nil, nil
	}
	lister, err := open(c, client)
	if err != nil {
		return nil, err
	}
	reader, _ := lister.(RepositoryReader)
	return reader, nil
}

// hasCredentials reports whether requests of a connection are authenticated.
func (c *Connection) hasCredentials() bool { return cmp.Or(c.Token, c.App.PrivateKey) != "" }
