package numbering

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// openLog opens a log with four partitions until the test ends.
func openLog(t *testing.T) eventlog.Log {
	t.Helper()
	log, err := embeddedlog.Open(filepath.Join(t.TempDir(), "log"), embeddedlog.Options{Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// encodeRegistration returns a registration as a webhook appends it.
func encodeRegistration(name string) (event.Record, error) {
	ev := &event.RepositoryRegistered{At: time.Now(), Repository: code.Repository{
		ID: code.NewRepositoryID("test", name), Kind: code.GitHub, Name: name, CloneURL: "https://host.example/" + name, Connection: "hub",
	}}
	return event.Encode(event.Envelope{ID: name, Source: "/test", Time: ev.At}, ev)
}

// awaitNumber waits until the process has assigned the given number.
func (p *queryProcess) awaitNumber(t *testing.T, number code.RepositoryNumber) {
	t.Helper()
	clocktest.WaitUntil(t, fmt.Sprintf("number %d to be assigned", number), func() bool { return p.accounts.Numbers.Repository(number) != 0 })
}

// queryProcess holds the parts of a query process that deal with numbers.
type queryProcess struct {
	accounts  *accountrows.Rows
	versions  *versions.Versions
	numbering *Assigner
}

func newQueryProcess(t *testing.T, log eventlog.Log) *queryProcess {
	t.Helper()
	data, logger, registry := t.TempDir(), slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	accounts, err := accountrows.Open(accountrows.Options{Directory: filepath.Join(data, "accounts"), Now: time.Now, Log: log, Damage: repair.NewMetrics(registry), Logger: logger, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	home, err1 := projections.OpenHome(filepath.Join(data, "projections"))
	objects, err2 := segmentstore.OpenDirectory(filepath.Join(data, "segments"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	frames := segment.NewCache(1 << 20)
	v, err := versions.Open(t.Context(), versions.Options{Home: home, Log: log, DataDir: data, TempDir: filepath.Join(data, "tmp"), BlocksBytes: 1 << 20, LogDir: filepath.Join(data, "log"), Objects: objects, Frames: frames, Logger: logger, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(v.Close(), frames.Close(), accounts.Close()); err != nil {
			t.Error(err)
		}
	})
	return &queryProcess{accounts, v, New(accounts, v, time.Now, logger)}
}

func (p *queryProcess) startRunners(ctx context.Context, g *errgroup.Group) {
	g.Go(func() error { return p.accounts.Run(ctx) })
	g.Go(func() error { return p.versions.Run(ctx) })
	g.Go(func() error { return p.numbering.Run(ctx) })
}

// TestTwoProcessesNumberAtOnce runs two query processes on one log while webhooks
// register repositories in four partitions, and while both processes get requests to
// register the same repositories.
func TestTwoProcessesNumberAtOnce(t *testing.T) {
	log := openLog(t)
	processes := []*queryProcess{newQueryProcess(t, log), newQueryProcess(t, log)}
	ctx, cancel := context.WithCancel(t.Context())
	running, work := new(errgroup.Group), new(errgroup.Group)
	t.Cleanup(func() {
		cancel()
		if err := running.Wait(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range processes {
		p.startRunners(ctx, running)
		<-p.numbering.started
	}
	const hooked, asked = 60, 40
	work.Go(func() error {
		for i := range hooked {
			rec, err := encodeRegistration(fmt.Sprintf("hooked/%d", i))
			if err != nil {
				return err
			}
			if _, err := log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec); err != nil {
				return err
			}
		}
		return nil
	})
	given := make([][]code.RepositoryNumber, len(processes))
	for n, p := range processes {
		work.Go(func() error {
			for i := range asked {
				name := fmt.Sprintf("asked/%d", i)
				number, err := p.numbering.NumberRepository(ctx, code.Repository{ID: code.NewRepositoryID("test", name), Name: name})
				if err != nil {
					return err
				}
				given[n] = append(given[n], number)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(given[0], given[1]) {
		t.Errorf("two processes answered the numbers %v and %v", given[0], given[1])
	}
	last := code.RepositoryNumber(hooked + asked)
	for _, p := range processes {
		p.awaitNumber(t, last)
	}
	seen := map[code.RepositoryID]bool{}
	for number := code.RepositoryNumber(1); number <= last; number++ {
		a, b := processes[0].accounts.Numbers.Repository(number), processes[1].accounts.Numbers.Repository(number)
		if a != b || a == 0 || seen[a] {
			t.Fatalf("number %d belongs to %d and to %d; seen before: %v", number, a, b, seen[a])
		}
		seen[a] = true
	}
	if got := processes[0].accounts.Numbers.Repository(last + 1); got != 0 {
		t.Errorf("number %d belongs to %d, and there are %d repositories", last+1, got, last)
	}
}

// TestReadyAfterTheLookAtAllRepositories checks that a scan of a catalog that lags behind
// the log does not make the server ready, because it does not cover later repositories.
func TestReadyAfterTheLookAtAllRepositories(t *testing.T) {
	n := newQueryProcess(t, openLog(t)).numbering
	n.complete.Store(true)
	if err := n.CheckReady(); err != nil {
		t.Errorf("every repository of a catalog that catches up has a number: %v", err)
	}
	n.caughtUp = func() bool { return true }
	if err := n.CheckReady(); !errors.Is(err, ErrPending) {
		t.Errorf("the catalog has caught up, and nothing has looked at it since: %v, want %v", err, ErrPending)
	}
	n.markStarted()
	if err := n.CheckReady(); err != nil {
		t.Errorf("all repositories have numbers: %v", err)
	}
}
