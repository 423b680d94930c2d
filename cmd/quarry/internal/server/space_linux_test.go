package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/datadir"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/diskspace"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// smallDisk is an in-memory file system that a test fills.
type smallDisk struct {
	t   *testing.T
	dir string
}

func newSmallDisk(t *testing.T, bytes int64) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=700", bytes)); err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatalf("a full disk needs a separate file system, which only root can mount: %v", err)
		}
		t.Skipf("a full disk needs a separate file system, which only root can mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &smallDisk{t, dir}
}

// fillDisk fills the disk until the given number of bytes is free, or frees space that it
// filled before.
func (d *smallDisk) fillDisk(free int64) {
	d.t.Helper()
	ballast := filepath.Join(d.dir, "ballast")
	if err := os.Remove(ballast); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	for range 10 { // the server may write or free its reserve in the meantime
		var s syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &s); err != nil {
			d.t.Fatal(err)
		}
		take := int64(s.Bavail)*s.Bsize - free
		if take <= 0 {
			return
		}
		f, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			d.t.Fatal(err)
		}
		info, err := f.Stat()
		if err == nil {
			err = syscall.Fallocate(int(f.Fd()), 0, info.Size(), take)
		}
		if err := errors.Join(err, f.Close()); err != nil && !errors.Is(err, syscall.ENOSPC) {
			d.t.Fatal(err)
		}
	}
}

const (
	smallDiskBytes = 256 << 20
	smallMinFree   = 64 << 20
)

// fullDiskConfig returns the settings of a server with its data on a small disk.
func fullDiskConfig(t *testing.T, d *smallDisk, g *gitRepository) *config.Config {
	t.Helper()
	c := testConfig(t, "data="+filepath.Join(d.dir, "data"), "git.allowedRoots="+g.dir, "storage.minFreeBytes=64MiB", "pipeline.reconcileInterval=0")
	c.Connections = []config.Connection{{
		Name: "local", Kind: code.GenericGitHost, Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))}, AutoRegister: true,
	}}
	return c
}

// countedLog counts the appends to the topic of events, and those that were refused because
// the log is full.
type countedLog struct {
	eventlog.Log
	appends, refused atomic.Int64
}

func (l *countedLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	positions, err := l.Log.Append(ctx, topic, partition, records...)
	if topic == event.TopicEvents {
		l.appends.Add(1)
		if errors.Is(err, eventlog.ErrFull) {
			l.refused.Add(1)
		}
	}
	return positions, err
}

// runUntilStopped runs a server with a countedLog and returns a function that stops it.
func runUntilStopped(t *testing.T, c *config.Config) (s *Server, registry *prometheus.Registry, stop func()) {
	t.Helper()
	registry = prometheus.NewRegistry()
	s, err := Open(t.Context(), Options{
		Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry, Version: "test",
		wrapLog: func(l eventlog.Log) eventlog.Log { return &countedLog{Log: l} },
	})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	stop = run(t, s)
	waitForCallers(t, s)
	return s, registry, stop
}

// changeRefused requests changes and expects refusals that do not wait for space: only the
// hook tries to append an event, once, and the log refuses it.
func (s *Server) changeRefused(t *testing.T, g *gitRepository) {
	t.Helper()
	before := fmt.Sprint(s.log.HighWater(t.Context(), event.TopicEvents))
	log := s.log.(*countedLog)
	appends, refused := log.appends.Load(), log.refused.Load()
	for _, r := range []asked{
		{method: http.MethodPost, path: "/api/repos/" + g.ID.String() + "/refresh"},
		{method: http.MethodPost, path: "/api/repos", body: `{"cloneUrl":"` + g.dir + `","name":"other"}`},
	} {
		status, body := s.asOperator(t, r.method, r.path, r.body, "refused")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "nothing was changed") || !strings.Contains(body, "free some space") || strings.Contains(body, s.o.Config.Data) {
			t.Errorf("%s %s on a full disk: %d %s", r.method, r.path, status, body)
		}
	}
	if status, retry := s.pushTo(t, g, int(time.Now().UnixNano())); status != http.StatusServiceUnavailable || retry == "" {
		t.Errorf("a hook on a full disk: %d, Retry-After %q", status, retry)
	}
	if appends, refused = log.appends.Load()-appends, log.refused.Load()-refused; appends != 1 || refused != 1 {
		t.Errorf("three requests tried %d appends, of which the log refused %d, want one that it refused", appends, refused)
	}
	if after := fmt.Sprint(s.log.HighWater(t.Context(), event.TopicEvents)); after != before {
		t.Errorf("the log went from %s to %s", before, after)
	}
}

// TestFullDisk fills the disk below storage.minFreeBytes, then completely, stops the
// server, starts it on the full disk, and frees the disk. Searches are answered all the
// time, changes are refused with the reason, and no entry of the audit log is lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, smallDiskBytes)
	g := newGitRepository(t, "kettle")
	first := g.commitFiles("main.go", "package main\n\nfunc Boil() {}\n")
	c := fullDiskConfig(t, d, g)
	s, registry, stop := runUntilStopped(t, c)
	s.registerAt(t, g, first)
	reserve := filepath.Join(c.Data, diskspace.ReserveName)
	waitUntil(t, func() bool { _, err := os.Stat(reserve); return err == nil })

	searched := 0
	search := func(s *Server) {
		t.Helper()
		searched++
		status, body := s.asOperator(t, http.MethodPost, "/api/search", `{"query":"Boil","matches":10}`, fmt.Sprint("search-", searched))
		if status != http.StatusOK || !strings.Contains(body, "func Boil") {
			t.Fatalf("a search: %d %s", status, body)
		}
	}
	search(s)

	d.fillDisk(smallMinFree * 3 / 4)
	waitUntil(t, func() bool { return s.checkWritable() != nil })
	search(s)
	s.changeRefused(t, g)
	if status, _ := getURL(t, s.URL()+"/readyz"); status != http.StatusOK {
		t.Errorf("readiness on a full disk: %d; searches are answered", status)
	}
	if low := gaugeValue(t, registry, "quarry_server_disk_low", diskspace.DirectoryLog); low != 1 {
		t.Errorf("quarry_server_disk_low is %v, want 1", low)
	}

	d.fillDisk(0)
	search(s)
	stop() // nothing waits for space until runtime.drainTimeout, which would be an error
	d.fillDisk(0)

	s, _, _ = runUntilStopped(t, c)
	search(s)
	s.changeRefused(t, g)

	d.fillDisk(smallDiskBytes)
	waitUntil(t, func() bool { return s.checkWritable() == nil })
	second := g.commitFiles("main.go", "package main\n\nfunc Boil() { boil() }\n")
	if status, _ := s.pushTo(t, g, 1); status != http.StatusAccepted {
		t.Errorf("a hook once there is space: %d, want %d", status, http.StatusAccepted)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == second })
	search(s)
	waitUntil(t, func() bool {
		n := 0
		for _, i := range s.listAuditEntries(t) {
			if i.Action == "user.performed_code_search" {
				n++
			}
		}
		if n > searched {
			t.Fatalf("%d entries of %d searches", n, searched)
		}
		return n == searched
	})
	if _, err := os.Stat(filepath.Join(c.Data, datadir.PendingAuditName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kept records are still there: %v, want %v", err, os.ErrNotExist)
	}
	waitUntil(t, func() bool { _, err := os.Stat(reserve); return err == nil })
}

// TestRemovalOnAFullDisk removes a repository with a push that waits for space while the
// disk is almost full: the repository and its mirror are removed. At half of
// storage.minFreeBytes the removal is refused like any other change.
func TestRemovalOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, smallDiskBytes)
	g := newGitRepository(t, "kettle")
	first := g.commitFiles("main.go", "package main\n\nfunc Boil() {}\n")
	c := fullDiskConfig(t, d, g)
	s, _, _ := runUntilStopped(t, c)
	s.registerAt(t, g, first)
	mirror := filepath.Join(c.MirrorsDir(), fmt.Sprintf("%02x", byte(g.ID)), g.ID.String())
	if _, err := os.Stat(mirror); err != nil {
		t.Fatal(err)
	}
	remove := func(id string) (int, string) {
		return s.asOperator(t, http.MethodDelete, "/api/repos/"+g.ID.String(), "", id)
	}
	d.fillDisk(smallMinFree / 4)
	waitUntil(t, func() bool { return s.checkRemovable() != nil })
	if status, body := remove("refused"); status != http.StatusServiceUnavailable || !strings.Contains(body, "nothing was changed") {
		t.Errorf("a removal with a quarter of the space: %d %s", status, body)
	}

	d.fillDisk(smallMinFree * 2)
	waitUntil(t, func() bool { return s.checkWritable() == nil })
	g.commitFiles("main.go", "package main\n\nfunc Boil() { boil() }\n")
	d.fillDisk(smallMinFree + 4<<20) // the removal is accepted, and has no space to be handled a moment later
	if status, _ := s.pushTo(t, g, 1); status != http.StatusAccepted {
		t.Fatalf("a hook: %d, want %d", status, http.StatusAccepted)
	}
	d.fillDisk(smallMinFree * 3 / 4)
	waitUntil(t, func() bool { return s.checkWritable() != nil && s.checkRemovable() == nil })
	if status, body := remove("taken"); status != http.StatusAccepted {
		t.Fatalf("a removal on a full disk: %d %s", status, body)
	}
	waitUntil(t, func() bool {
		_, err := os.Stat(mirror)
		return errors.Is(err, os.ErrNotExist) && s.defaultAt(g.ID) == ""
	})
}
