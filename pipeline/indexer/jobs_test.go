package indexer

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestProgressIsLogged checks that a long job logs its progress once in each interval, and
// a short one never.
func TestProgressIsLogged(t *testing.T) {
	now := time.Unix(1000, 0)
	logged := 0
	j := &job{report: func() {}, now: func() time.Time { return now }, logProgress: func() { logged++ }}
	new(jobs).beginJob(1, j)
	for range 4 {
		j.addProgress(1, 10)
		now = now.Add(progressLogInterval / 4)
	}
	if logged != 0 {
		t.Errorf("a job shorter than %s logs %d lines", progressLogInterval, logged)
	}
	for range 10 {
		j.addProgress(1, 10)
		now = now.Add(progressLogInterval / 4)
	}
	if logged != 3 {
		t.Errorf("%d lines in two and a half intervals, want 3", logged)
	}
}

// TestImportLogsProgress imports a repository with a clock by which each file takes longer than
// progressLogInterval.
func TestImportLogsProgress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var out bytes.Buffer
	var intervals atomic.Int64
	b.x.o.Logger = slog.New(slog.NewTextHandler(&out, nil))
	b.x.o.Now = func() time.Time { return time.Unix(0, 0).Add(time.Duration(intervals.Add(1)) * progressLogInterval) }
	b.repo.CommitFiles("a.go", "package a\n", "b.go", "package b\n")
	b.registerRepository()
	if text := out.String(); !strings.Contains(text, `msg="reading files" repository=`+b.code.Name+" ") || !strings.Contains(text, " files_total=2 ") {
		t.Errorf("the log does not say how far the import is:\n%s", text)
	}
}
