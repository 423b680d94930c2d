package deadletters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// Intervals and timeouts of a Follower.
const (
	// refillEvery is the interval at which dropped dead letters are loaded again if there
	// is room.
	refillEvery = 10 * time.Second
	// retryAfter is the pause after a failure of the log.
	retryAfter = 5 * time.Second
	// readTimeout bounds the time to read one record, which may no longer exist.
	readTimeout = 5 * time.Second
)

// Options configure a Follower.
type Options struct {
	Log projections.Tailer
	// Now is the clock of the metrics. Default: time.Now.
	Now func() time.Time
	// Logger is optional.
	Logger *slog.Logger
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Follower tracks the open dead letters.
type Follower struct {
	o           Options
	openLetters *openLetters
	metrics     *metrics
}

// New returns a Follower that is empty until Run. The caller must close it.
func New(o Options) (*Follower, error) {
	if o.Log == nil {
		return nil, errors.New("deadletters: want a log")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Follower{o: o, openLetters: newOpenLetters()}
	f.metrics = newMetrics(o.Registerer, f)
	return f, nil
}

// Close unregisters the metrics.
func (f *Follower) Close() { f.metrics.group.Close() }

// Run follows the topic until ctx ends. It retries after failures of the log.
func (f *Follower) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := f.followTopic(ctx)
		if ctx.Err() != nil {
			break
		}
		f.o.Logger.Warn("the dead letters cannot be read; trying again", "error", err)
		_ = clock.Sleep(ctx, retryAfter) // the loop checks ctx
	}
	return nil
}

// followTopic reads every partition from its beginning. Records that it has already read
// have no effect.
func (f *Follower) followTopic(ctx context.Context) error {
	n, err := f.o.Log.Partitions(ctx, event.TopicDeadLetters)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	for partition := range n {
		g.Go(func() error { return f.followPartition(gctx, partition) })
	}
	g.Go(func() error { return f.refillLoop(gctx) })
	return g.Wait()
}

func (f *Follower) followPartition(ctx context.Context, partition int32) (err error) {
	reader, err := f.o.Log.Tail(ctx, event.TopicDeadLetters, partition, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	for {
		rec, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		f.openLetters.takeRecord(rec)
	}
}

// refillLoop loads dropped dead letters again when newer ones are resolved.
func (f *Follower) refillLoop(ctx context.Context) error {
	tick := time.NewTicker(refillEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := f.refillHeld(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *Follower) refillHeld(ctx context.Context) error {
	short := f.openLetters.partitionsToRefill()
	if len(short) == 0 {
		return nil
	}
	high, err := f.o.Log.HighWater(ctx, event.TopicDeadLetters)
	if err != nil {
		return err
	}
	for _, partition := range short {
		if int(partition) >= len(high) {
			continue
		}
		seen := new(offsetSet)
		for rec, err := range event.ReadRange(ctx, f.o.Log, event.TopicDeadLetters, partition, 0, high[partition]) {
			if err != nil {
				return err
			}
			seen.add(rec.Position.Offset)
			f.openLetters.refillRecord(rec)
		}
		f.openLetters.expireLetters(partition, high[partition], seen)
	}
	return nil
}

// isSelected reports whether a query selects a dead letter.
func isSelected(f ledger.DeadLetterQuery, l *ledger.DeadLetter) bool {
	return (f.Stage == "" || f.Stage == l.Stage) && (f.Type == "" || f.Type == l.Type) && (f.Repository == 0 || f.Repository == l.Repository)
}

// List returns the held dead letters that the query selects, newest first, and the total
// number of open ones.
func (f *Follower) List(q ledger.DeadLetterQuery) (letters []ledger.DeadLetter, open int) {
	for _, l := range f.openLetters.listLetters() {
		if isSelected(q, &l) {
			letters = append(letters, l)
		}
	}
	for _, n := range f.openLetters.openCounts() {
		open += n
	}
	return letters, open
}

// OfPush returns the dead letter of a push that the workers gave up, or nil if none is
// held.
func (f *Follower) OfPush(at event.Position) *ledger.DeadLetter {
	return f.openLetters.letterOfRecord(at, StageWorker)
}

// Read returns an open dead letter from the log, or code.ErrNotFound if there is none at
// that position or it is resolved.
func (f *Follower) Read(ctx context.Context, at event.Position) (event.Record, error) {
	at.Topic = event.TopicDeadLetters
	if !f.openLetters.isOpen(at) {
		return event.Record{}, fmt.Errorf("dead letter %d-%d is not open: %w", at.Partition, at.Offset, code.ErrNotFound)
	}
	rec, found, err := readOne(ctx, f.o.Log, at)
	if err != nil {
		return rec, err
	}
	if !found {
		return rec, fmt.Errorf("dead letter %d-%d is no longer kept by the log: %w", at.Partition, at.Offset, code.ErrNotFound)
	}
	return rec, nil
}

// Describe returns the description of a dead letter that was read. Copies is set only if
// the dead letter is held.
func (f *Follower) Describe(rec event.Record) *ledger.DeadLetter {
	if l := f.openLetters.letterAt(rec.Position); l != nil {
		return l
	}
	return newDeadLetter(rec)
}

// readOne reads one record.
func readOne(ctx context.Context, log projections.Tailer, at event.Position) (rec event.Record, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	high, err := log.HighWater(ctx, at.Topic)
	if err != nil || int(at.Partition) >= len(high) || at.Offset >= high[at.Partition] {
		return rec, false, err
	}
	for rec, err := range event.ReadRange(ctx, log, at.Topic, at.Partition, at.Offset, at.Offset+1) {
		return rec, err == nil, err
	}
	return rec, false, nil
}
