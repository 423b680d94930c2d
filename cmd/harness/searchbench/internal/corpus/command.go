package corpus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// command is one run of a package manager or of git, bounded in time and in the size of
// its output.
type command struct {
	dir     string
	env     []string // added to this process's environment
	timeout time.Duration
	input   []byte // standard input
	args    []string
}

const (
	// defaultCommandTimeout bounds one download or one git command.
	defaultCommandTimeout = 10 * time.Minute
	// maxCommandOutput bounds the kept output of each stream of a command.
	maxCommandOutput = 16 << 20
	// killGrace bounds how long a command may take to end after its context has ended.
	killGrace = 5 * time.Second
)

// captureOutput runs the command in its own process group and returns its standard
// output.
func (c command) captureOutput(ctx context.Context) ([]byte, error) {
	timeout := c.timeout
	if timeout == 0 {
		timeout = defaultCommandTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Stdin = c.dir, bytes.NewReader(c.input)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	var stdout, stderr limitedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(c.args, " "), err, lastLines(stderr.String()+"\n"+stdout.String(), 5))
	}
	return stdout.Bytes(), nil
}

func (c command) run(ctx context.Context) error {
	_, err := c.captureOutput(ctx)
	return err
}

// limitedBuffer keeps the first maxCommandOutput bytes and discards the rest, so that a
// command with much output neither fails nor fills memory.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := maxCommandOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// lastLines returns the last n lines of a command's output, for error messages.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
