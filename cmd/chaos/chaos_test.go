package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/cmd/chaos/internal/rounds"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
)

// TestChaos is a short run of the suite: every set-up, a few rounds each. The seed
// is another one every time; QUARRY_SEED repeats one.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "quarry")
	if out, err := exec.Command("go", "build", "-tags", "quarrychaos", "-o", binary, "../quarry").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("QUARRY_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for setup, n := range map[fleet.Setup]int{fleet.Embedded: 8, fleet.OneBroker: 2, fleet.ThreeBrokers: 2} {
		t.Run(string(setup), func(t *testing.T) {
			if setup != fleet.Embedded {
				needBrokers(t)
			}
			t.Logf("seed %d", seed)
			tally, err := rounds.Run(context.Background(), rounds.Options{
				Fleet: fleet.Options{Quarry: binary, Setup: setup, Dir: filepath.Join(dir, string(setup))}, Rounds: n, Seed: seed, Log: t.Logf,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", rounds.Markdown([]*rounds.Tally{tally}))
		})
	}
}

// needBrokers skips without Java or jars, or fails where everything must run.
func needBrokers(t *testing.T) {
	t.Helper()
	if _, _, err := brokers.Find(""); errors.Is(err, brokers.ErrUnavailable) {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
