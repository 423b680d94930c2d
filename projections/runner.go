package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Bounds of a Runner.
const (
	// queueRecords bounds the records of a partition that are queued in memory.
	queueRecords = 64
	// MaxGroup bounds the records that are published together. Publication costs about a
	// millisecond; doing it once per group keeps it from slowing down catch-up.
	MaxGroup = 64
	// DefaultAttempts bounds the attempts of a record that fails for an unclassified
	// reason.
	DefaultAttempts = 5
	// Waits between attempts grow from minWait to maxWait.
	minWait = 50 * time.Millisecond
	maxWait = 10 * time.Second
	// lagInterval is the interval at which the high-water marks of the log are read.
	lagInterval = time.Second
)

// Options configure a Runner.
type Options struct {
	Store   *store.Store
	Log     Tailer
	Decoder *Decoder
	// Projections are applied in this order.
	Projections []Projection
	// Holds reports whether the store holds the rows of a projection for a partition; nil
	// means that it holds all rows. A projection applies no record of a partition that it
	// does not hold, and checkpoints advance as if it did. The caller must not change the
	// result for a store that has rows.
	Holds func(p Projection, partition int32) bool
	// Ahead holds, by the name of a projection and by partition, the offset of the next record
	// that the projection has yet to apply, where it is above the checkpoint. Optional.
	Ahead map[string]map[int32]event.Offset
	// Topic is the topic to follow. Default: event.TopicEvents.
	Topic event.Topic
	// DeadLetters receives the records that cannot be applied. If nil, they are counted,
	// logged and dropped, as in a rebuild, whose dead letters exist already.
	DeadLetters Appender
	// Until ends the partitions at a point in time: the Runner then applies no more
	// records, and Run waits for ctx. If nil, the Runner follows the log.
	Until *Until
	// FromStart applies the log from its first record and ignores the checkpoints. The
	// caller must have removed the rows of the projections.
	FromStart bool
	// Attempts bounds the attempts of a record that fails for an unknown reason.
	// Default: DefaultAttempts.
	Attempts int
	// Logger is optional.
	Logger *slog.Logger
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
	// Searchable, if set, is called for each live revision once readers see it, on the
	// goroutine of its partition.
	Searchable func(Searchable)
	// Tracer continues the traces of pushes; nil traces nothing.
	Tracer *tracing.Tracer
	// Now is the clock of the metrics; no row depends on it. Default: time.Now.
	Now func() time.Time
}

func (o *Options) ensureDefaults() {
	if o.Topic == "" {
		o.Topic = event.TopicEvents
	}
	if o.Holds == nil {
		o.Holds = func(Projection, int32) bool { return true }
	}
	if o.Attempts <= 0 {
		o.Attempts = DefaultAttempts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Searchable describes a revision that readers see.
type Searchable struct {
	Repository code.RepositoryID
	Ref        code.Ref
	Commit     code.CommitID // empty if the ref was deleted
	// Cause is the position of the push, At that of the record that answers it.
	Cause, At event.Position
	// Waited is the time since Quarry received the push.
	Waited time.Duration
	// TraceID is that of the push; empty if its trace is not sampled.
	TraceID string
}

// Validate returns an error if a required option is missing.
func (o Options) Validate() error {
	if o.Store == nil || o.Log == nil || o.Decoder == nil || len(o.Projections) == 0 {
		return errors.New("projections: want a store, a log, a decoder and at least one projection")
	}
	return nil
}

// Runner applies the log to the projections of one store.
type Runner struct {
	o        Options
	metrics  *metrics
	caughtUp chan struct{}

	mu struct {
		sync.Mutex
		// partitions is nil until Run has read their number from the log.
		partitions []*partition
		published  []event.Offset
		behind     int
		// changed is closed, and replaced, when published changes.
		changed chan struct{}
		// readings are the readings of the end of the log that readers may not see yet, the
		// oldest first, and coveredAt is the time of the last one that they see.
		readings  []endReading
		coveredAt time.Time
	}
}

// New returns a Runner, or ErrSchema if the store must be rebuilt.
func New(o Options) (*Runner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.ensureDefaults()
	if err := CheckSchema(o.Store, o.Projections); err != nil {
		return nil, err
	}
	r := &Runner{o: o, caughtUp: make(chan struct{})}
	r.mu.changed = make(chan struct{})
	r.metrics = newMetrics(o.Registerer)
	return r, nil
}

// Run follows the log until ctx ends and then returns nil, or until the store or the log
// fails. It must be called only once.
func (r *Runner) Run(ctx context.Context) error {
	defer r.metrics.group.Close()
	partitions, err := r.start(ctx)
	if err != nil {
		return ignoreEnd(ctx, fmt.Errorf("projections: %w", err))
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, p := range partitions {
		g.Go(func() error { return p.run(gctx) })
	}
	g.Go(func() error { return r.watchLag(gctx) })
	return ignoreEnd(ctx, g.Wait())
}

// ignoreEnd drops the error of a canceled run.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// start reads the positions of the partitions, in the log and in the store.
func (r *Runner) start(ctx context.Context) ([]*partition, error) {
	n, err := r.o.Log.Partitions(ctx, r.o.Topic)
	if err != nil {
		return nil, err
	}
	high, err := r.readEnds(ctx)
	if err != nil {
		return nil, err
	}
	if len(high) != int(n) {
		return nil, fmt.Errorf("%s has %d partitions and %d high-water marks", r.o.Topic, n, len(high))
	}
	partitions := make([]*partition, n)
	published := make([]event.Offset, n)
	behind := 0
	for i := range partitions {
		p := &partition{r: r, number: int32(i), target: high[i], rowChanges: make(chan rowChange)}
		for _, projection := range r.o.Projections {
			if r.o.Holds(projection, p.number) {
				p.held = append(p.held, projection)
				p.ahead = append(p.ahead, r.o.Ahead[projection.Name()][p.number])
			}
		}
		if err := p.loadPosition(); err != nil {
			return nil, err
		}
		partitions[i], published[i] = p, p.next
		if p.next < p.target {
			behind++
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.partitions, r.mu.published, r.mu.behind = partitions, published, behind
	r.announceLocked()
	return partitions, nil
}

// announceLocked wakes the goroutines that wait for progress. r.mu must be held.
func (r *Runner) announceLocked() {
	close(r.mu.changed)
	r.mu.changed = make(chan struct{})
	if r.mu.behind == 0 {
		select {
		case <-r.caughtUp:
		default:
			close(r.caughtUp)
			r.metrics.caughtUp.Set(1)
		}
	}
}

// advancePublished records that readers of p see the records below next.
func (r *Runner) advancePublished(p *partition, next event.Offset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.mu.published[p.number]
	r.mu.published[p.number] = next
	if before < p.target && next >= p.target {
		r.mu.behind--
	}
	r.announceLocked()
}

// finishPartition records that p has reached the point at which it ends.
func (r *Runner) finishPartition(p *partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.published[p.number] < p.target {
		p.target = r.mu.published[p.number]
		r.mu.behind--
	}
	r.announceLocked()
}

// Progress returns how many of the records that were in the log when Run began are
// published, and their total, counted in offsets; 0 and 0 before Run.
func (r *Runner) Progress() (done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.mu.partitions {
		total += int64(p.target)
		done += int64(min(r.mu.published[i], p.target))
	}
	return done, total
}

// CaughtUp returns a channel that is closed once every record that was in the log when
// Run began, up to Options.Until, is published. The server is ready then.
func (r *Runner) CaughtUp() <-chan struct{} { return r.caughtUp }

// WaitFor blocks until the records at the given positions are published or ctx ends. It
// returns an error for a partition that the log does not have.
func (r *Runner) WaitFor(ctx context.Context, positions ...event.Position) error {
	for {
		done, changed, err := r.hasReached(positions)
		if err != nil || done {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("projections: wait for %d positions: %w", len(positions), ctx.Err())
		}
	}
}

func (r *Runner) hasReached(positions []event.Position) (done bool, changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.published == nil {
		return false, r.mu.changed, nil
	}
	for _, p := range positions {
		if p.Partition < 0 || int(p.Partition) >= len(r.mu.published) {
			return false, nil, fmt.Errorf("projections: wait for %s: the log has %d partitions", p, len(r.mu.published))
		}
		if p.Topic == r.o.Topic && r.mu.published[p.Partition] <= p.Offset {
			return false, r.mu.changed, nil
		}
	}
	return true, nil, nil
}

// Do changes rows of a partition between two records, in one batch that does not move the
// checkpoint, and publishes it. It waits until the partition is being applied.
func (r *Runner) Do(ctx context.Context, number int32, change func(*store.Batch) error) error {
	for {
		r.mu.Lock()
		partitions, changed := r.mu.partitions, r.mu.changed
		r.mu.Unlock()
		if partitions == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if number < 0 || int(number) >= len(partitions) {
			return fmt.Errorf("projections: the log has no partition %d", number)
		}
		c := rowChange{change, make(chan error, 1)}
		select {
		case partitions[number].rowChanges <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case err := <-c.done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Checkpoints returns the positions that readers see in each partition; nil before Run.
func (r *Runner) Checkpoints() []Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	checkpoints := make([]Checkpoint, len(r.mu.published))
	for i, next := range r.mu.published {
		checkpoints[i] = Checkpoint{int32(i), next}
	}
	return checkpoints
}

// Lag compares the log with the projections and returns the lag of each partition.
func (r *Runner) Lag(ctx context.Context) ([]Lag, error) {
	high, err := r.readEnds(ctx)
	if err != nil {
		return nil, fmt.Errorf("projections: lag: %w", err)
	}
	now := r.o.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	lags := make([]Lag, min(len(high), len(r.mu.published)))
	for i := range lags {
		lags[i] = Lag{
			Partition: int32(i),
			Records:   max(0, int64(high[i]-r.mu.published[i])),
		}
		p := r.mu.partitions[i]
		lags[i].Seconds = max(p.oldestAge(now), p.stalledSeconds(r.mu.published[i], lags[i].Records, now))
	}
	return lags, nil
}

// watchLag updates the lag gauges periodically.
func (r *Runner) watchLag(ctx context.Context) error {
	tick := time.NewTicker(lagInterval)
	defer tick.Stop()
	for {
		// If the log does not respond, the readers report it, and the gauges keep their
		// values.
		if lags, err := r.Lag(ctx); err == nil {
			r.metrics.setLag(lags)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
