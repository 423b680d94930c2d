package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// damageRows flips bits throughout the files below the data directory that match a
// pattern, except for segments. It returns the number of files.
func (w *lossWorld) damageRows(pattern string) (files int) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.c.Data, pattern))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			w.t.Fatal(err)
		}
		if !info.Mode().IsRegular() || info.Sys().(*syscall.Stat_t).Nlink > 1 {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		b := []byte{0}
		for at := int64(20); at < info.Size()*3/4; at += 64 {
			if _, err := f.ReadAt(b, at); err != nil {
				w.t.Fatal(err)
			}
			b[0] ^= 0x10
			if _, err := f.WriteAt(b, at); err != nil {
				w.t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			w.t.Fatal(err)
		}
		files++
	}
	return files
}

// TestDamagedStoresHeal damages the stores that are derived from the log while the server
// is stopped. The server starts, answers as before, and keeps at most one damaged version
// of the projections.
func TestDamagedStoresHeal(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct{ name, pattern, store string }{
		{"tables of the projections", "projections/projections-*/*.sst", repair.ScrubbedProjections},
		{"manifest of the projections", "projections/projections-*/MANIFEST-*", repair.ScrubbedProjections},
		{"options of the projections", "projections/projections-*/OPTIONS-*", repair.ScrubbedProjections},
		{"pointer to the projections", "projections/CURRENT", ""},
		{"tables of the accounts", "accounts/*.sst", repair.ScrubbedAccounts},
		{"manifest of the accounts", "accounts/MANIFEST-*", repair.ScrubbedAccounts},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			w := newLossWorld(t, false)
			for round := range 2 {
				w.stopServer()
				w.startServer() // converts the write-ahead logs to tables
				w.commitAndPush()
				w.stopServer()
				if kind.name == "pointer to the projections" {
					w.failOnError(os.WriteFile(filepath.Join(w.c.Data, "projections", "CURRENT"), []byte("qrojections-1\n"), 0o600))
				} else if w.damageRows(kind.pattern) == 0 {
					t.Fatal("there is no such file")
				}
				w.startDamaged()
				w.checkConsistency(kind.name)
				w.commitAndPush()
				if kind.store != "" && w.countRebuilt(kind.store) != 1 {
					t.Errorf("round %d: no rebuilt store is counted", round)
				}
				home, err := projections.OpenHome(w.c.ProjectionsDir())
				w.failOnError(err)
				aside, err := home.AsidePath()
				if err != nil || (aside != "") != (kind.store == repair.ScrubbedProjections) {
					t.Errorf("round %d: set aside is %q, %v", round, aside, err)
				}
			}
			entries, err := os.ReadDir(filepath.Join(w.c.Data, "projections"))
			w.failOnError(err)
			if len(entries) > 4 { // CURRENT, two versions and one that was set aside
				t.Errorf("%d entries are kept: %v", len(entries), entries)
			}
		})
	}
}

// TestDamageWhileRunning damages rows of a running server. The server exits with an error
// that names the file and the remedy, and the next start repairs the damage, even though
// opening the store does not reveal it.
func TestDamageWhileRunning(t *testing.T) {
	t.Parallel()
	for _, name := range []string{repair.ScrubbedProjections, repair.ScrubbedAccounts} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLossWorld(t, false)
			w.stopServer()
			w.startServer()
			w.commitAndPush()
			w.stopServer()
			w.s = openOnly(t, w.c)
			ended := make(chan error, 1) // bounded: receives one value
			go func() { ended <- w.s.Run(t.Context()) }()
			waitUntil(t, func() bool { return w.s.checkReady(t.Context()) == nil })
			damaged := &store.DamageError{Path: filepath.Join(w.c.Data, "x.sst")}
			if name == repair.ScrubbedProjections {
				w.s.versions.NoteDamagedRows(damaged)
			} else {
				w.s.accounts.NoteDamage(damaged)
			}
			if err := <-ended; !errors.Is(err, repair.ErrStartAgain) {
				t.Fatalf("Run = %v, want %v", err, repair.ErrStartAgain)
			}
			w.startServer()
			w.checkConsistency("after the damage")
			if n := w.countRebuilt(name); n != 1 {
				t.Errorf("after damage to %s, %d rebuilt stores are counted, want 1", name, n)
			}
			w.stopServer()
			w.startServer()
			if n := w.countRebuilt(name); n != 0 {
				t.Errorf("after another start, %d rebuilt stores of %s are counted, want 0", n, name)
			}
		})
	}
}

// TestScrubHasDamagedRowsRebuilt damages rows that no request reads. The scrub finds
// them, and the next start rebuilds the store, once.
func TestScrubHasDamagedRowsRebuilt(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{repair.ScrubbedProjections: "projections/projections-*/*.sst", repair.ScrubbedAccounts: "accounts/*.sst"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLossWorld(t, false)
			w.stopServer()
			w.startServer() // converts the write-ahead logs to tables
			w.stopServer()
			w.s = openOnly(t, w.c)
			if w.damageRows(pattern) == 0 {
				t.Fatal("there is no such file")
			}
			o := w.s.scrubOptions()
			o.BytesPerSecond = 1 << 30
			if found, err := repair.NewScrubber(o).RunPass(t.Context()); err != nil || found[name] == 0 {
				t.Fatalf("the scrub finds %v, %v", found, err)
			}
			w.failOnError(w.s.Close())
			w.startServer()
			w.checkConsistency("after the scrub")
			if n := w.countRebuilt(name); n != 1 {
				t.Errorf("after a scrub that found damage in %s, %d rebuilt stores are counted, want 1", name, n)
			}
		})
	}
}

// TestLostKeysOfSegmentsComeBack removes the keys of live segments from the store. No
// checksum shows that. The first search that misses them has them restored.
func TestLostKeysOfSegmentsComeBack(t *testing.T) {
	t.Parallel()
	w := newLossWorld(t, false)
	live := w.s.versions.Live()
	view := live.Places.Acquire()
	segments := view.SegmentInfos()
	view.Release()
	if len(segments) == 0 {
		t.Fatal("there is no segment")
	}
	for _, s := range segments {
		lo, hi := segment.KeyRange(s.ID)
		w.failOnError(live.Store.Excise(t.Context(), lo, hi))
	}
	for _, g := range w.repositories {
		for ref := range g.selectedRefs() {
			want := g.grepLines(ref)
			waitUntil(t, func() bool {
				return slices.Equal(mustAsk(t, w.s, fmt.Sprintf("lossword repo:^%s$ rev:%s", g.Name, ref.Short())), want)
			})
		}
	}
	w.checkConsistency("after the loss")
}

// countRebuilt returns how many stores of a kind were found damaged at this start.
func (w *lossWorld) countRebuilt(store string) int {
	return metricValue(w.t, w.s, `quarry_server_rebuilt_stores_total{store="`+store+`"}`)
}

// startDamaged starts the server as the serve command does: it restarts the server if it
// finds damage that opening the store did not reveal.
func (w *lossWorld) startDamaged() {
	w.t.Helper()
	w.s = openOnly(w.t, w.c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- w.s.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run = %v", err)
		}
	})
	w.t.Cleanup(func() { w.stop() })
	for w.s.checkReady(ctx) != nil {
		select {
		case err := <-ended:
			cancel()
			if !errors.Is(err, repair.ErrStartAgain) {
				w.t.Fatalf("Run = %v, want %v", err, repair.ErrStartAgain)
			}
			w.startServer()
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func (w *lossWorld) failOnError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// commitAndPush makes a commit and waits until it is indexed.
func (w *lossWorld) commitAndPush() {
	w.t.Helper()
	g := w.repositories[0]
	before, after := w.commitFile(g)
	w.appendPush(g, &event.Push{Ref: "refs/heads/main", Before: before, After: after, Action: event.ActionUpdated})
	w.checkConsistency("a push")
}
