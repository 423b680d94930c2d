package e2e

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/seedtest"
)

const (
	backupKills  = 12
	restoreKills = 6
)

// TestBackupAndRestoreAreKilled kills backups, their servers and restores at random
// moments while pushes arrive. A partial backup never counts as complete, older
// generations stay, a second attempt resumes, and everything that was acknowledged before
// a backup is searchable after its restore.
func TestBackupAndRestoreAreKilled(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seedtest.ChooseSeed(t), 0))
	c := newCrashing(t)
	c.startServer()
	c.indexTree()
	backups := filepath.Join(c.dir, "backups")
	began := time.Now()
	c.backUp(backups)
	life := time.Since(began) // most of the backups below are killed before they end
	for i := range backupKills {
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			c.pushUntilItFails(func() {})
		}()
		victim := exec.Command("quarry", c.backupArgs(backups)...)
		killAfter(t, victim, time.Duration(random.Int64N(int64(life))), func() {
			if i%2 == 0 {
				c.server.killProcess()
			}
		})
		c.server.killProcess()
		<-stopped
		c.said = append(c.said, c.server.output.String())
		verifyGenerations(t, backups)
		c.startServer()
	}
	acknowledged := slices.Clone(c.acknowledged)
	t.Logf("%d pushes were acknowledged, generations:\n%s", len(acknowledged), c.backUp(backups))
	verifyGenerations(t, backups)
	c.commitFile("later", "pushed after the backup: zither")
	c.server.killProcess()
	c.data = filepath.Join(c.dir, "restored")
	c.restoreBackups(backups)
	c.startServer()
	c.acknowledged = acknowledged
	c.searchAll()
	if status, answer, err := deliverPush(c.server.url, "msg_later", push{Repository: c.tree, Ref: "refs/heads/main"}); err != nil || status != 202 {
		t.Fatalf("push: %d %s: %v", status, answer, err)
	}
	c.awaitWord("zither")
	if out, err := exec.Command("quarry", "verify", "--server", c.server.url, "--data", c.data).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if err := c.server.stop(); err != nil {
		t.Error(err)
	}
}

func (c *crashing) backupArgs(to string) []string {
	return []string{"backup", to, "--config", c.config, "--data", c.data, "--server", c.server.url}
}

// backUp creates a generation. A server whose backup was killed may still hold it.
func (c *crashing) backUp(to string) string {
	c.t.Helper()
	out, err := exec.Command("quarry", append(c.backupArgs(to), "--keep", "3")...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("quarry backup: %v\n%s\n%s", err, out, c.server.output)
	}
	list, err := exec.Command("quarry", "restore", to, "--list").CombinedOutput()
	if err != nil {
		c.t.Fatalf("quarry restore --list: %v\n%s", err, list)
	}
	return string(out) + string(list)
}

// killAfter starts a command and kills it after the given time. It calls before first.
func killAfter(t *testing.T, command *exec.Cmd, life time.Duration, before func()) (killed bool) {
	t.Helper()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-time.After(life)
	before()
	_ = command.Process.Kill() // it may have ended already
	_ = command.Wait()         // ProcessState contains the result
	return command.ProcessState.ExitCode() == -1
}

// verifyGenerations checks the checksums of every generation.
func verifyGenerations(t *testing.T, backups string) {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(backups, "generations", "0*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no generations: %v", err)
	}
	for _, path := range manifests {
		number := strings.TrimLeft(filepath.Base(path), "0")
		if out, err := exec.Command("quarry", "restore", backups, "--verify", "--generation", number).CombinedOutput(); err != nil {
			t.Errorf("generation %s: %v\n%s", number, err, out)
		}
	}
}

// restoreBackups kills restores as soon as they have begun to write, and then lets one
// finish. No server starts on an incomplete restore.
func (c *crashing) restoreBackups(backups string) {
	c.t.Helper()
	args := []string{"restore", backups, "--config", c.config, "--data", c.data, "--verify"}
	for range restoreKills {
		if !pollUntil(func() bool {
			if c.killOnceRestoring(exec.Command("quarry", args...)) {
				return true
			}
			must(c.t, os.RemoveAll(c.data)) // the restore ended first: try again
			return false
		}) {
			c.t.Fatal("no restore was killed halfway")
		}
		out, err := exec.Command("quarry", "serve", "--listen", "127.0.0.1:0", "--config", c.config, "--data", c.data).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "is partially restored: run quarry restore") {
			c.t.Errorf("a server on a half restored directory: %v\n%s", err, out)
		}
	}
	if out, err := exec.Command("quarry", args...).CombinedOutput(); err != nil {
		c.t.Fatalf("quarry restore: %v\n%s", err, out)
	}
}

// isRestoring reports whether the data directory contains the marker of a restore.
func (c *crashing) isRestoring() bool {
	_, err := os.Stat(filepath.Join(c.data, "RESTORING"))
	return err == nil
}

// killOnceRestoring starts a restore and kills it when the marker exists. It reports
// whether the directory was left incomplete.
func (c *crashing) killOnceRestoring(command *exec.Cmd) bool {
	c.t.Helper()
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- command.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				c.t.Fatalf("a restore that was not killed: %v", err)
			}
			return false
		case <-tick.C:
		}
		if c.isRestoring() {
			_ = command.Process.Kill() // it may have ended in the meantime
			<-ended
			return c.isRestoring()
		}
	}
}
