package versions_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/projections/versions/versionstest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// runVersions runs the versions until the test ends.
func runVersions(t *testing.T, v *versions.Versions) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- v.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// awaitReplay waits until the latest replay has ended.
func awaitReplay(t *testing.T, v *versions.Versions) (list replay.List) {
	t.Helper()
	clocktest.WaitUntil(t, "the replay has ended", func() bool {
		var err error
		list, err = v.Replays().List(t.Context())
		return err == nil && !list.Replays[0].EndedAt.IsZero()
	})
	return list
}

// TestReplayRequestsAreRefused requests replays of what does not exist.
func TestReplayRequestsAreRefused(t *testing.T) {
	_, v := versionstest.Open(t, 1, "")
	for _, c := range []struct {
		in   replay.Request
		want string
	}{
		{replay.Request{Projection: "nothing"}, "catalog, places"},
		{replay.Request{To: "yesterday"}, "2026-03-04"},
		{replay.Request{To: "2999-01-01T00:00:00Z"}, "future"},
	} {
		if _, err := v.Replays().Start(t.Context(), c.in); !errors.Is(err, replay.ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want one that contains %q", c.in, err, c.want)
		}
	}
}

// TestCancelReplay cancels a replay before it runs: it leaves no files, and the live
// version stays. Meanwhile no other replay starts.
func TestCancelReplay(t *testing.T) {
	_, v := versionstest.Open(t, 1, "")
	r := v.Replays()
	begun, err := r.Start(t.Context(), replay.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), replay.Request{}); !errors.Is(err, replay.ErrBusy) {
		t.Fatalf("a second replay: %v, want %v", err, replay.ErrBusy)
	}
	if _, err := r.Cancel(t.Context(), begun.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Cancel(t.Context(), 77); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("cancel of an unknown replay: %v, want %v", err, code.ErrNotFound)
	}
	runVersions(t, v)
	list := awaitReplay(t, v)
	if len(list.Replays) != 1 || list.Replays[0].State != replay.Canceled || list.Current.Name != "projections-1" || list.Previous != nil {
		t.Errorf("after a canceled replay: %+v", list)
	}
}

// TestReplaysSwitchAndRollBack replays everything, then one projection, and rolls back. A
// reader keeps the version that it has acquired open.
func TestReplaysSwitchAndRollBack(t *testing.T) {
	_, v := versionstest.Open(t, 1, "")
	runVersions(t, v)
	reader := v.Acquire()
	for _, c := range []struct {
		start             func() (replay.Replay, error)
		current, previous string
	}{
		{func() (replay.Replay, error) { return v.Replays().Start(t.Context(), replay.Request{}) }, "projections-2", "projections-1"},
		{func() (replay.Replay, error) { return v.Replays().Rollback(t.Context()) }, "projections-1", "projections-2"},
		{func() (replay.Replay, error) {
			return v.Replays().Start(t.Context(), replay.Request{Projection: "places"})
		}, "projections-3", "projections-1"},
	} {
		if _, err := c.start(); err != nil {
			t.Fatal(err)
		}
		if reader != nil {
			clocktest.WaitUntil(t, "another version is live", func() bool { return v.Live() != reader })
			if _, err := reader.Store.Checkpoint(0); err != nil {
				t.Errorf("a reader of the previous version: %v", err)
			}
			reader.Release()
			reader = nil
		}
		list := awaitReplay(t, v)
		if list.Replays[0].State != replay.Done || list.Current.Name != c.current || list.Previous == nil || list.Previous.Name != c.previous {
			t.Errorf("replay %+v: %+v is live before %+v, want %s before %s", list.Replays[0], list.Current, list.Previous, c.current, c.previous)
		}
	}
}

// TestReplayIsNotBehind looks at the coverage all the time while a replay is built and becomes live:
// readers see what the log holds, also before the new version has read its end.
func TestReplayIsNotBehind(t *testing.T) {
	_, v := versionstest.Open(t, 2, "")
	runVersions(t, v)
	clocktest.WaitUntil(t, "the live version has caught up", func() bool { return v.Coverage().Age != projections.NeverCovered })
	before := v.Coverage().Next
	if _, err := v.Replays().Start(t.Context(), replay.Request{}); err != nil {
		t.Fatal(err)
	}
	old := v.Live()
	hasBegun := func(i *versions.Version) bool {
		select {
		case <-i.Runner.CaughtUp():
			return i != old
		default:
			return false
		}
	}
	for !hasBegun(v.Live()) {
		if c := v.Coverage(); c.Age == projections.NeverCovered || slices.Compare(c.Next, before) < 0 {
			t.Fatalf("while a version becomes live, the coverage is %+v, and was at least %v", c, before)
		}
		runtime.Gosched()
	}
	if list := awaitReplay(t, v); list.Replays[0].State != replay.Done {
		t.Errorf("the replay: %+v", list.Replays[0])
	}
}

// TestRollbackNeedsAPreviousVersion rolls back a new installation.
func TestRollbackNeedsAPreviousVersion(t *testing.T) {
	_, v := versionstest.Open(t, 1, "")
	if _, err := v.Replays().Rollback(t.Context()); !errors.Is(err, projections.ErrNoPrevious) || !errors.Is(err, replay.ErrBusy) {
		t.Errorf("a rollback of a new installation: %v", err)
	}
}
