package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/numbers"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A projection implements what the Service reads, and knows nothing of it.
var _ auth.Directory = (*accounts.Directory)(nil)

// errAccountsCatchingUp is why a server that has just begun is not ready.
var errAccountsCatchingUp = errors.New("the accounts are catching up with the log")

// accountRows are the rows of accounts, numbers and audit log: a store of their own,
// which a replay of the index leaves alone, with a Runner for each topic.
type accountRows struct {
	o         Options
	log       eventlog.Log
	store     *store.Store
	directory *accounts.Directory
	numbers   *numbers.Numbers
	audit     []*auditrows.Projection // of both topics
	runners   []*topicRunner
	metrics   *accountMetrics
	// damaged takes the first damaged file that is met while rows are read.
	damaged chan error
	// reading is held by the one verification, or by what trims the log: a verification
	// reads the log from its beginning.
	verifyMutex sync.Mutex
}

// topicRunner applies one topic.
type topicRunner struct {
	topic  event.Topic
	runner *projections.Runner
}

// openAccountRows opens the rows. Those that are damaged, or that another version of the
// program wrote, are dropped, and read from the log again: they are few.
func openAccountRows(o Options, log eventlog.Log, damage *damageMetrics) (*accountRows, error) {
	err := projections.CheckMark(o.Config.AccountsDir())
	if err == nil {
		var a *accountRows
		a, err = openAccountStore(o, log)
		if !errors.Is(err, projections.ErrSchema) && !errors.Is(err, store.ErrFormat) && !isDamage(err) {
			return a, err
		}
	}
	if isDamage(err) {
		damage.rebuilt.WithLabelValues(scrubbedAccounts).Inc()
		o.Logger.Error("the rows of the accounts are damaged; they are removed and rebuilt from the log", "directory", o.Config.AccountsDir(), "error", err)
	} else {
		o.Logger.Info("reading the accounts and the audit log again from the log", "reason", err)
	}
	if err := store.Remove(o.Config.AccountsDir()); err != nil {
		return nil, fmt.Errorf("drop the rows of the accounts: %w", err)
	}
	return openAccountStore(o, log)
}

func openAccountStore(o Options, log eventlog.Log) (_ *accountRows, err error) {
	// Rows contain hashes of passwords: only the server's user may read them.
	if err := os.MkdirAll(o.Config.AccountsDir(), 0o700); err != nil {
		return nil, fmt.Errorf("open the rows of the accounts: %w", err)
	}
	a := &accountRows{o: o, log: log, damaged: make(chan error, 1)}
	a.store, err = store.Open(o.Config.AccountsDir(), store.Options{
		CacheBytes: store.MinCacheBytes, DiskFull: o.diskFull, Logger: o.Logger,
		Remedy: remedyStart,
		OnDamage: func(d *store.DamageError) {
			select {
			case a.damaged <- d:
			default: // one is enough to stop the process
			}
		},
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
	a.metrics = newAccountMetrics(o.Registerer)
	return a, nil
}

// followAccounts opens the projections of event.TopicAccounts. A projection that is
// applied after the directory may get the outcome of the record from it.
func (a *accountRows) followAccounts() (err error) {
	decoder := projections.NewDecoder(nil)
	a.directory, err = accounts.Open(accounts.Options{Store: a.store, Decoder: decoder, Registerer: a.o.Registerer})
	if err != nil {
		return err
	}
	entries, err := a.auditRows(event.TopicAccounts, decoder)
	if err != nil {
		return err
	}
	a.numbers, err = numbers.Open(numbers.Options{Store: a.store, Decoder: decoder, Registerer: a.o.Registerer})
	if err != nil {
		return err
	}
	runner, err := a.followTopic(event.TopicAccounts, decoder, a.directory, entries, a.numbers)
	if err != nil {
		return err
	}
	a.directory.Follow(runner.WaitFor)
	return nil
}

// followTopic has projections applied to a topic; they are applied in this order.
func (a *accountRows) followTopic(topic event.Topic, decoder *projections.Decoder, of ...projections.Projection) (*projections.Runner, error) {
	runner, err := projections.New(projections.Options{
		Store: a.store, Log: tailer{a.log}, Decoder: decoder, Projections: of, Topic: topic,
		DeadLetters: a.log, Now: boot.Now, Logger: a.o.Logger.With("topic", string(topic)),
	})
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", topic, err)
	}
	a.runners = append(a.runners, &topicRunner{topic, runner})
	return runner, nil
}

// accountsProgress is how often it is said how far a start is that reads much.
const accountsProgress = 5 * time.Second

// Run applies the topics until ctx ends.
func (a *accountRows) Run(ctx context.Context) error {
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
	g.Go(func() error { return runEvery(gctx, time.Second, a.updateLagMetrics) })
	g.Go(func() error {
		return runEvery(gctx, accountsProgress, func(context.Context) { a.logProgress() })
	})
	if log, ok := a.log.(eventlog.Trimmer); ok {
		g.Go(func() error {
			a.trimAudit(gctx, log)
			return runEvery(gctx, trimEvery, func(ctx context.Context) { a.trimAudit(ctx, log) })
		})
	}
	return markDamaged(a.store, g.Wait())
}

// explainAheadOfLog says what helps where the rows have seen records that the log has not.
func (a *accountRows) explainAheadOfLog(err error) error {
	if errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		return fmt.Errorf("%w: if the log is an older copy, or another one, remove %s; it will be rebuilt", err, a.o.Config.AccountsDir())
	}
	return err
}

// updateLagMetrics keeps the gauges of the lag current. A log that does not answer leaves
// them as they are.
func (a *accountRows) updateLagMetrics(ctx context.Context) {
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

func (a *accountRows) logProgress() {
	for _, t := range a.runners {
		if done, total := t.runner.Progress(); done < total {
			a.o.Logger.Info("reading the accounts", "topic", string(t.topic), "records", done, "of", total)
		}
	}
}

// checkReady is nil once the accounts are as the log had them at the start: revoked
// credentials are no longer accepted. The audit log may be behind.
func (a *accountRows) checkReady() error {
	select {
	case <-a.accountsRunner().CaughtUp():
		return nil
	default:
		return errAccountsCatchingUp
	}
}

// accountsRunner is that of event.TopicAccounts, the first.
func (a *accountRows) accountsRunner() *projections.Runner { return a.runners[0].runner }

// Close closes the rows. Run has returned.
func (a *accountRows) Close() error {
	if a.directory != nil {
		a.directory.Close()
	}
	if a.numbers != nil {
		a.numbers.Close()
	}
	for _, p := range a.audit {
		p.Close()
	}
	if a.metrics != nil {
		a.metrics.unregisterAll()
	}
	return a.store.Close()
}

// accountEvents appends to event.TopicAccounts. It implements auth.Appender.
type accountEvents struct{ log eventlog.Log }

var _ auth.Appender = accountEvents{}

// accountSource is the CloudEvents source of events of the accounts.
const accountSource = "/query/auth"

// Append implements auth.Appender. The events are durable together or, if a broker
// fails meanwhile, the first of them; a second try has no second effect.
func (a accountEvents) Append(ctx context.Context, events ...event.Event) (event.Position, error) {
	records := make([]event.Record, len(events))
	for i, ev := range events {
		var err error
		records[i], err = event.Encode(event.Envelope{ID: rand.Text(), Source: accountSource, Time: boot.Now().UTC()}, ev)
		if err != nil {
			return event.Position{}, err
		}
	}
	positions, err := a.log.Append(ctx, event.TopicAccounts, 0, records...)
	if err != nil {
		return event.Position{}, err
	}
	return positions[len(positions)-1], nil
}
