package rounds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// fault breaks and repairs something.
type fault struct {
	name   string
	setups []fleet.Setup
	do     func(r *chaosRun, ctx context.Context) error
	// heal may restore the invariant if it does not hold on its own. It is nil if the
	// fault must need no help.
	heal func(r *chaosRun, ctx context.Context, failed error) error
}

var (
	allSetups    = fleet.Setups
	brokerSetups = []fleet.Setup{fleet.OneBroker, fleet.ThreeBrokers, fleet.InBucket, fleet.Sharded}
	// directorySetups have the segment store in a directory, and unmountSetups one that
	// several processes share.
	directorySetups = []fleet.Setup{fleet.Embedded, fleet.OneBroker, fleet.ThreeBrokers}
	unmountSetups   = []fleet.Setup{fleet.OneBroker, fleet.ThreeBrokers}
	bucketSetups    = []fleet.Setup{fleet.InBucket, fleet.Sharded}
)

// allFaults contains all faults, in the order of their documentation.
var allFaults = []fault{
	{name: "kill worker", setups: brokerSetups, do: (*chaosRun).killWorker},
	{name: "kill query", setups: brokerSetups, do: (*chaosRun).killQuery},
	{name: "kill ingest", setups: brokerSetups, do: (*chaosRun).killIngest},
	{name: "kill all", setups: allSetups, do: (*chaosRun).killAll},
	{name: "restart all", setups: allSetups, do: (*chaosRun).restartAll},
	{name: "kill broker", setups: brokerSetups, do: (*chaosRun).killBroker},
	{name: "restart broker", setups: brokerSetups, do: (*chaosRun).restartBroker},
	{name: "full disk", setups: allSetups, do: (*chaosRun).fillDisk},
	{name: "clock jump", setups: allSetups, do: (*chaosRun).jumpClock},
	{name: "corrupted record", setups: allSetups, do: (*chaosRun).corruptRecord},
	{name: "damaged store", setups: allSetups, do: (*chaosRun).damageStore, heal: (*chaosRun).startDamaged},
	{name: "lost projections", setups: allSetups, do: (*chaosRun).loseProjections},
	{name: "lost mirrors", setups: allSetups, do: (*chaosRun).loseMirrors},
	{name: "mirrors lost while running", setups: allSetups, do: (*chaosRun).loseMirrorsRunning},
	{name: "lost segments", setups: directorySetups, do: (*chaosRun).loseSegments},
	{name: "lost segments below live projections", setups: directorySetups, do: (*chaosRun).loseSegmentsBelow},
	{name: "unmounted segments", setups: unmountSetups, do: (*chaosRun).unmountSegments},
	{name: "refused bucket", setups: bucketSetups, do: (*chaosRun).refuseBucket},
	{name: "frozen query", setups: brokerSetups, do: (*chaosRun).freezeQuery},
	{name: "restored backup", setups: allSetups, do: (*chaosRun).restoreBackup},
}

// restartMember kills a member and restarts it after a moment.
func (r *chaosRun) restartMember(ctx context.Context, m *fleet.Member) error {
	m.Kill()
	r.pauseRandomly(ctx, 0, 700*time.Millisecond)
	return m.Start(ctx)
}

func (r *chaosRun) killWorker(ctx context.Context) error {
	workers := r.fleet.Workers()
	return r.restartMember(ctx, workers[r.random.IntN(len(workers))])
}

func (r *chaosRun) killQuery(ctx context.Context) error {
	return r.restartMember(ctx, r.anyQuery())
}

func (r *chaosRun) anyQuery() *fleet.Member {
	queries := r.fleet.QueryNodes()
	return queries[r.random.IntN(len(queries))]
}

// freezeQuery stops a query process from running for a while, longer or shorter than the lag
// after which its answers are not exhaustive.
func (r *chaosRun) freezeQuery(ctx context.Context) error {
	m := r.anyQuery()
	if err := m.Freeze(); err != nil {
		return err
	}
	r.pauseRandomly(ctx, 500*time.Millisecond, 9*time.Second)
	return m.Thaw()
}

// refuseBucket ends the S3 server for a while, and kills a query process meanwhile or not,
// which starts again once the bucket is back.
func (r *chaosRun) refuseBucket(ctx context.Context) error {
	r.fleet.Bucket.Stop()
	r.pauseRandomly(ctx, 500*time.Millisecond, 6*time.Second)
	m := r.anyQuery()
	if r.random.IntN(2) == 0 {
		m.Kill()
	}
	if err := r.fleet.Bucket.Run(ctx); err != nil || m.Running() {
		return err
	}
	return m.Start(ctx)
}

func (r *chaosRun) killIngest(ctx context.Context) error {
	return r.restartMember(ctx, r.fleet.Ingest())
}

func (r *chaosRun) killAll(ctx context.Context) error {
	for _, m := range r.fleet.Members {
		m.Kill()
	}
	r.pauseRandomly(ctx, 0, 700*time.Millisecond)
	return r.fleet.Start(ctx)
}

func (r *chaosRun) restartAll(ctx context.Context) error {
	if err := r.fleet.Stop(); err != nil {
		return err
	}
	return r.fleet.Start(ctx)
}

func (r *chaosRun) killBroker(ctx context.Context) error {
	return r.endAndRestartBroker(ctx, r.fleet.Brokers.Kill)
}

func (r *chaosRun) restartBroker(ctx context.Context) error {
	return r.endAndRestartBroker(ctx, r.fleet.Brokers.Stop)
}

// endAndRestartBroker ends one broker and restarts it after a while. With three brokers,
// the other two continue.
func (r *chaosRun) endAndRestartBroker(ctx context.Context, end func(nodes ...int) error) error {
	i := r.random.IntN(r.fleet.Brokers.Size())
	if err := end(i); err != nil {
		return err
	}
	r.pauseRandomly(ctx, 200*time.Millisecond, 3*time.Second)
	if err := r.fleet.Brokers.Restart(i); err != nil {
		return err
	}
	return r.fleet.Brokers.Await(ctx)
}

// fillDisk leaves no space, or too little for the log, for a while. A process may end
// because of it if its message names the reason. It is restarted, as a supervisor does,
// also later in the round.
func (r *chaosRun) fillDisk(ctx context.Context) error {
	if r.fleet.Disk == nil {
		r.tally.noteSkipped("full disk: " + fleet.ErrNoDisk.Error())
		return nil
	}
	left := []int64{0, 256 << 10, 24 << 20}[r.random.IntN(3)]
	if err := r.fleet.Disk.Fill(left); err != nil {
		return err
	}
	r.pauseRandomly(ctx, time.Second, 2500*time.Millisecond)
	if err := r.fleet.Disk.Empty(); err != nil {
		return err
	}
	// A process may be about to end; it is restarted whenever it has ended.
	r.diskFilled = true
	return r.restartFull(ctx)
}

// restartFull restarts processes that ended because of a full disk in this round. Their
// messages must name the reason.
func (r *chaosRun) restartFull(ctx context.Context) error {
	if !r.diskFilled {
		return nil
	}
	for _, m := range r.fleet.Members {
		if m.Running() {
			continue
		}
		r.tally.DiskExits++
		if !saysFull(m) {
			return fmt.Errorf("%s: %w over a full disk and does not say so: %s", m.Name, fleet.ErrEnded, m.Said())
		}
		if err := m.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settleFull waits after a full disk until each process is ready: one that is about to
// end is not.
func (r *chaosRun) settleFull(ctx context.Context) error {
	if !r.diskFilled {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	for _, m := range r.fleet.Members {
		for !m.IsReady(ctx) {
			if err := r.restartFull(ctx); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w within %v after a full disk: %s", m.Name, fleet.ErrNotReady, hangDeadline, m.Said())
			}
			_ = clock.Sleep(ctx, pollInterval) // ctx is checked above
		}
	}
	r.diskFilled = false
	return nil
}

// jumpClock moves the clock of every process and of the host by a day, starts a process
// in between or not, and moves the clock back.
func (r *chaosRun) jumpClock(ctx context.Context) error {
	r.clockMoves.Store(true) // until everything that was signed in between is delivered: see surviveFault
	day := 24 * time.Hour
	if r.random.IntN(2) == 0 {
		day = -day
	}
	if err := r.fleet.MoveClock(day); err != nil {
		return err
	}
	r.pauseRandomly(ctx, 300*time.Millisecond, time.Second)
	if r.random.IntN(2) == 0 {
		m := r.fleet.Members[r.random.IntN(len(r.fleet.Members))]
		if err := r.restartMember(ctx, m); err != nil {
			return err
		}
	}
	return r.fleet.MoveClock(0)
}

// loseProjections restarts a query process without its projections: it starts from a
// snapshot, or replays the log.
func (r *chaosRun) loseProjections(ctx context.Context) error {
	return r.loseDirectory(ctx, r.anyQuery(), "projections")
}

func (r *chaosRun) loseMirrors(ctx context.Context) error {
	workers := r.fleet.Workers()
	return r.loseDirectory(ctx, workers[r.random.IntN(len(workers))], "mirrors")
}

func (r *chaosRun) loseDirectory(ctx context.Context, m *fleet.Member, directory string) error {
	m.Kill()
	// A git process that the member started may still write, so remove its files as well.
	return errors.Join(removeInUse(filepath.Join(m.Data, directory)), m.Start(ctx))
}

// loseMirrorsRunning removes the mirrors of a running worker.
func (r *chaosRun) loseMirrorsRunning(context.Context) error {
	workers := r.fleet.Workers()
	return removeInUse(filepath.Join(workers[r.random.IntN(len(workers))].Data, "mirrors"))
}

// loseSegments restarts the query process without projections and without the segment
// store, while the workers continue.
func (r *chaosRun) loseSegments(ctx context.Context) error {
	m := r.fleet.Query()
	m.Kill()
	return errors.Join(r.removeSegments(ctx), os.RemoveAll(filepath.Join(m.Data, "projections")), m.Start(ctx))
}

// loseSegmentsBelow removes the segment store but not the projections, while the query
// process runs or before it restarts.
func (r *chaosRun) loseSegmentsBelow(ctx context.Context) error {
	defer func() { r.segmentsLost = time.Now() }()
	if r.random.IntN(2) == 0 {
		return r.removeSegments(ctx)
	}
	m := r.fleet.Query()
	m.Kill()
	return errors.Join(r.removeSegments(ctx), m.Start(ctx))
}

// removeSegments removes the segment store. If it has an identity, a worker restarts with
// the setting of an operator who accepts the loss.
func (r *chaosRun) removeSegments(ctx context.Context) error {
	dir := r.fleet.SegmentsDir()
	identity, err := os.ReadFile(filepath.Join(dir, segmentstore.IdentityName))
	if errors.Is(err, fs.ErrNotExist) {
		return removeInUse(dir) // one process uses it
	}
	if err := errors.Join(err, removeInUse(dir)); err != nil {
		return err
	}
	workers := r.fleet.Workers()
	m := workers[r.random.IntN(len(workers))]
	m.Kill()
	return m.Start(ctx, "storage.replacesIdentity="+strings.TrimSpace(string(identity)))
}

// unmountSegments moves the segment store away and back, and restarts a worker or the
// query process meanwhile or not, which must refuse the empty directory.
func (r *chaosRun) unmountSegments(ctx context.Context) error {
	dir := r.fleet.SegmentsDir()
	away := dir + ".unmounted"
	if err := os.Rename(dir, away); err != nil {
		return err
	}
	r.pauseRandomly(ctx, 300*time.Millisecond, 3*time.Second)
	var restarted *fleet.Member
	if r.random.IntN(2) == 0 {
		restarted = r.fleet.Members[r.random.IntN(len(r.fleet.Members)-1)]
		restarted.Kill()
		if err := restarted.Start(ctx); !errors.Is(err, fleet.ErrNotReady) || restarted.Running() {
			return fmt.Errorf("%s: %w without its segment store: %w", restarted.Name, errStarted, err)
		}
	}
	if err := remount(away, dir); err != nil || restarted == nil {
		return err
	}
	return restarted.Start(ctx)
}

// errStarted means that a process started, or waited, although it must refuse to start.
var errStarted = errors.New("did not refuse to start")

// remount moves a directory back, and removes what processes created in its place.
func remount(away, dir string) (err error) {
	for range maxRemovals {
		if err = errors.Join(removeInUse(dir), os.Rename(away, dir)); err == nil {
			return nil
		}
	}
	return err
}

// restoreBackup restarts every process with the contents of a backup: log, segments and
// key.
func (r *chaosRun) restoreBackup(ctx context.Context) error {
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

// maxRemovals bounds the attempts to remove a directory that something writes to.
const maxRemovals = 1000

// removeInUse removes a directory to which a process, or git that it started, may still
// write.
func removeInUse(dir string) (err error) {
	for range maxRemovals {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
