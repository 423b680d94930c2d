//go:build unix

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// others are the permission bits for all users except the owner.
const others = 0o077

// withoutMask runs quarry with a umask that makes every new file readable by all users. It
// is not the umask of this process, in which other tests run.
var withoutMask = []string{"sh", "-c", `umask 0; exec quarry "$@"`, "quarry"}

// TestDataIsClosedToOtherUsers starts a server with a umask that makes every new file
// readable by all users, on directories that an administrator has made readable by all.
// It checks everything that the server and an offline command write there.
func TestDataIsClosedToOtherUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newCrashing(t)
	c.data = filepath.Join(dir, "data")
	elsewhere := filepath.Join(dir, "elsewhere")
	for _, path := range []string{c.data, elsewhere, filepath.Join(c.data, "segments"), filepath.Join(c.data, "mirrors"), filepath.Join(c.data, "accounts")} {
		if err := errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o755)); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	start := func() {
		t.Helper()
		address, err := loopback.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		if c.server, err = startProgram(withoutMask, address, dir, os.Environ(), "--config", c.config, "--data", c.data, "--set", "storage.projections="+elsewhere); err != nil {
			t.Fatal(err)
		}
	}
	start()
	for _, path := range []string{c.data, elsewhere} {
		want := regexp.MustCompile(`level=WARN .* path=` + regexp.QuoteMeta(path) + ` mode=0755 command="chmod 0?700 ` + regexp.QuoteMeta(path))
		if !want.MatchString(c.server.output.String()) {
			t.Errorf("no warning of %s:\n%s", path, c.server.output)
		}
	}
	c.indexTree()
	c.pushUntilMerged()
	if n, err := countMatches(c.server.url, "vuvuzela"); err != nil || n != 1 {
		t.Errorf("search: %d, %v", n, err)
	}
	c.stopAndLook(dir, elsewhere)

	// Make files accessible, as an earlier version or a copy of the files may leave them.
	opened := 0
	for _, root := range []string{c.data, elsewhere} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			opened++
			return os.Chmod(path, info.Mode().Perm()|0o044|info.Mode().Perm()>>3&0o011|info.Mode().Perm()>>6&0o011)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	start()
	closed := regexp.MustCompile(`level=WARN msg="restricted the permissions of files and directories[^\n]* changed=(\d+)`)
	// The directories are made private before anything is opened, and their contents
	// while the server runs.
	if !pollUntil(func() bool { return len(closed.FindAllString(c.server.output.String(), 2)) == 2 }) {
		t.Errorf("close %d files that were open to others: want two reports of it in the log:\n%s", opened, c.server.output)
	}
	c.stopAndLook(dir, elsewhere)
}

// pushUntilMerged pushes until segments have been merged.
func (c *crashing) pushUntilMerged() {
	c.t.Helper()
	for c.pushes < 64 && !c.hasMerged() {
		c.pushes++
		word := fmt.Sprintf("bassoon%dx", c.pushes)
		c.commitFile(word, "here is "+word)
		if status, answer, err := deliverPush(c.server.url, "msg_"+word, push{Repository: c.tree, Ref: "refs/heads/main", After: commitOf(c.tree, "HEAD")}); err != nil || status != http.StatusAccepted {
			c.t.Fatalf("deliver: %d %s %v", status, answer, err)
		}
		if !pollUntil(func() bool { n, _ := countMatches(c.server.url, word); return n == 1 }) {
			c.t.Fatalf("%s is not found\n%s", word, c.server.output)
		}
	}
	if !pollUntil(c.hasMerged) {
		c.t.Fatal("no segments were merged")
	}
}

func (c *crashing) hasMerged() bool {
	_, text, err := sendRequest(http.MethodGet, c.server.metricsURL+"/metrics", http.Header{}, nil)
	return err == nil && regexp.MustCompile(`(?m)^quarry_compactor_merges_total\S* [1-9]`).MatchString(text)
}

// stopAndLook stops the server, runs an offline command on its directories, and reports
// everything that other users can access.
func (c *crashing) stopAndLook(dir, projections string) {
	c.t.Helper()
	c.checkPermissions(projections) // while the server runs
	if err := c.server.stop(); err != nil {
		c.t.Fatal(err)
	}
	replay := exec.Command(withoutMask[0], append(withoutMask[1:], "replay", "--switch", "--config", c.config, "--data", c.data, "--set", "storage.projections="+projections)...)
	replay.Dir = dir
	if out, err := replay.CombinedOutput(); err != nil {
		c.t.Fatalf("replay: %v\n%s", err, out)
	}
	c.checkPermissions(projections)
}

// checkPermissions reports what other users can access, except for the directories that
// the test has created.
func (c *crashing) checkPermissions(projections string) {
	c.t.Helper()
	seen := 0
	for _, root := range []string{c.data, projections} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed in the meantime
			}
			if err != nil || path == root {
				return err
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if seen++; info.Mode().Perm()&others != 0 {
				c.t.Errorf("%s: %v", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			c.t.Error(err)
		}
	}
	if seen < 50 {
		c.t.Errorf("only %d files were looked at", seen)
	}
}
