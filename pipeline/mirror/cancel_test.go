//go:build unix

package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// A walk through history, and its process, end with its context.
func TestWalksEndWithTheContext(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a.txt", "a\n")
	for name, walk := range map[string]func(context.Context, *mirror.Mirror) error{
		"blame": func(ctx context.Context, m *mirror.Mirror) error {
			_, err := m.Blame(ctx, commit, "a.txt", 100)
			return err
		},
		"log": func(ctx context.Context, m *mirror.Mirror) error {
			_, err := m.Log(ctx, mirror.LogQuery{Commit: commit, Limit: 1})
			return err
		},
		"shortlog": func(ctx context.Context, m *mirror.Mirror) error {
			_, err := m.Authors(ctx, mirror.LogQuery{Commit: commit})
			return err
		},
		"diff-tree": func(ctx context.Context, m *mirror.Mirror) error {
			_, err := m.Diff(ctx, commit, commit, "", 100)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			program, pidPipe := slowGit(t, name)
			r := repo.Code("r")
			m := open(t, mirror.Options{Git: program}).Mirror(r.ID)
			if _, err := m.Fetch(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- walk(ctx, m) }()
			b, err := os.ReadFile(pidPipe) // waits for the process
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%v; want the context's error", err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d is still there: %v, want %v", pid, err, syscall.ESRCH)
			}
		})
	}
}

// slowGit returns a git that never ends one of its commands, and a pipe that returns its
// process ID.
func slowGit(t *testing.T, name string) (program, pidPipe string) {
	t.Helper()
	program, pidPipe = filepath.Join(t.TempDir(), "git"), filepath.Join(t.TempDir(), "pid")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$2\" in %s) echo $$ >%s; exec sleep 1000;; esac\nexec git \"$@\"\n", name, pidPipe)
	if err := errors.Join(os.WriteFile(program, []byte(script), 0o755), syscall.Mkfifo(pidPipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	return program, pidPipe
}
