package rounds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/chaos/internal/fleet"
)

// fault breaks something and repairs it.
type fault struct {
	name   string
	setups []fleet.Setup
	do     func(r *run, ctx context.Context) error
	// heal may still bring the invariant about where it did not come by itself; nil
	// if nothing may be needed.
	heal func(r *run, ctx context.Context, failed error) error
}

var (
	everywhere = fleet.Setups
	onBrokers  = []fleet.Setup{fleet.OneBroker, fleet.ThreeBrokers}
)

// allFaults in the order of their documentation.
var allFaults = []fault{
	{name: "kill worker", setups: onBrokers, do: (*run).killWorker},
	{name: "kill query", setups: onBrokers, do: (*run).killQuery},
	{name: "kill ingest", setups: onBrokers, do: (*run).killIngest},
	{name: "kill all", setups: everywhere, do: (*run).killAll},
	{name: "restart all", setups: everywhere, do: (*run).restartAll},
	{name: "kill broker", setups: onBrokers, do: (*run).killBroker},
	{name: "restart broker", setups: onBrokers, do: (*run).restartBroker},
	{name: "full disk", setups: everywhere, do: (*run).fillDisk},
	{name: "clock jump", setups: everywhere, do: (*run).jumpClock},
	{name: "corrupted record", setups: everywhere, do: (*run).corruptRecord},
	{name: "damaged store", setups: everywhere, do: (*run).damageStore, heal: (*run).startDamaged},
	{name: "lost projections", setups: everywhere, do: (*run).loseProjections},
	{name: "lost mirrors", setups: everywhere, do: (*run).loseMirrors},
	{name: "mirrors lost while running", setups: everywhere, do: (*run).loseMirrorsRunning},
	{name: "lost segments", setups: everywhere, do: (*run).loseSegments},
	{name: "lost segments below live projections", setups: everywhere, do: (*run).loseSegmentsBelow},
	{name: "restored backup", setups: everywhere, do: (*run).restoreBackup},
}

// again kills a member and starts it after a moment.
func (r *run) again(ctx context.Context, m *fleet.Member) error {
	m.Kill()
	r.pause(ctx, 0, 700*time.Millisecond)
	return m.Start(ctx)
}

func (r *run) killWorker(ctx context.Context) error {
	workers := r.fleet.Workers()
	return r.again(ctx, workers[r.random.IntN(len(workers))])
}

func (r *run) killQuery(ctx context.Context) error { return r.again(ctx, r.fleet.Query()) }

func (r *run) killIngest(ctx context.Context) error { return r.again(ctx, r.fleet.Ingest()) }

func (r *run) killAll(ctx context.Context) error {
	for _, m := range r.fleet.Members {
		m.Kill()
	}
	r.pause(ctx, 0, 700*time.Millisecond)
	return r.fleet.Start(ctx)
}

func (r *run) restartAll(ctx context.Context) error {
	if err := r.fleet.Stop(); err != nil {
		return err
	}
	return r.fleet.Start(ctx)
}

func (r *run) killBroker(ctx context.Context) error {
	return r.brokerAgain(ctx, r.fleet.Brokers.Kill)
}

func (r *run) restartBroker(ctx context.Context) error {
	return r.brokerAgain(ctx, r.fleet.Brokers.Stop)
}

// brokerAgain ends one broker and starts it after a while; with three the others
// go on meanwhile.
func (r *run) brokerAgain(ctx context.Context, end func(nodes ...int) error) error {
	i := r.random.IntN(r.fleet.Brokers.Size())
	if err := end(i); err != nil {
		return err
	}
	r.pause(ctx, 200*time.Millisecond, 3*time.Second)
	if err := r.fleet.Brokers.Restart(i); err != nil {
		return err
	}
	return r.fleet.Brokers.Await(ctx)
}

// fillDisk leaves nothing, or too little for the log, for a while. A process may
// end over it, with a clear word; it is started again, as a supervisor does.
func (r *run) fillDisk(ctx context.Context) error {
	if r.fleet.Disk == nil {
		r.tally.skip("full disk: " + fleet.ErrNoDisk.Error())
		return nil
	}
	left := []int64{0, 256 << 10, 24 << 20}[r.random.IntN(3)]
	if err := r.fleet.Disk.Fill(left); err != nil {
		return err
	}
	r.pause(ctx, time.Second, 2500*time.Millisecond)
	if err := r.fleet.Disk.Empty(); err != nil {
		return err
	}
	// One that is about to end over it has ended then: to write down why takes a while.
	r.pause(ctx, time.Second, 1500*time.Millisecond)
	for _, m := range r.fleet.Members {
		if !m.Running() {
			r.tally.DiskExits++
			if !saysFull(m) {
				return fmt.Errorf("%s: %w over a full disk and does not say so: %s", m.Name, fleet.ErrEnded, m.Said())
			}
		}
	}
	return r.fleet.Start(ctx)
}

// jumpClock moves the clock of every process and of the host by a day, lets a
// process start meanwhile or not, and moves it back.
func (r *run) jumpClock(ctx context.Context) error {
	r.clockMoves.Store(true) // until what was signed meanwhile is delivered: see survive
	day := 24 * time.Hour
	if r.random.IntN(2) == 0 {
		day = -day
	}
	if err := r.fleet.MoveClock(day); err != nil {
		return err
	}
	r.pause(ctx, 300*time.Millisecond, time.Second)
	if r.random.IntN(2) == 0 {
		m := r.fleet.Members[r.random.IntN(len(r.fleet.Members))]
		if err := r.again(ctx, m); err != nil {
			return err
		}
	}
	return r.fleet.MoveClock(0)
}

// loseProjections starts the query process without what it had.
func (r *run) loseProjections(ctx context.Context) error {
	return r.lose(ctx, r.fleet.Query(), "projections")
}

func (r *run) loseMirrors(ctx context.Context) error {
	workers := r.fleet.Workers()
	return r.lose(ctx, workers[r.random.IntN(len(workers))], "mirrors")
}

func (r *run) lose(ctx context.Context, m *fleet.Member, directory string) error {
	m.Kill()
	// Git that the process started may still write: what it made is lost as well.
	return errors.Join(removeInUse(filepath.Join(m.Data, directory)), m.Start(ctx))
}

// loseMirrorsRunning removes the mirrors of a worker that goes on.
func (r *run) loseMirrorsRunning(context.Context) error {
	workers := r.fleet.Workers()
	return removeInUse(filepath.Join(workers[r.random.IntN(len(workers))].Data, "mirrors"))
}

// loseSegments starts the query process without projections and without the segment
// store; workers go on meanwhile.
func (r *run) loseSegments(ctx context.Context) error {
	m := r.fleet.Query()
	m.Kill()
	return errors.Join(removeInUse(r.fleet.SegmentsDir()), os.RemoveAll(filepath.Join(m.Data, "projections")), m.Start(ctx))
}

// loseSegmentsBelow removes the segment store and leaves the projections, of a query
// process that goes on or starts again.
func (r *run) loseSegmentsBelow(ctx context.Context) error {
	defer func() { r.segmentsLost = time.Now() }()
	if r.random.IntN(2) == 0 {
		return removeInUse(r.fleet.SegmentsDir())
	}
	m := r.fleet.Query()
	m.Kill()
	return errors.Join(removeInUse(r.fleet.SegmentsDir()), m.Start(ctx))
}

// restoreBackup starts every process with what a backup has: log, segments and key.
func (r *run) restoreBackup(ctx context.Context) error {
	for _, m := range r.fleet.Members {
		m.Kill()
	}
	for _, m := range r.fleet.Members {
		for _, name := range []string{"projections", "accounts", "mirrors", "tmp", "merges", "operator.token", "setup.link", "LOCK"} {
			if err := removeInUse(filepath.Join(m.Data, name)); err != nil {
				return err
			}
		}
	}
	return r.fleet.Start(ctx)
}

// maxRemovals bounds the tries to remove a directory that something writes into.
const maxRemovals = 1000

// removeInUse removes a directory into which a process, or git that it started, may
// still write.
func removeInUse(dir string) (err error) {
	for range maxRemovals {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
