package proc

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunReportsFailureWithOutput(t *testing.T) {
	_, err := Run(context.Background(), Spec{Path: "/bin/sh", Args: []string{"-c", "echo reason; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("got %v, want the printed reason", err)
	}
}

// TestRunMeasuresChildren runs a program whose child holds about 64 MB until they were
// sampled.
func TestRunMeasuresChildren(t *testing.T) {
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", `sh -c 'x=$(head -c 64000000 /dev/zero | tr "\0" x); sleep 86400; echo ${#x}'; true`}})
	if err != nil {
		t.Fatal(err)
	}
	clocktest.WaitUntil(t, "a peak of at least 60 MB", func() bool { return p.Usage().PeakBytes >= 60_000_000 })
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if peak := p.Usage().PeakBytes; peak < 60_000_000 {
		t.Errorf("a peak of %d bytes after the end, want at least 60 MB", peak)
	}
	usage, err := Run(context.Background(), Spec{Path: "/bin/sleep", Args: []string{"0.5"}})
	if err != nil || usage.Wall < 500*time.Millisecond {
		t.Errorf("half a second took %s, %v", usage.Wall, err)
	}
}

// TestOtherGroupsAreMeasured runs a program that waits for a child in another process
// group, as a server waits for git.
func TestOtherGroupsAreMeasured(t *testing.T) {
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", `setsid -w sh -c 'x=$(head -c 64000000 /dev/zero | tr "\0" x); while kill -0 $PPID; do sleep 0.05; done'; true`}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	clocktest.WaitUntil(t, "at least 60 MB", func() bool { return p.Memory().ResidentBytes >= 60_000_000 })
	if cpu := p.CPU(); cpu == 0 {
		t.Error("no processor time of a running child in another group")
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
	clocktest.WaitUntil(t, "the end of the children", func() bool {
		return syscall.Kill(-p.cmd.Process.Pid, 0) != nil || treeMemory(p.cmd.Process.Pid).ResidentBytes == 0
	})
}

func TestRunEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// A day: if it is not stopped, the tests end by their -timeout.
	if _, err := Run(ctx, Spec{Path: "/bin/sleep", Args: []string{"86400"}}); err == nil {
		t.Error("got no error, want one because the context has ended")
	}
}
