package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// verify finds one difference, unless the replica is refused.
func (r *replica) verify(_ context.Context, in verification.Request, emit func(*verification.Finding) error) error {
	if r.refused.Load() {
		return verification.ErrBusy
	}
	r.verified.Add(1)
	counts := verification.Counts{Repositories: 2, Total: 2, Refs: 3, Files: 10, Differences: 1}
	return errors.Join(emit(&verification.Finding{Type: verification.Progress, Counts: &counts}),
		emit(&verification.Finding{Type: verification.Difference, Kind: "missing", Message: fmt.Sprint(in.Repositories)}),
		emit(&verification.Finding{Type: verification.Summary, Counts: &counts}))
}

// TestVerifyShards has all replicas of a front compare their rows: the findings name the replicas, the
// summary is the sum, and what is not compared is named and counted.
func TestVerifyShards(t *testing.T) {
	f, a, b, c := startFrontOfReplicas(t)
	f.o.PartitionOf = func(id code.RepositoryID) int32 { return int32(id % 2) }
	verify := func(when string, r verification.Request, want ...string) {
		t.Helper()
		var lines []string
		err := f.Verify(t.Context(), r, func(found *verification.Finding) error {
			line := fmt.Sprintf("%s %s%s", found.Node, found.Type, found.Message)
			if found.Type == verification.Summary {
				line += fmt.Sprintf("%+v", *found.Counts)
			}
			if found.Type != verification.Progress {
				lines = append(lines, line)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		names := strings.NewReplacer(a.address, "A", b.address, "B", c.address, "C")
		for i, line := range lines {
			lines[i] = names.Replace(line)
		}
		slices.Sort(lines)
		text := strings.Join(lines, "\n")
		if text != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", when, text, strings.Join(want, "\n"))
		}
	}
	all := verification.Request{}
	verify("all", all, " summary{Repositories:6 Total:6 Refs:9 Files:30 Differences:3 Repaired:0 Unchecked:0}",
		"0@A difference[]", "0@A node", "0@B difference[]", "0@B node", "1@C difference[]", "1@C node")
	verify("a repository", verification.Request{Repositories: []code.RepositoryID{3}}, " summary{Repositories:2 Total:2 Refs:3 Files:10 Differences:1 Repaired:0 Unchecked:0}",
		"1@C difference["+code.RepositoryID(3).String()+"]", "1@C node")
	b.refused.Store(true)
	verify("one is busy", all, " summary{Repositories:4 Total:4 Refs:6 Files:20 Differences:2 Repaired:0 Unchecked:1}", "0@A difference[]", "0@A node",
		`0@B uncheckedits repositories: the shard refuses the operation: the session is refused: "unavailable: another verification is running, retry when it has finished"`,
		"1@C difference[]", "1@C node")
	b.refused.Store(false)
	a.older.Store(true)
	c.lost.Store(true)
	clocktest.WaitUntil(t, "a replica is lost", func() bool { return len(f.shares[1].listReached()) == 0 })
	verify("one is of an older release, and one is lost", all, " summary{Repositories:2 Total:2 Refs:3 Files:10 Differences:1 Repaired:0 Unchecked:2}",
		"0@A uncheckedits repositories: the shard refuses the operation: its release is older than that of the front", "0@B difference[]", "0@B node",
		`1@C uncheckedits repositories: the replica does not answer: the session is refused: "not ready"`)
	if err := f.Verify(t.Context(), verification.Request{Remote: true}, nil); !errors.Is(err, failure.ErrUnavailable) {
		t.Errorf("with remote: %v", err)
	}
	before := b.verified.Load()
	errGone := errors.New("the client has left")
	if err := f.Verify(t.Context(), all, func(*verification.Finding) error { return errGone }); !errors.Is(err, errGone) || b.verified.Load() > before+1 {
		t.Errorf("the client leaves: %v", err)
	}
	if err := f.Verify(t.Context(), all, func(*verification.Finding) error {
		if err := f.Verify(t.Context(), all, nil); !errors.Is(err, verification.ErrBusy) {
			t.Errorf("a second verification: %v", err)
		}
		return errGone
	}); !errors.Is(err, errGone) {
		t.Error(err)
	}
}
