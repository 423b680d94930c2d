package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/client"
)

// newCommand returns a quarry command that uses the server as its operator.
func (s *server) newCommand(args ...string) (*exec.Cmd, *buffer) {
	c, stderr := exec.Command("quarry", args...), new(buffer)
	c.Env = append(os.Environ(), "QUARRY_SERVER="+s.url, "QUARRY_DATA="+s.data)
	c.Stderr = stderr
	return c, stderr
}

// startCommand starts a command that must end within hangDeadline.
func startCommand(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(hangDeadline, func() { _ = c.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
}

// exitStatus waits for a command and returns its exit status, or -1 if a signal ended it.
func exitStatus(c *exec.Cmd) int {
	_ = c.Wait() // ProcessState contains the result
	return c.ProcessState.ExitCode()
}

// TestIndexSurvivesRestart stops the server while quarry index waits, and restarts it at
// the same address. A git that waits for the test keeps the first server from indexing.
func TestIndexSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repository := filepath.Join(dir, "demo")
	if err := runGit("", "init", "-q", "-b", "main", repository); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repository, "a.txt"), []byte("ocarina\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(runGit(repository, "add", "-A"), runGit(repository, "commit", "-q", "-m", "one")); err != nil {
		t.Fatal(err)
	}
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	hold := filepath.Join(dir, "hold")
	environ, err := environWithGit(filepath.Join(dir, "bin"), hold)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", filepath.Join(dir, "data"), "--git-root", dir}
	first, err := startServerAt(address, dir, environ, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer first.killProcess()
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(hold) }() // ends any git that is still waiting
	index, stderr := first.newCommand("index", repository, "--name", "demo")
	startCommand(t, index)
	to, err := client.New(first.url, client.Options{Transport: &operator.Transport{Dir: first.data}})
	if err != nil {
		t.Fatal(err)
	}
	if !pollUntil(func() bool {
		page, err := to.ListRepositories(t.Context(), client.ListRepositoriesParams{})
		return err == nil && len(page.Items) == 1
	}) {
		t.Fatalf("the repository is not registered: %s", stderr)
	}
	first.killProcess()
	if !pollUntil(func() bool { return strings.Contains(stderr.String(), "the server is not available; waiting up to") }) {
		t.Fatalf("quarry index does not wait for the server: %s", stderr)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	second, err := startServerAt(address, dir, os.Environ(), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer second.killProcess()
	if code := exitStatus(index); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for _, want := range []string{"the server answers again\n", "demo: 1 files, searchable after"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q lacks %q", stderr, want)
		}
	}
	testInterrupt(t, second)
	testBrokenPipe(t, second)
}

// environWithGit returns an environment whose git waits while the file hold exists.
func environWithGit(dir, hold string) ([]string, error) {
	real, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	script := "#!/bin/sh\nwhile [ -e '" + hold + "' ]; do sleep 0.02; done\nexec '" + real + "' \"$@\"\n"
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755)); err != nil {
		return nil, err
	}
	return append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH")), nil
}

// testInterrupt interrupts a waiting command, as Ctrl-C does.
func testInterrupt(t *testing.T, s *server) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		c, stderr := s.newCommand("events", "tail", "--follow")
		stdout := new(buffer)
		c.Stdout = stdout
		startCommand(t, c)
		if !pollUntil(func() bool { return strings.Contains(stdout.String(), "revision.indexed") }) {
			t.Fatalf("no events: %s", stderr)
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := exitStatus(c); code != want || stderr.String() != "" {
			t.Errorf("after %v: exit status %d, %q; want %d", signal, code, stderr, want)
		}
	}
}

// testBrokenPipe closes the standard output of a command while it writes, as head does.
func testBrokenPipe(t *testing.T, s *server) {
	for _, args := range [][]string{{"search", "ocarina"}, {"events", "tail", "--follow"}, {"help"}} {
		c, stderr := s.newCommand(args...)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdout = w
		_ = r.Close()
		startCommand(t, c)
		_ = w.Close()
		_ = c.Wait() // a signal ends it
		if status := c.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGPIPE || stderr.String() != "" {
			t.Errorf("%q into a closed pipe: %v, %q", args, c.ProcessState, stderr)
		}
	}
}
