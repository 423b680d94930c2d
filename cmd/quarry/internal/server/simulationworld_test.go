package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/registry"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/simulation"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/diskspace"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/disk"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	simulatedPartitions = 2
	simulatedSecret     = "a key of twenty-four bytes"
	// maxSimulatedRepositories and maxSimulatedBranches bound the world. maxInFlight
	// bounds the deliveries that were sent and not answered.
	maxSimulatedRepositories, maxSimulatedBranches, maxInFlight = 6, 4, 24
	// maxFault bounds how long the host is down or a disk is full. minCalm is the minimum
	// time between two such outages, because records are given up after
	// pipeline.hostPatience.
	maxFault, minCalm = time.Minute, 4 * time.Minute
)

// simulatedWorld is a server and its environment.
type simulatedWorld struct {
	seed   uint64
	t      *testing.T
	s      *simulation.Scheduler
	host   *simulation.Host
	log    *simulation.Log
	config *config.Config
	logger *slog.Logger
	// disk stores the projections. durable is a copy of its last synced state, which is
	// what a crash may leave.
	disk, durable *storetest.Memory
	repositories  []*simulation.Repository
	life          *simulatedLife // nil while the server is down
	server        atomic.Pointer[Server]

	clients    sync.WaitGroup
	ctx        context.Context
	end        func()
	sent       int
	faults     bool
	away, full outage
	tally      simulationTally
	mu         struct {
		sync.Mutex
		inFlight int
		// accepted holds the positions of the pushes that were answered with 202.
		accepted []event.Position
	}
}

func newSimulatedWorld(t *testing.T, seed uint64, dir string) *simulatedWorld {
	c := config.Default()
	c.Data = filepath.Join(dir, "data")
	c.Pipeline.MergeInterval, c.Pipeline.ReconcileInterval = 0, 0
	c.Pipeline.Concurrency, c.Pipeline.Builders = 64, 2
	c.Cache.BlocksBytes, c.Cache.FramesBytes = 8<<20, 1<<20
	c.Connections = []config.Connection{{
		Name: "hub", Kind: code.GenericGitHost, AutoRegister: true, Branches: []string{"**"},
		Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(simulatedSecret)))},
	}}
	w := &simulatedWorld{seed: seed, t: t, host: simulation.NewHost(), log: simulation.NewLog(simulatedPartitions), config: &c}
	w.away, w.full = outage{name: "host away", set: w.host.SetAway}, outage{name: "disk full", set: w.host.SetFull}
	w.disk, w.durable = storetest.NewMemory(), storetest.NewMemory()
	var trace io.Writer
	w.logger = slog.New(slog.DiscardHandler)
	if path := os.Getenv("QUARRY_TRACE"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		trace, w.logger = file, slog.New(slog.NewTextHandler(file, nil))
	}
	w.s = simulation.NewScheduler(seed, trace)
	ctx, cancel := context.WithCancel(context.Background())
	w.ctx = ctx
	w.end = func() {
		cancel()
		if w.life != nil {
			w.crashServer()
		}
		w.clients.Wait()
	}
	return w
}

// errorf fails the test and prints how to repeat it.
func (w *simulatedWorld) errorf(format string, args ...any) {
	w.t.Errorf("QUARRY_SEED=%d repeats this world: %s", w.seed, fmt.Sprintf(format, args...))
}

// simulatedLife is one process of the server.
type simulatedLife struct {
	process *simulation.Process
	stop    context.CancelFunc
	ended   chan error
}

func (w *simulatedWorld) startServer() {
	w.s.Note("start")
	ctx, stop := context.WithCancel(context.Background())
	life := &simulatedLife{process: w.s.NewProcess(), stop: stop, ended: make(chan error, 1)}
	w.life = life
	go func() { life.ended <- w.runServer(ctx, life.process) }()
	synctest.Wait() // later steps must not happen while it starts
}

// runServer runs the simulated parts of what cmd/quarry does from Open to Close.
func (w *simulatedWorld) runServer(ctx context.Context, process *simulation.Process) (err error) {
	metrics := prometheus.NewRegistry()
	s := newServer(Options{
		Config: w.config, Logger: w.logger, Registerer: metrics, Gatherer: metrics,
		simulated: &simulatedMachine{execute: w.host.Git(w.s, process), disk: w.disk.FileSystem(), jitter: simulatedJitter},
	})
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.openCodeHosts(); err != nil {
		return err
	}
	s.policy = mirror.Policy{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("140.82.112.3")}, nil
	}}
	s.disks = w.newDisks(metrics)
	s.addCloser(s.disks)
	s.log = w.log.Open(w.s, process)
	s.addCloser(s.log)
	s.registrar = registry.NewRegistrar(s.log, s.policy)
	if s.segments, err = segmentstore.OpenDirectory(w.config.SegmentsDir()); err != nil {
		return err
	}
	if err := s.openVersions(ctx); err != nil {
		return err
	}
	s.repositories = registry.NewCatalog(s.versions, func(code.RepositoryID) bool { return true })
	s.log = w.log.OpenToScan(w.s, process)
	s.addCloser(s.log)
	for _, open := range []func(context.Context) error{s.openPipeline, s.openIngest} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	group := boot.NewGroup(w.logger, 0)
	group.Add("disk space", s.disks.Run)
	group.Add("projections", s.versions.Run)
	s.pipeline.addActors(group)
	group.Add("webhooks", s.receiver.Run)
	w.server.Store(s)
	defer w.server.Store(nil)
	return group.Run(ctx)
}

// simulatedJitter derives a random wait from the clock, so that a wait does not end at
// the same time as another timer. No seed determines the order of two such timers.
func simulatedJitter(wait time.Duration) time.Duration {
	return wait - time.Duration(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(wait))).Int64N(int64(wait/4)+1))
}

// newDisks returns the guard of the simulated disk's space.
func (w *simulatedWorld) newDisks(registry prometheus.Registerer) *diskspace.Guard {
	return diskspace.New(diskspace.Options{Directories: listDirectories(w.config), MinFree: int64(w.config.Storage.MinFreeBytes), Logger: w.logger, Registerer: registry, SpaceOf: func(string) (disk.Space, error) {
		if w.host.DiskIsFull() {
			return disk.Space{TotalBytes: 1 << 40}, nil
		}
		return disk.Space{FreeBytes: 1 << 40, TotalBytes: 1 << 40}, nil
	}})
}

// checkExit returns an error if the server stopped without a request.
func (w *simulatedWorld) checkExit() error {
	select {
	case err := <-w.life.ended:
		w.life = nil
		return fmt.Errorf("the server ended by itself: %w", err)
	default:
		return nil
	}
}

// crashServer kills the server. It loses either all or none of the rows that were not
// synced: anything in between would depend on the background writes of Pebble, which no
// seed repeats (TestKilledAt200Points kills a store there).
func (w *simulatedWorld) crashServer() {
	w.s.Note("crash")
	w.tally.crashes++
	if w.s.Rand.IntN(2) == 0 {
		w.syncStore()
	}
	w.life.process.Kill()
	w.life.stop()
	<-w.life.ended
	synctest.Wait()
	w.disk, w.life = w.durable.Crash(0, 0), nil
}

// syncStore makes the current state of the projections durable.
func (w *simulatedWorld) syncStore() {
	synctest.Wait()
	s := w.server.Load()
	if s == nil {
		return
	}
	if err := s.versions.Live().Store.Sync(); err != nil {
		w.errorf("%v", err)
	}
	w.durable = w.disk.Crash(0, 0)
}

// stopServer stops the server as an operator does. The world continues while it stops.
func (w *simulatedWorld) stopServer() {
	w.s.Note("stop")
	w.tally.stops++
	w.life.stop()
	for {
		if w.s.Step(w.drawVerdict) {
			continue
		}
		select {
		case err := <-w.life.ended:
			if err != nil {
				w.s.Note("the stop failed: %v", err)
			}
			w.life, w.durable = nil, w.disk.Crash(100, 0)
			return
		default:
			w.s.Sleep(time.Second)
		}
	}
}

// drawVerdict chooses the result of an operation.
func (w *simulatedWorld) drawVerdict(operation string) simulation.Verdict {
	w.endExpiredOutages()
	if !w.faults {
		return simulation.Succeed
	}
	switch w.s.Rand.IntN(200) {
	case 0:
		return simulation.Fail
	case 1:
		return simulation.LoseAnswer
	}
	return simulation.Succeed
}

// outage is a fault that lasts for some time.
type outage struct {
	name    string
	set     func(bool)
	on      bool
	changed time.Time
}

// setOutage begins an outage, if the last one ended at least minCalm ago, or ends it.
func (w *simulatedWorld) setOutage(o *outage, on bool) {
	if o.on == on || on && time.Since(o.changed) < minCalm {
		return
	}
	o.on, o.changed = on, time.Now()
	w.s.Note("%s %t", o.name, on)
	o.set(on)
}

// endExpiredOutages ends the outages that have lasted long enough.
func (w *simulatedWorld) endExpiredOutages() {
	for _, o := range []*outage{&w.away, &w.full} {
		if time.Since(o.changed) > maxFault {
			w.setOutage(o, false)
		}
	}
}

// revokePartition takes a partition away from the workers.
func (w *simulatedWorld) revokePartition() {
	partition := int32(w.s.Rand.IntN(simulatedPartitions))
	w.s.Note("revoke %d", partition)
	w.log.Revoke(worker.DefaultGroup, event.TopicEvents, partition)
}

// removeDirectory removes a directory. A goroutine may still write a file into it between
// two scheduling points, so removeDirectory tries several times.
func (w *simulatedWorld) removeDirectory(dir string) {
	var err error
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	w.errorf("%v", err)
}

func (w *simulatedWorld) loseProjections() {
	w.removeDirectory(w.config.ProjectionsDir())
	w.disk, w.durable = storetest.NewMemory(), storetest.NewMemory()
}

// tearRegistrations truncates some of the unsynced files in which mirrors store their
// repositories.
func (w *simulatedWorld) tearRegistrations() {
	files, err := filepath.Glob(filepath.Join(w.config.MirrorsDir(), "*", "*", "quarry.json"))
	for _, file := range files {
		if w.s.Rand.IntN(2) == 0 {
			err = errors.Join(err, os.Truncate(file, 20))
		}
	}
	if err != nil {
		w.errorf("%v", err)
	}
}

// pushRandomly simulates a push.
func (w *simulatedWorld) pushRandomly() {
	w.mu.Lock()
	busy := w.mu.inFlight >= maxInFlight
	w.mu.Unlock()
	if busy {
		return
	}
	rng := w.s.Rand
	if len(w.repositories) < maxSimulatedRepositories && rng.IntN(20) == 0 || len(w.repositories) == 0 {
		url := fmt.Sprintf("https://hub.example.org/r%d.git", len(w.repositories))
		r := (*simulation.Repository)(nil)
		if len(w.repositories) > 0 && rng.IntN(3) > 0 {
			r = w.host.Fork(drawElement(rng, w.repositories), url)
		} else {
			r = w.host.Add(url)
		}
		w.repositories = append(w.repositories, r)
		w.pushCommits(r, r.Head)
		return
	}
	r := drawElement(rng, w.repositories)
	branches := slices.Sorted(maps.Keys(w.host.Branches(r)))
	ref := drawElement(rng, branches)
	switch n := rng.IntN(10); {
	case n == 0 && len(branches) < maxSimulatedBranches:
		w.sent++
		w.pushCommits(r, code.Ref(fmt.Sprintf("refs/heads/topic-%d", w.sent)))
	case n == 1 && ref != r.Head:
		before := w.host.Branches(r)[ref]
		w.host.Delete(r, ref)
		w.queueDelivery(r, ref, before, "")
	case n == 2: // a commit of a fork or of another repository
		other := drawElement(rng, w.repositories)
		theirs := w.host.Branches(other)
		before, after := w.host.Branches(r)[ref], theirs[drawElement(rng, slices.Sorted(maps.Keys(theirs)))]
		if before != after {
			w.host.Move(r, ref, after)
			w.queueDelivery(r, ref, before, after)
		}
	default:
		w.pushCommits(r, ref)
	}
}

// pushCommits makes a commit and queues its delivery.
func (w *simulatedWorld) pushCommits(r *simulation.Repository, ref code.Ref) {
	branches := w.host.Branches(r)
	before := branches[ref]
	files := w.host.Files(before)
	if before == "" {
		files = w.host.Files(branches[r.Head])
	}
	for range 1 + w.s.Rand.IntN(3) {
		w.sent++
		path := fmt.Sprintf("dir%d/file%d.go", w.s.Rand.IntN(3), w.s.Rand.IntN(8))
		if len(files) > 2 && w.s.Rand.IntN(6) == 0 {
			delete(files, path)
		} else {
			files[path] = fmt.Sprintf("package dir\n\n// word%d\nfunc F%d() {}\n", w.sent, w.sent)
		}
	}
	w.queueDelivery(r, ref, before, w.host.Push(r, ref, files, time.Now()))
}

// queueDelivery makes the host deliver a push until the server accepts it.
func (w *simulatedWorld) queueDelivery(r *simulation.Repository, ref code.Ref, before, after code.CommitID) {
	w.sent++
	id := fmt.Sprintf("delivery-%d", w.sent)
	zero := code.CommitID(fmt.Sprintf("%040d", 0))
	payload := map[string]string{"repository": r.URL, "ref": string(ref), "before": string(max(before, zero)), "after": string(max(after, zero))}
	switch w.s.Rand.IntN(4) {
	case 0: // only the ref
		delete(payload, "before")
		delete(payload, "after")
	case 1:
		payload = map[string]string{"repository": r.URL}
	}
	body, err := json.Marshal(payload)
	if err != nil {
		w.errorf("%v", err)
	}
	w.s.Note("send %s %s", id, body)
	again := w.s.Rand.IntN(10) == 0
	w.mu.Lock()
	w.mu.inFlight++
	w.mu.Unlock()
	w.clients.Go(func() {
		w.deliverUntilTaken(id, body)
		if again {
			w.deliverUntilTaken(id, body)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mu.inFlight--
	})
}

// deliverUntilTaken repeats one delivery until it is accepted or the world ends.
func (w *simulatedWorld) deliverUntilTaken(id string, body []byte) {
	for {
		if _, err := w.s.Await(w.ctx, nil, "deliver "+id); err != nil {
			return
		}
		if positions, ok := w.postDelivery(id, body); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.mu.accepted = append(w.mu.accepted, positions...)
			return
		}
		select {
		case <-time.After(10 * time.Second):
		case <-w.ctx.Done():
			return
		}
	}
}

// postDelivery makes one signed request.
func (w *simulatedWorld) postDelivery(id string, body []byte) ([]event.Position, bool) {
	s := w.server.Load()
	if s == nil {
		return nil, false
	}
	request := httptest.NewRequestWithContext(w.ctx, http.MethodPost, "/webhooks/genericGitHost/hub", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	signature.SetStandard(request.Header, id, time.Now(), body, []byte(simulatedSecret))
	response := httptest.NewRecorder()
	s.receiver.ServeHTTP(response, request)
	var answer struct{ Positions []event.Position }
	switch {
	case response.Code == http.StatusServiceUnavailable:
		return nil, false
	case response.Code != http.StatusAccepted:
		w.errorf("delivery %s: %d %s", id, response.Code, response.Body)
	default:
		if err := json.Unmarshal(response.Body.Bytes(), &answer); err != nil {
			w.errorf("%v", err)
		}
	}
	return answer.Positions, true
}
