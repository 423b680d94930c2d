package seedtest

import (
	"fmt"
	"testing"
)

// recorder is a test that keeps what it logs and does not end.
type recorder struct {
	testing.TB
	logged, failed string
}

func (r *recorder) Logf(format string, args ...any)   { r.logged += fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.failed += fmt.Sprintf(format, args...) }

func TestChooseSeed(t *testing.T) {
	t.Setenv("QUARRY_SEED", "")
	if a, b, c := ChooseSeed(t), ChooseSeed(t), ChooseSeed(t); a == b && b == c {
		t.Errorf("three runs have the seed %d", a)
	}
	t.Setenv("QUARRY_SEED", "42")
	r := &recorder{TB: t}
	if seed := ChooseSeed(r); seed != 42 || r.failed != "" {
		t.Errorf("seed %d, %q; want the 42 of QUARRY_SEED", seed, r.failed)
	}
	if want := "QUARRY_SEED=42 go test -run '^TestChooseSeed$' repeats the random choices of this run"; r.logged != want {
		t.Errorf("logged %q, want %q", r.logged, want)
	}
	t.Setenv("QUARRY_SEED", "-1")
	if ChooseSeed(r); r.failed == "" {
		t.Error("QUARRY_SEED=-1 is accepted")
	}
}
