package proc

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunReportsFailureWithOutput(t *testing.T) {
	_, err := Run(context.Background(), Spec{Path: "/bin/sh", Args: []string{"-c", "echo reason; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("got %v, want the printed reason", err)
	}
}

// TestRunMeasuresChildren runs a program whose child holds about 64 MB long enough to be
// sampled.
func TestRunMeasuresChildren(t *testing.T) {
	script := `sh -c 'x=$(head -c 64000000 /dev/zero | tr "\0" x); sleep 0.5; echo ${#x}'; true`
	usage, err := Run(context.Background(), Spec{Path: "/bin/sh", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	if usage.PeakBytes < 60_000_000 || usage.Wall < 500*time.Millisecond {
		t.Errorf("peak %d bytes, wall %s; want at least 60 MB and 0.5 s", usage.PeakBytes, usage.Wall)
	}
}

func TestStopEndsChildren(t *testing.T) {
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 60 & sleep 60"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for syscall.Kill(-p.cmd.Process.Pid, 0) == nil && groupMemory(p.cmd.Process.Pid).ResidentBytes > 0 {
		if time.Now().After(deadline) {
			t.Fatal("a child of the program is still there")
		}
	}
}

func TestRunEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	start := time.Now()
	if _, err := Run(ctx, Spec{Path: "/bin/sleep", Args: []string{"60"}}); err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("got %v after %s, want a prompt error", err, time.Since(start))
	}
}
