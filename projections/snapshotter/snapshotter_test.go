package snapshotter

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// TestGroupNames checks that each share has a group for itself, with a name that logs accept.
func TestGroupNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, text := range []string{"", "0/2", "1/2", "0,2-5", "0,2-6", "0-1023", "1-1023"} {
		share, err := sharding.ParseShare(text, "")
		if err != nil {
			t.Fatal(err)
		}
		name := groupName(share)
		if err := eventlog.CheckName(name); err != nil || seen[name] != "" {
			t.Errorf("the share %q has the group %q, as %q: %v", text, name, seen[name], err)
		}
		seen[name] = text + " "
	}
}

// TestNewestSnapshotOfAShare checks that a recent snapshot of one partition does not stand for
// those of the others.
func TestNewestSnapshotOfAShare(t *testing.T) {
	t.Parallel()
	at := func(minute int, share string, partitions ...int32) snapshots.Snapshot {
		return snapshots.Snapshot{Manifest: &snapshots.Manifest{CreatedAt: time.Unix(int64(60*minute), 0), Share: share, Partitions: partitions}}
	}
	list := []snapshots.Snapshot{ // the newest first
		{Problem: "damaged"}, at(50, "0/2", 0, 2), at(40, "1/2", 1, 3), at(30, "1/3", 1), at(20, "", 0, 1, 2, 3), at(10, "0/2", 0, 2),
	}
	for _, test := range []struct {
		share      string
		partitions []int32
		list       []snapshots.Snapshot
		want       int // minute; 0 for none
	}{
		{"", nil, list, 20},
		{"", nil, list[:4], 0},
		{"0/2", []int32{0, 2}, list, 50},
		{"0-1", []int32{0, 1}, list, 40},
		{"0-1", []int32{0, 1}, list[3:], 20},
		{"0-1", []int32{0, 1}, list[:2], 0},
		{"0-1", []int32{0, 1}, nil, 0},
	} {
		share, err := sharding.ParseShare(test.share, "")
		if err != nil {
			t.Fatal(err)
		}
		s := &Snapshotter{o: Options{Share: share, Partitions: test.partitions}}
		got := 0
		if m := s.findNewest(test.list); m != nil {
			got = int(m.CreatedAt.Unix() / 60)
		}
		if got != test.want {
			t.Errorf("share %q of %d snapshots: the newest is of minute %d, want %d", test.share, len(test.list), got, test.want)
		}
	}
}
