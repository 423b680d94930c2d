package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/cmd/internal/testserver"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// TestChaos is a short run of the suite, with a few rounds for every setup. The seed
// differs in each run; QUARRY_SEED repeats a run.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	dir, binary := t.TempDir(), testserver.Build(t)
	seed := seedtest.ChooseSeed(t)
	for setup, n := range map[fleet.Setup]int{fleet.Embedded: 8, fleet.OneBroker: 2, fleet.ThreeBrokers: 2, fleet.InBucket: 2, fleet.Sharded: 1} {
		t.Run(string(setup), func(t *testing.T) {
			t.Parallel() // the setups mostly wait for their processes
			if setup != fleet.Embedded {
				needBrokers(t)
			}
			if setup == fleet.InBucket || setup == fleet.Sharded {
				s3test.Need(t)
			}
			c := &cli{Quarry: binary, Work: dir, Rounds: n, Seed: seed, Setups: []fleet.Setup{setup}, Out: filepath.Join(dir, string(setup)+".md")}
			if err := c.Run(t.Context()); err != nil {
				t.Fatalf("%d rounds of faults, with QUARRY_SEED=%d: %v", n, seed, err)
			}
			figures, err := os.ReadFile(c.Out)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", figures)
		})
	}
}

// needBrokers skips the test without Java or jars, or fails it if everything must run.
func needBrokers(t *testing.T) {
	t.Helper()
	if _, _, err := brokers.Find(""); errors.Is(err, brokers.ErrUnavailable) {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// TestChaosSaysHowToRepeat runs rounds that cannot begin, and expects the command that
// repeats them in the output.
func TestChaosSaysHowToRepeat(t *testing.T) {
	dir := t.TempDir()
	c := &cli{Quarry: filepath.Join(dir, "nowhere"), Work: dir, Rounds: 1, Setups: []fleet.Setup{fleet.Embedded}}
	err := c.Run(t.Context())
	if err == nil || c.Seed == 0 || !strings.Contains(err.Error(), fmt.Sprintf("make chaos SEED=%d ROUNDS=1 CHAOSFLAGS='--setups embedded'", c.Seed)) {
		t.Errorf("rounds of a binary that does not exist, with seed %d: error %v, want one with the command that repeats them", c.Seed, err)
	}
}
