package versions

import (
	"os"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

func (w *snapshotWorld) setShare(text string) {
	w.t.Helper()
	var err error
	w.share, err = sharding.ParseShare(text, "")
	w.must(err)
}

// TestShareIsKept opens projections of a share: they hold its places and no others, use no
// snapshot, delete no object of the segment store, and are not opened as another share.
func TestShareIsKept(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t)
	w.addRecords(30)
	w.follow(func(v *Versions, archive *snapshots.Archive) {
		_, err := archive.Create(t.Context(), v.Live().Store, SnapshotContents())
		w.must(err)
	})
	w.addRecords(30)
	for _, share := range []string{"0/1", "0", "none", ""} {
		w.must(os.RemoveAll(w.path("projections")))
		for range 2 { // a new version, and one with rows
			w.setShare(share)
			from := w.follow(func(v *Versions, _ *snapshots.Archive) {
				i := v.Live()
				view := i.Places.Acquire()
				if segments, want := len(view.Segments()), share != "none"; segments > 0 != want {
					t.Errorf("share %q holds %d segments", share, segments)
				}
				view.Release()
				if i.Meta.Share != share || len(i.Catalog.Snapshot().ByName()) == 0 || (i.Eraser == nil) != (share != "") {
					t.Errorf("share %q: a version of share %q, with %d repositories, eraser %v", share, i.Meta.Share, len(i.Catalog.Snapshot().ByName()), i.Eraser)
				}
				if deletes := v.newVersionOptions(i.Store, i.metrics).deletes; deletes != (share == "") {
					t.Errorf("share %q deletes objects: %v", share, deletes)
				}
			})
			if (from != "") != (share == "") {
				t.Errorf("share %q started from snapshot %q", share, from)
			}
		}
		for _, other := range []string{"0/1", "0", "none", ""} {
			if other == share {
				continue
			}
			w.setShare(other)
			v, _, err := w.open(t.Context(), w.objects)
			if err == nil || !strings.Contains(err.Error(), "correct shard.share and shard.peers, or remove "+w.path("projections")) {
				t.Errorf("share %q opens as %q: %v", share, other, err)
			}
			if err == nil {
				w.must(v.Close())
			}
		}
	}
}
