package server

import (
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// These tests run the parts of a server, from webhook to projections, in the world of
// package simulation, where a seed determines the order of all steps and all faults. A
// model (simulationmodel_test.go) defines what must be true once the faults have ended.

const (
	// simulationEvents is the number of events that CI simulates. simulationWorld bounds
	// the events in one world, because a log that is read from its beginning must stay
	// short.
	simulationEvents = 12_000
	simulationWorld  = 4_000
	// simulationRound is the number of events between two comparisons with the model.
	simulationRound = 1500
)

// simulationSeed returns the first seed of a run; QUARRY_SEED repeats a run.
func simulationSeed(t *testing.T) uint64 {
	t.Helper()
	if s := os.Getenv("QUARRY_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return seed
	}
	return 1
}

// TestSimulation simulates worlds, starting at QUARRY_SEED, until QUARRY_EVENTS events
// have happened. make simulate runs it for longer.
func TestSimulation(t *testing.T) {
	events := simulationEvents
	if s := os.Getenv("QUARRY_EVENTS"); s != "" {
		var err error
		if events, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	began, seed, sum := time.Now(), simulationSeed(t), simulationTally{}
	for ; sum.events < events && !t.Failed(); seed++ {
		most := min(simulationWorld, events-sum.events)
		world := simulateWorld(t, seed, most)
		if most == simulationWorld {
			simulatedTraces[seed] = world.trace
		}
		sum.add(world)
	}
	t.Logf("%d events in %s: %d worlds, %d records, %d pushes taken, %d crashes, %d stops, %d losses, %s on the simulated clock",
		sum.events, time.Since(began).Round(time.Millisecond), sum.worlds, sum.records, sum.pushes, sum.crashes, sum.stops, sum.losses, sum.simulated)
}

// simulatedTraces holds, by seed, the traces of the worlds of simulationWorld events that
// TestSimulation has run, so that TestSimulationIsDeterministic does not run them as well.
var simulatedTraces = map[uint64]string{}

// firstTrace returns the trace of the first run of a world in this process.
func firstTrace(t *testing.T, seed uint64) string {
	t.Helper()
	if trace, ok := simulatedTraces[seed]; ok {
		return trace
	}
	return simulateWorld(t, seed, simulationWorld).trace
}

// TestSimulationIsDeterministic checks that a seed repeats a run: of three runs, at least
// two must have the same trace. On a busy machine, in about one of twenty runs, the Go
// scheduler interrupts a goroutine at a point where the order matters.
func TestSimulationIsDeterministic(t *testing.T) {
	seed := simulationSeed(t)
	traces, repeated := map[string]bool{firstTrace(t, seed): true}, false
	for run := 1; run < 3 && !repeated; run++ {
		trace := simulateWorld(t, seed, simulationWorld).trace
		repeated = traces[trace]
		traces[trace] = true
	}
	if !repeated {
		t.Errorf("seed %d: three runs have the traces %v", seed, slices.Sorted(maps.Keys(traces)))
	}
	if traces[firstTrace(t, seed+1)] {
		t.Errorf("seeds %d and %d have the same trace", seed, seed+1)
	}
}

// simulationTally counts the events of worlds.
type simulationTally struct {
	events, worlds, records, pushes, crashes, stops, losses int
	simulated                                               time.Duration
	trace                                                   string // trace of one world
}

func (s *simulationTally) add(o simulationTally) {
	s.events += o.events
	s.worlds += o.worlds
	s.records += o.records
	s.pushes += o.pushes
	s.crashes += o.crashes
	s.stops += o.stops
	s.losses += o.losses
	s.simulated += o.simulated
}

// simulateWorld runs one world for the given number of events. It uses one processor, so
// that goroutines that are ready always run in the same order.
func simulateWorld(t *testing.T, seed uint64, events int) (tally simulationTally) {
	t.Helper()
	dir, err := os.MkdirTemp(memoryDirectory(t), "quarry-simulation-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		w := newSimulatedWorld(t, seed, dir)
		began := time.Now()
		err := w.runEvents(events)
		w.end()
		tally = w.tally
		tally.events, tally.worlds, tally.trace, tally.simulated = w.s.Events(), 1, w.s.Trace(), time.Since(began)
		if err != nil {
			t.Errorf("QUARRY_SEED=%d repeats this world, QUARRY_TRACE=FILE writes what happened in it: %v", seed, err)
		}
	})
	return tally
}

// memoryDirectory returns a directory for mirrors and segments, in memory if possible.
func memoryDirectory(t *testing.T) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return t.TempDir()
}

// runEvents runs the world for the given number of events, and compares it with the model
// after every round.
func (w *simulatedWorld) runEvents(events int) error {
	w.startServer()
	for w.s.Events() < events {
		if err := w.runWithFaults(min(simulationRound, events-w.s.Events())); err != nil {
			return err
		}
		if err := w.awaitModel(); err != nil {
			return err
		}
	}
	return nil
}

// runWithFaults runs the world with faults for the given number of events.
func (w *simulatedWorld) runWithFaults(events int) error {
	w.faults = true
	for until := w.s.Events() + events; w.s.Events() < until; {
		if err := w.checkExit(); err != nil {
			return err
		}
		w.actRandomly()
	}
	return nil
}

// actRandomly performs one action that the seed chooses.
func (w *simulatedWorld) actRandomly() {
	w.endExpiredOutages()
	rng := w.s.Rand
	switch n := rng.IntN(1000); {
	case n < 50:
		w.pushRandomly()
	case n < 53:
		w.crashServer()
		w.loseDirectories()
		w.startServer()
	case n < 55:
		w.stopServer()
		w.loseDirectories()
		w.startServer()
	case n < 58:
		w.setOutage(&w.away, !w.away.on)
	case n < 61:
		w.setOutage(&w.full, !w.full.on)
	case n < 64:
		w.revokePartition()
	case n < 67:
		w.syncStore()
	case n < 68:
		w.s.Note("lose mirrors while the server runs")
		w.removeDirectory(w.config.MirrorsDir())
		w.tally.losses++
	case n < 92:
		w.s.Sleep(time.Duration(rng.Int64N(int64(2 * time.Second))))
	default:
		if !w.s.Step(w.drawVerdict) {
			w.s.Sleep(time.Duration(rng.Int64N(int64(5 * time.Second))))
		}
	}
}

// loseDirectories sometimes removes directories that may be deleted while the server is
// stopped.
func (w *simulatedWorld) loseDirectories() {
	for _, loss := range []struct {
		name string
		lose func()
	}{
		{"mirrors", func() { w.removeDirectory(w.config.MirrorsDir()) }},
		{"segments", func() { w.removeDirectory(w.config.SegmentsDir()) }},
		{"projections", w.loseProjections},
		{"registrations", w.tearRegistrations},
	} {
		if w.s.Rand.IntN(8) == 0 {
			w.s.Note("lose %s", loss.name)
			loss.lose()
			w.tally.losses++
		}
	}
}

// drawElement returns a random element of a list.
func drawElement[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
