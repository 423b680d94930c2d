package rounds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/host"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// Options are the options of Run. Fleet, Rounds and Log are required.
type Options struct {
	Fleet  fleet.Options
	Rounds int
	Seed   uint64
	// Only lists the faults to choose from; nil means all faults of the setup.
	Only []string
	// VerifyEvery is the number of rounds between two comparisons with a rebuild.
	// Default: DefaultVerifyEvery.
	VerifyEvery int
	Log         func(format string, args ...any)
}

// DefaultVerifyEvery is the default interval. Lower values are expensive: a comparison stops the query process.
const DefaultVerifyEvery = 20

// repositories is the number of repositories that receive pushes concurrently. Every
// second one is a fork of the previous one.
const repositories = 6

// hangDeadline only ends a hang: it bounds each wait for a state that must come about, and
// no busy machine is a failure.
const hangDeadline = 5 * time.Minute

// pollInterval is the pause between two looks at a state that is awaited.
const pollInterval = 50 * time.Millisecond

// ErrFault means that a fault is unknown, or not available in the setup.
var ErrFault = errors.New("no such fault")

// chaosRun runs one fleet through its rounds.
type chaosRun struct {
	o       Options
	fleet   *fleet.Fleet
	senders []*host.Sender
	random  *rand.Rand
	tally   *Tally
	// injected holds the positions of records that must become dead letters.
	injected map[string]bool
	// checkedDeliveries is the number of deliveries of each sender that were looked up in
	// the ledger.
	checkedDeliveries []int
	// clockMoves is set while a signature may be a day too old or too new.
	clockMoves atomic.Bool
	// verify requests a comparison at the end of this round.
	verify bool
	// segmentsLost is the time at which the segment store was removed while the
	// projections stayed; zero if a check of the store has begun since then.
	segmentsLost time.Time
	// diskFilled is set while a process may end because of a full disk.
	diskFilled bool
}

// Run starts a fleet and runs the rounds. It returns the tally of the completed rounds
// even if there is an error. It ends the fleet but keeps its directory.
func Run(ctx context.Context, o Options) (t *Tally, err error) {
	if o.VerifyEvery <= 0 {
		o.VerifyEvery = DefaultVerifyEvery
	}
	t = newTally(o.Fleet.Setup)
	r := &chaosRun{o: o, tally: t, random: rand.New(rand.NewPCG(o.Seed, 0)), injected: map[string]bool{}}
	faults, err := r.selectFaults()
	if err != nil {
		return t, err
	}
	o.Fleet.Log = o.Log
	if r.fleet, err = fleet.Open(ctx, o.Fleet); err != nil {
		return t, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.fleet.Keep())
		}
		err = errors.Join(err, r.fleet.Close())
	}()
	if err := r.setUp(ctx); err != nil {
		return t, fmt.Errorf("%s: begin: %w", o.Fleet.Setup, err)
	}
	var deck []fault // each fault once, in random order, then refilled
	for n := 1; n <= o.Rounds; n++ {
		if len(deck) == 0 {
			deck = slices.Clone(faults)
			r.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		f := deck[0]
		deck = deck[1:]
		if err := r.runRound(ctx, n, f); err != nil {
			return t, err
		}
	}
	r.sumCounts()
	return t, r.fleet.Stop()
}

// setUp creates and registers the repositories.
func (r *chaosRun) setUp(ctx context.Context) error {
	if err := r.fleet.Start(ctx); err != nil {
		return err
	}
	hook := r.fleet.Hook(r.toleratesStatus)
	for n := range repositories {
		repository, err := r.create(ctx, n)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, r.o.Fleet.Quarry, "index", "--server", r.fleet.Query().URL(), "--data", r.fleet.Query().Data, "--name", repository.Name, "--branch", "b*", repository.Dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("quarry index: %w: %s", err, out)
		}
		r.senders, r.checkedDeliveries = append(r.senders, host.NewSender(repository, hook)), append(r.checkedDeliveries, 0)
	}
	return r.awaitModel(ctx)
}

// create creates repository number n.
func (r *chaosRun) create(ctx context.Context, n int) (*host.Repository, error) {
	if n%2 == 1 {
		return host.NewFork(ctx, r.fleet.RepositoriesDir(), n, r.o.Seed, r.senders[n-1].Repository)
	}
	return host.NewRepository(ctx, r.fleet.RepositoriesDir(), n, r.o.Seed)
}

// toleratesStatus reports whether a fault explains a webhook response: while the clock
// moves, a signature may be too old or too new.
func (r *chaosRun) toleratesStatus(status int) bool {
	return r.clockMoves.Load() && status >= 400 && status < 500
}

// runRound runs one fault and the checks after it.
func (r *chaosRun) runRound(ctx context.Context, n int, f fault) error {
	began := time.Now()
	r.verify = n%r.o.VerifyEvery == 0 || n == r.o.Rounds
	recovery, err := r.surviveFault(ctx, f)
	if err == nil {
		err = r.settleFull(ctx)
	}
	if err == nil {
		err = r.checkLedger(ctx)
	}
	if err == nil {
		err = r.checkHealth(ctx)
	}
	if err == nil && r.verify {
		err = r.compareWithRebuild(ctx)
	}
	r.sumCounts()
	r.tally.StartsAgain = r.fleet.StartsAgain()
	if err != nil {
		return fmt.Errorf("%s, round %d, fault %q, seed %d: %w", r.o.Fleet.Setup, n, f.name, r.o.Seed, err)
	}
	r.tally.addRecovery(f.name, recovery)
	r.o.Log("%-8s round %3d of %d: %-18s recovered in %8s, whole round %6s, %d pushes acknowledged so far%s", r.o.Fleet.Setup, n, r.o.Rounds, f.name,
		recovery.Round(time.Millisecond), time.Since(began).Round(100*time.Millisecond), r.tally.Counts.Acknowledged, map[bool]string{true: ", equal to a rebuild"}[r.verify])
	return nil
}

// surviveFault pushes while the fault happens, and waits until the invariant holds again.
func (r *chaosRun) surviveFault(ctx context.Context, f fault) (recovery time.Duration, err error) {
	stop := r.startPushing(ctx)
	r.pauseRandomly(ctx, 200*time.Millisecond, 900*time.Millisecond)
	faultErr := f.do(r, ctx)
	repaired := time.Now()
	if err := errors.Join(faultErr, stop()); err != nil {
		return 0, err
	}
	if err := r.flushSenders(ctx); err != nil {
		return 0, err
	}
	r.clockMoves.Store(false)
	err = r.awaitModel(ctx)
	if err != nil && f.heal != nil {
		err = f.heal(r, ctx, err)
	}
	return time.Since(repaired), err
}

// startPushing starts the senders. stop stops them.
func (r *chaosRun) startPushing(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	failures := make([]error, len(r.senders))
	var all sync.WaitGroup
	for i, s := range r.senders {
		all.Go(func() { failures[i] = s.Run(ctx) })
	}
	return func() error {
		cancel()
		all.Wait()
		return errors.Join(failures...)
	}
}

// flushSenders redelivers everything that was not acknowledged.
func (r *chaosRun) flushSenders(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	failures := make([]error, len(r.senders))
	flushed := make(chan struct{})
	var all sync.WaitGroup
	for i, s := range r.senders {
		all.Go(func() { failures[i] = s.Flush(ctx) })
	}
	go func() {
		defer close(flushed)
		all.Wait()
	}()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-flushed:
			return errors.Join(failures...)
		case <-tick.C:
		}
		if err := r.restartFull(ctx); err != nil {
			cancel()
			<-flushed
			return errors.Join(append(failures, err)...)
		}
	}
}

// sumCounts adds up the counts of the senders, which must not be running.
func (r *chaosRun) sumCounts() {
	r.tally.Counts = host.Counts{}
	for _, s := range r.senders {
		r.tally.Counts.Pushes += s.Counts.Pushes
		r.tally.Counts.Acknowledged += s.Counts.Acknowledged
		r.tally.Counts.Refused += s.Counts.Refused
		r.tally.Counts.Failed += s.Counts.Failed
		r.tally.Counts.Redelivered += s.Counts.Redelivered
	}
}

// pauseRandomly waits for a random time.
func (r *chaosRun) pauseRandomly(ctx context.Context, least, most time.Duration) {
	_ = clock.Sleep(ctx, least+time.Duration(r.random.Int64N(int64(most-least)))) // the callers check ctx
}

// selectFaults returns the faults to choose from.
func (r *chaosRun) selectFaults() ([]fault, error) {
	var out []fault
	for _, f := range allFaults {
		if slices.Contains(f.setups, r.o.Fleet.Setup) && (len(r.o.Only) == 0 || slices.Contains(r.o.Only, f.name)) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %v on %s", ErrFault, r.o.Only, r.o.Fleet.Setup)
	}
	return out, nil
}
