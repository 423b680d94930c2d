package accountrows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/numbers"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// errAccountsCatchingUp is the reason why a server that has just started is not ready.
var errAccountsCatchingUp = errors.New("the accounts are catching up with the log")

// Rows stores accounts, numbers and audit log in a separate store, which a replay of the
// index does not touch. Each topic has its own Runner.
type Rows struct {
	o         Options
	Log       Log
	Store     *store.Store
	Directory *accounts.Directory
	Numbers   *numbers.Numbers
	Audit     []*auditrows.Projection // for both topics
	runners   []*topicRunner
	metrics   *rowsMetrics
	// damaged receives the first damaged file that a read of the rows finds.
	damaged chan error
	// verifyMutex is held by a verification, which reads the log from its beginning, or
	// by a trim of the log.
	verifyMutex sync.Mutex
}

// topicRunner applies one topic.
type topicRunner struct {
	topic  event.Topic
	runner *projections.Runner
}

// Log is the part of the event log that the rows follow and append to.
type Log interface {
	projections.Tailer
	projections.Appender
}

// Options are the options of Open. All except DiskFull are required.
type Options struct {
	// Directory is the directory of the rows.
	Directory string
	// Retention is how long the entries of the audit log are kept; 0 keeps them all.
	Retention time.Duration
	Log       Log
	Damage    *repair.Metrics
	// DiskFull is called when a store cannot write because the disk is full.
	DiskFull   func()
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Open opens the rows. Rows that are damaged, or that another version of the program
// wrote, are dropped and rebuilt from the log; there are few of them.
func Open(o Options) (*Rows, error) {
	err := projections.CheckMark(o.Directory)
	if err == nil {
		var a *Rows
		a, err = openAccountStore(o)
		if !errors.Is(err, projections.ErrSchema) && !errors.Is(err, store.ErrFormat) && !repair.IsDamage(err) {
			return a, err
		}
	}
	if repair.IsDamage(err) {
		o.Damage.CountRebuilt(repair.ScrubbedAccounts)
		o.Logger.Error("account rows are damaged; removing them and rebuilding them from the log", "directory", o.Directory, "error", err)
	} else {
		o.Logger.Info("rebuilding the accounts and the audit log from the log", "reason", err)
	}
	if err := store.Remove(o.Directory); err != nil {
		return nil, fmt.Errorf("drop the rows of the accounts: %w", err)
	}
	return openAccountStore(o)
}

func openAccountStore(o Options) (_ *Rows, err error) {
	// Rows contain password hashes, so only the server's user may read them.
	if err := os.MkdirAll(o.Directory, 0o700); err != nil {
		return nil, fmt.Errorf("open the rows of the accounts: %w", err)
	}
	a := &Rows{o: o, Log: o.Log, damaged: make(chan error, 1)}
	a.Store, err = store.Open(o.Directory, store.Options{
		CacheBytes: store.MinCacheBytes, DiskFull: o.DiskFull, Logger: o.Logger,
		Remedy:   repair.RemedyStart,
		OnDamage: a.NoteDamage,
	})
	if err != nil {
		return nil, fmt.Errorf("open the rows of the accounts: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := errors.Join(a.followAccounts(), a.followAudit()); err != nil {
		return nil, err
	}
	a.metrics = newMetrics(o.Registerer)
	return a, nil
}

// NoteDamage makes Run return, so that the next start rebuilds the rows.
func (a *Rows) NoteDamage(d *store.DamageError) {
	select {
	case a.damaged <- d:
	default: // one is enough to stop the process
	}
}

// followAccounts opens the projections of event.TopicAccounts. Projections that run after
// the directory can get the outcome of the record from it.
func (a *Rows) followAccounts() (err error) {
	decoder := projections.NewDecoder(nil)
	a.Directory, err = accounts.Open(accounts.Options{Store: a.Store, Decoder: decoder, Registerer: a.o.Registerer})
	if err != nil {
		return err
	}
	entries, err := a.auditRows(event.TopicAccounts, decoder)
	if err != nil {
		return err
	}
	a.Numbers, err = numbers.Open(numbers.Options{Store: a.Store, Decoder: decoder, Registerer: a.o.Registerer})
	if err != nil {
		return err
	}
	runner, err := a.followTopic(event.TopicAccounts, decoder, a.Directory, entries, a.Numbers)
	if err != nil {
		return err
	}
	a.Directory.Follow(runner.WaitFor)
	return nil
}

// followTopic adds a runner that applies a topic to projections, in the given order.
func (a *Rows) followTopic(topic event.Topic, decoder *projections.Decoder, of ...projections.Projection) (*projections.Runner, error) {
	runner, err := projections.New(projections.Options{
		Store: a.Store, Log: a.Log, Decoder: decoder, Projections: of, Topic: topic,
		DeadLetters: a.Log, Now: a.o.Now, Logger: a.o.Logger.With("topic", string(topic)),
	})
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", topic, err)
	}
	a.runners = append(a.runners, &topicRunner{topic, runner})
	return runner, nil
}

// accountsProgress is the interval at which a long catch-up at the start logs its
// progress.
const accountsProgress = 5 * time.Second

// Run applies the topics until ctx ends.
func (a *Rows) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case err := <-a.damaged:
			return err
		case <-gctx.Done():
			return nil
		}
	})
	for _, t := range a.runners {
		g.Go(func() error { return a.explainAheadOfLog(t.runner.Run(gctx)) })
	}
	g.Go(func() error { return clock.RunEvery(gctx, time.Second, a.updateLagMetrics) })
	g.Go(func() error {
		return clock.RunEvery(gctx, accountsProgress, func(context.Context) { a.logProgress() })
	})
	if log, ok := a.Log.(Trimmer); ok {
		g.Go(func() error {
			a.TrimAudit(gctx, log)
			return clock.RunEvery(gctx, trimEvery, func(ctx context.Context) { a.TrimAudit(ctx, log) })
		})
	}
	return repair.MarkDamaged(a.Store, g.Wait())
}

// explainAheadOfLog adds a remedy to the error that rows are ahead of the log.
func (a *Rows) explainAheadOfLog(err error) error {
	if errors.Is(err, event.ErrOffsetOutOfRange) && !errors.Is(err, projections.ErrBeginningLost) {
		return fmt.Errorf("%w: if the log is an older copy, or another one, remove %s; it will be rebuilt", err, a.o.Directory)
	}
	return err
}

// updateLagMetrics keeps the lag gauges current. If the log does not answer, it leaves
// them unchanged.
func (a *Rows) updateLagMetrics(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, t := range a.runners {
		lags, err := t.runner.Lag(ctx)
		if err != nil || len(lags) == 0 {
			continue
		}
		a.metrics.records.WithLabelValues(string(t.topic)).Set(float64(lags[0].Records))
		a.metrics.seconds.WithLabelValues(string(t.topic)).Set(lags[0].Seconds)
	}
}

func (a *Rows) logProgress() {
	for _, t := range a.runners {
		if done, total := t.runner.Progress(); done < total {
			a.o.Logger.Info("reading the accounts", "topic", string(t.topic), "records", done, "of", total)
		}
	}
}

// CheckReady returns nil once the accounts have applied everything that the log held at
// the start, so that revoked credentials are no longer accepted. The audit log may still
// lag.
func (a *Rows) CheckReady() error {
	select {
	case <-a.AccountsRunner().CaughtUp():
		return nil
	default:
		return errAccountsCatchingUp
	}
}

// AccountsRunner returns the runner of event.TopicAccounts, which is the first one.
func (a *Rows) AccountsRunner() *projections.Runner { return a.runners[0].runner }

// Close closes the rows. Run must have returned.
func (a *Rows) Close() error {
	if a.Directory != nil {
		a.Directory.Close()
	}
	if a.Numbers != nil {
		a.Numbers.Close()
	}
	for _, p := range a.Audit {
		p.Close()
	}
	if a.metrics != nil {
		a.o.Registerer.Unregister(a.metrics.records)
		a.o.Registerer.Unregister(a.metrics.seconds)
	}
	return a.Store.Close()
}
