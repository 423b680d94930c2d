package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// interruptGrace bounds the time that a process may take to end after an interrupt.
const interruptGrace = 30 * time.Second

// newCommand returns a command that runs in dir and shows its output. When ctx ends, it
// is interrupted rather than killed.
func newCommand(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = interruptGrace
	return c
}

// runOutput runs a command and returns its output without the final newline.
func runOutput(ctx context.Context, dir, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// withCommit checks a commit out next to this tree, calls run with its directory, and
// removes it again.
func withCommit(ctx context.Context, ref, tree string, run func(tree string) error) error {
	if _, err := runOutput(ctx, ".", "git", "worktree", "add", "--force", "--detach", tree, ref); err != nil {
		return err
	}
	defer func() {
		_, _ = runOutput(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
	}()
	return run(tree)
}

// buildCommit builds quarry of a commit, which is checked out in tree meanwhile, into a directory.
func buildCommit(ctx context.Context, ref, tree, dir string) error {
	return withCommit(ctx, ref, tree, func(tree string) error {
		_, err := runOutput(ctx, tree, "go", "build", "-trimpath", "-o", dir+string(filepath.Separator), "./cmd/quarry")
		return err
	})
}
