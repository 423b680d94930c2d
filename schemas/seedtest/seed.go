package seedtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// ChooseSeed returns QUARRY_SEED, or another seed in each run, and logs how to repeat the run.
func ChooseSeed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64N(1 << 32)
	if given := os.Getenv("QUARRY_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("QUARRY_SEED=%q: want a number from 0 up", given)
		}
	}
	t.Logf("QUARRY_SEED=%d go test -run '^%s$' repeats the random choices of this run", seed, t.Name())
	return seed
}
