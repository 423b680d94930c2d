package indexer

import (
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
