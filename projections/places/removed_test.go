package places_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// removals tracks the text of a history that only removed repositories and branches
// contained.
type removals struct {
	// before holds the documents that were shown before the last step. removes reports
	// whether the step removes a repository or a branch.
	before  map[string]bool
	removes bool
	// gone holds documents that removals left dead and that have been dead since then.
	gone map[string]bool
	// seen counts the checked documents.
	seen int
}

// shownBy returns the documents that at least one ref shows.
func shownBy(w *projectiontest.World) map[string]bool {
	shown := map[string]bool{}
	for _, r := range w.Repositories {
		for _, ref := range r.Refs {
			for _, f := range ref.Files {
				shown[fmt.Sprint(r.Partition, f.Key)] = true
			}
		}
	}
	return shown
}

// hasRemoval reports whether the records remove a repository or a branch.
func hasRemoval(t testing.TB, records []event.Record) bool {
	for _, rec := range records {
		_, ev, err := event.Decode(rec)
		must(t, err)
		switch ev := ev.(type) {
		case *event.RepositoryRemoved:
			return true
		case *event.RevisionIndexed:
			return ev.Commit == ""
		}
	}
	return false
}

// checkMarks checks that every segment with text that a removal left is marked, and that
// no segment is marked whose documents are all live.
func (h *history) checkMarks(v *places.View) error {
	alive := map[string]bool{}
	for _, info := range v.SegmentInfos() {
		live, _, err := v.Liveness(info.ID)
		if err != nil {
			return err
		}
		for d, k := range h.w.Segments[info.ID] {
			if live[d/64]>>(d%64)&1 != 0 {
				alive[fmt.Sprint(info.Partition, k)] = true
			}
		}
	}
	r := &h.removals
	if r.gone == nil {
		r.gone = map[string]bool{}
	}
	if r.removes {
		for k := range r.before {
			r.gone[k] = true
		}
	}
	r.before, r.removes = nil, false
	for k := range r.gone {
		if alive[k] {
			delete(r.gone, k)
		}
	}
	for _, info := range v.SegmentInfos() {
		for _, k := range h.w.Segments[info.ID] {
			if !r.gone[fmt.Sprint(info.Partition, k)] {
				continue
			}
			if r.seen++; info.RemovedAt.IsZero() {
				return fmt.Errorf("segment %s has document %s of what was removed, and no mark", info.ID, k.Blob)
			}
		}
		if info.LiveDocuments == info.Documents && !info.RemovedAt.IsZero() {
			return fmt.Errorf("segment %s has a mark, and everything in it is alive", info.ID)
		}
	}
	return nil
}

// TestMarksOfRemovals checks the marks of random histories, including after a restart.
func TestMarksOfRemovals(t *testing.T) {
	list, marks := seeds(3), 0
	for _, seed := range list {
		m := storetest.NewMemory()
		objects := newObjects(t)
		h := &history{bench: openBench(t, m, objects, places.Options{}), w: projectiontest.NewWorld(t, seed, 2, objects), faithful: true}
		for i := range 300 {
			h.step(i)
		}
		before := removalMarks(h.places)
		h.finish()
		h.bench = openBench(t, m, objects, places.Options{})
		if after := removalMarks(h.places); fmt.Sprint(after) != fmt.Sprint(before) || h.removals.seen == 0 {
			t.Errorf("seed %d: %d marks %v before a restart, %v after it; %d documents checked", seed, len(before), before, after, h.removals.seen)
		}
		marks += len(before)
		h.close()
	}
	if marks == 0 && len(list) > 1 { // merges may have dropped all marks at the end of a single history
		t.Errorf("seeds %v: no history ends with a mark", list)
	}
}

// removalMarks returns the marks of segments with dead documents.
func removalMarks(p *places.Places) map[string]time.Time {
	v := p.Acquire()
	defer v.Release()
	found := map[string]time.Time{}
	for _, info := range v.SegmentInfos() {
		if !info.RemovedAt.IsZero() {
			found[fmt.Sprint(info.Partition, info.Sequence)] = info.RemovedAt
		}
	}
	return found
}

// TestMarkOfALateSegment has a worker announce a revision of a repository that was
// removed in the meantime: its text is dead on arrival, and must be marked.
func TestMarkOfALateSegment(t *testing.T) {
	h := newHistory(t, 1, places.Options{})
	h.apply(h.w.Register(0))
	var repo *projectiontest.Repository
	for _, r := range h.w.Repositories {
		repo = r
	}
	files := map[string]projectiontest.File{"a": {Key: h.w.Document(1)}}
	h.apply(h.w.Remove(repo))
	h.apply(h.w.Index(repo, "refs/heads/main", files, nil, func(code.DocumentKey) bool { return false })...)
	if found := removalMarks(h.places); len(found) != 1 {
		t.Errorf("marks %v, want one", found)
	}
	h.close()
}

// TestErasureOfALateSegment has a worker announce a revision of a repository that was
// erased in the meantime: its text must also be deleted immediately, whatever its clock
// shows. The erasure counts it until it is deleted, and is still known after a restart.
func TestErasureOfALateSegment(t *testing.T) {
	m, objects := storetest.NewMemory(), newObjects(t)
	h := &history{bench: openBench(t, m, objects, places.Options{}), w: projectiontest.NewWorld(t, 1, 1, objects), faithful: true}
	h.apply(h.w.Register(0))
	var repo *projectiontest.Repository
	for _, r := range h.w.Repositories {
		repo = r
	}
	files := map[string]projectiontest.File{"a": {Key: h.w.Document(1)}}
	h.w.Remove(repo) // the world forgets it; the log has an erasure
	h.apply(h.w.Append(repo.Partition, &event.RepositoryRemoved{Repository: repo.ID, Erase: true, At: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)}))
	h.apply(h.w.Index(repo, "refs/heads/main", files, nil, func(code.DocumentKey) bool { return false })...)
	check := func(when string) {
		v := h.places.Acquire()
		defer v.Release()
		infos, erasures := v.SegmentInfos(), h.places.Erasures()
		if len(infos) != 1 || !infos[0].Erase || len(erasures) != 1 || h.places.ErasureSegments(erasures[0]) != 1 {
			t.Errorf("%s: segments %+v, erasures %+v", when, infos, erasures)
		}
	}
	check("before a restart")
	h.finish()
	h.bench = openBench(t, m, objects, places.Options{})
	check("after a restart")
	h.close()
}
