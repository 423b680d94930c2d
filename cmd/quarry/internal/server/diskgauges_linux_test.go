package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/diskspace"
)

// diskUsage returns the disk usage of a directory as du computes it: the blocks of its
// files, each file counted once.
func diskUsage(t *testing.T, dir string) (bytes, files int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		var s syscall.Stat_t
		if err := errors.Join(err, syscall.Lstat(path, &s)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if !seen[s.Ino] {
			seen[s.Ino], files = true, files+1
			bytes += s.Blocks * 512
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, files
}

// TestDiskGaugesEqualUsage compares the gauges of disk space with the blocks of the
// files, at the start, after imports and after a restart. The tolerance is two file
// system blocks per file.
func TestDiskGaugesEqualUsage(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kettle")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
	commit := g.commitFiles("a.txt", strings.Repeat("some text\n", 1000))
	differences := func(s *Server, registry *prometheus.Registry) (found []string) {
		t.Helper()
		s.disks.MeasureUsage(t.Context())
		current := s.versions.Live().Store.Dir()
		for _, d := range []struct{ gauge, label, dir string }{
			{"quarry_embeddedlog_disk_bytes", "", c.LogDir()},
			{"quarry_store_disk_bytes", "", current},
			{"quarry_projections_version_bytes", "current", current},
			{"quarry_server_disk_used_bytes", diskspace.DirectoryMirrors, c.MirrorsDir()},
			{"quarry_server_disk_used_bytes", diskspace.DirectorySegments, c.SegmentsDir()},
			{"quarry_server_disk_used_bytes", diskspace.DirectoryData, c.Data},
		} {
			used, files := diskUsage(t, d.dir)
			if got := int64(gaugeValue(t, registry, d.gauge, d.label)); max(got-used, used-got) > 2*files*4096 {
				found = append(found, fmt.Sprintf("%s is %d, the %d files take %d", d.gauge, got, files, used))
			}
		}
		return found
	}
	compare := func(s *Server, when string, registry *prometheus.Registry) {
		t.Helper()
		var found []string // again while files grow in between
		eventuallyOr(t, func() bool { found = differences(s, registry); return len(found) == 0 }, func() string { return when + ": " + strings.Join(found, "; ") })
	}
	for _, when := range []string{"the first start", "a restart"} {
		registry := prometheus.NewRegistry()
		s := open(t, c, registry, registry)
		stop := run(t, s)
		waitForCallers(t, s)
		compare(s, when, registry)
		for i := range 5 {
			commit = g.commitFiles("b.txt", strings.Repeat(when+" text\n", 1000*(i+1)))
			s.registerAt(t, g, commit)
			if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
		}
		compare(s, "after imports, "+when, registry)
		stop()
	}
}
