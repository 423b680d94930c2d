package places_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of the random histories; 0 draws some")
	steps = flag.Int("steps", 120, "steps of a random history")
)

// history runs a random world against a live projection, and compares the projection with
// the model after every step.
type history struct {
	*bench
	w       *projectiontest.World
	records []event.Record
	refused int
	merged  int
	stale   *places.View
	// faithful histories merge with the current liveness, and forget no documents.
	faithful bool
	removals removals
	// originated and originless count the segments whose origins were known and not known.
	originated, originless int
}

func seeds(n int) []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = rand.Uint64()>>32 + 1
	}
	return list
}

func TestRandomHistories(t *testing.T) {
	n := 4
	if testing.Short() {
		n = 2
	}
	for _, seed := range seeds(n) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			h := newHistory(t, seed, places.Options{})
			for i := range *steps {
				h.step(i)
			}
			h.finish()
			t.Logf("%d records, %d merges, %d refused", len(h.records), h.merged, h.refused)
		})
	}
}

func TestConformance(t *testing.T) {
	for _, seed := range seeds(1) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			h := newHistory(t, seed, places.Options{})
			for i := range 60 {
				h.step(i)
			}
			h.finish()
			projectiontest.Conform(t, h.records, h.objects, openPlaces)
		})
	}
}

func newHistory(t testing.TB, seed uint64, o places.Options) *history {
	objects := newObjects(t)
	return &history{bench: openBench(t, storetest.NewMemory(), objects, o), w: projectiontest.NewWorld(t, seed, 2, objects)}
}

func (h *history) finish() {
	if h.stale != nil {
		h.stale.Release()
	}
	h.close()
}

func (h *history) step(i int) {
	h.t.Helper()
	var what string
	if h.w.Rand.IntN(8) == 0 {
		what = h.mergeSome()
	} else {
		var records []event.Record
		h.removals.before = shownBy(h.w)
		what, records = h.w.Step()
		h.removals.removes = hasRemoval(h.t, records)
		h.apply(records...)
		h.records = append(h.records, records...)
	}
	if err := h.check(); err != nil {
		h.t.Fatalf("step %d, %s: %v", i, what, err)
	}
}

// mergeSome compacts some segments, with the liveness in a View of now or of some steps
// ago, and sometimes forgets a document.
func (h *history) mergeSome() string {
	v := h.places.Acquire()
	if h.stale == nil || h.faithful || h.w.Rand.IntN(3) == 0 {
		if h.stale != nil {
			h.stale.Release()
		}
		h.stale = v
	} else {
		v.Release()
	}
	var inputs []segment.ID
	var documents []code.DocumentKey
	partition := int32(h.w.Rand.IntN(2))
	for _, info := range h.stale.SegmentInfos() {
		if info.Partition != partition || h.w.Rand.IntN(3) == 0 || len(inputs) == 5 {
			continue
		}
		live, n, err := h.stale.Liveness(info.ID)
		must(h.t, err)
		keys := h.w.Segments[info.ID]
		if len(keys) != n {
			h.t.Fatalf("liveness of %d documents, the segment has %d", n, len(keys))
		}
		for d, k := range keys {
			if live[d/64]>>(d%64)&1 != 0 && !slices.Contains(documents, k) {
				documents = append(documents, k)
			}
		}
		inputs = append(inputs, info.ID)
	}
	if len(inputs) == 0 {
		return "merge nothing"
	}
	if len(documents) > 0 && !h.faithful && h.w.Rand.IntN(6) == 0 {
		documents = slices.Delete(documents, 0, 1)
	}
	ev, rec := h.w.Merge(partition, inputs, documents)
	before := h.liveSegments(partition)
	h.apply(rec)
	h.records = append(h.records, rec)
	after := h.liveSegments(partition)
	ev.Inputs = slices.DeleteFunc(ev.Inputs, func(id string) bool { return !before[id] })
	switch {
	case maps.Equal(before, after):
		h.refused++
		return fmt.Sprintf("merge of %d refused", len(inputs))
	case ev.Output != nil && !after[ev.Output.ID]:
		h.t.Fatalf("merge of %d went halfway", len(inputs))
	}
	h.merged++
	h.w.Merged(ev)
	return fmt.Sprintf("merge %d into %d documents", len(inputs), len(documents))
}

func (h *history) liveSegments(partition int32) map[string]bool {
	v := h.places.Acquire()
	defer v.Release()
	live := map[string]bool{}
	for _, info := range v.SegmentInfos() {
		if info.Partition == partition {
			live[info.ID.String()] = true
		}
	}
	return live
}

// check compares the current View with the model.
func (h *history) check() error {
	v := h.places.Acquire()
	defer v.Release()
	for _, check := range []func(*places.View) error{h.checkRefs, h.checkDefaults, h.checkLiveness, h.checkMarks, h.checkOrigins, h.checkRevisions, h.checkLookups} {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) checkRefs(v *places.View) error {
	if broken, err := v.Broken(1000); err != nil || v.BrokenRefs() != len(broken) {
		return fmt.Errorf("the view counts %d broken refs, want %d: %w", v.BrokenRefs(), len(broken), err)
	}
	known := 0
	for _, r := range v.Repositories() {
		if r == nil {
			continue
		}
		known++
		want := h.w.Repositories[r.ID]
		if want == nil {
			return fmt.Errorf("repository %s is there", r.Name)
		}
		if len(r.Refs) != len(want.Refs) || r.DefaultBranch != want.DefaultBranch || r.DisplayName != want.DisplayName {
			return fmt.Errorf("%s: %d refs, default %q; want %d, %q", r.Name, len(r.Refs), r.DefaultBranch, len(want.Refs), want.DefaultBranch)
		}
		for _, ref := range r.Refs {
			if err := h.checkRef(v, want, ref); err != nil {
				return fmt.Errorf("%s %s: %w", r.Name, ref.Ref, err)
			}
		}
	}
	if known != len(h.w.Repositories) {
		return fmt.Errorf("%d repositories, want %d", known, len(h.w.Repositories))
	}
	return nil
}

func (h *history) checkRef(v *places.View, repo *projectiontest.Repository, ref *places.Ref) error {
	want := repo.Refs[ref.Ref]
	if want == nil || want.Commit != ref.Commit || !want.CommitTime.Equal(ref.CommitTime) {
		return fmt.Errorf("at %s, want %+v", ref.Commit, want)
	}
	got := map[string]projectiontest.File{}
	last, searchable, skipped := "", 0, 0
	err := v.Files(context.Background(), repo.ID, ref.Ref, "", func(p places.Place) bool {
		if p.Path <= last {
			h.t.Fatalf("%s comes after %s", p.Path, last)
		}
		last = p.Path
		if p.Skipped == "" {
			searchable++
		} else {
			skipped += 1
		}
		got[p.Path] = projectiontest.File{Key: p.Document, Flags: p.Flags, Size: p.SizeBytes, Skipped: p.Skipped}
		return true
	})
	if err != nil {
		return err
	}
	if !maps.Equal(got, want.Files) {
		return fmt.Errorf("files %v, want %v", got, want.Files)
	}
	for _, n := range ref.Skipped {
		skipped -= n
	}
	if ref.Files != searchable || skipped != 0 {
		return fmt.Errorf("counts %d files and %v, there are %d", ref.Files, ref.Skipped, searchable)
	}
	return nil
}

// formatPlace formats a place for the comparison of sets.
func formatPlace(repo code.RepositoryID, ref code.Ref, path string, k code.DocumentKey, flags code.Flags) string {
	return fmt.Sprintf("%s %s %q %s %s %d", repo, ref, path, k.Blob, k.Language, flags)
}

// expectedPlaces returns the places that queries should see in the refs that match.
func (h *history) expectedPlaces(match func(r *projectiontest.Repository, ref code.Ref) bool) []string {
	var want []string
	for _, r := range h.w.Repositories {
		for name, ref := range r.Refs {
			if !match(r, name) {
				continue
			}
			for path, f := range ref.Files {
				if f.Skipped == "" && h.w.Held[r.Partition][f.Key] > 0 {
					want = append(want, formatPlace(r.ID, name, path, f.Key, f.Flags))
				}
			}
		}
	}
	slices.Sort(want)
	return want
}

// listPlaces returns the places in columns, and checks their order.
func listPlaces(v *places.View, segments []places.Segment, refs []code.Ref) ([]string, error) {
	var got []string
	for _, s := range segments {
		keys, err := s.Reader.Keys()
		if err != nil {
			return nil, err
		}
		for i := range s.Places.Len() {
			d := s.Places.Doc[i]
			repo := v.Repositories()[s.Places.Repo[i]]
			if repo == nil {
				return nil, fmt.Errorf("place %d belongs to a repository that is gone", i)
			}
			ref := code.BranchRef(repo.DefaultBranch)
			if refs != nil {
				ref = refs[s.Places.Ref[i]]
			}
			if s.Places.Live[d/64]>>(d%64)&1 == 0 || int(s.Places.First[d]) > i || int(s.Places.First[d+1]) <= i {
				return nil, fmt.Errorf("columns disagree on document %d", d)
			}
			path := strings.ReplaceAll(string(s.Places.Path(i)), "\x00", "\n")
			got = append(got, formatPlace(repo.ID, ref, path, keys[d], s.Places.Flags[i]))
		}
	}
	slices.Sort(got)
	return got, nil
}

func (h *history) checkDefaults(v *places.View) error {
	got, err := listPlaces(v, v.Segments(), nil)
	if err != nil {
		return err
	}
	want := h.expectedPlaces(func(r *projectiontest.Repository, ref code.Ref) bool { return ref == code.BranchRef(r.DefaultBranch) })
	if !slices.Equal(got, want) {
		return fmt.Errorf("default places\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}

// checkLivenessWithout checks that live documents of a lost segment are live in exactly one
// of the other segments that hold them, if there is one, and that nothing else changes.
func (h *history) checkLivenessWithout(v *places.View, alive map[string]int) error {
	infos := v.SegmentInfos()
	if len(infos) == 0 {
		return nil
	}
	lost := infos[len(infos)/2]
	without, holders := map[string]int{}, map[string]int{}
	for _, info := range infos {
		if info.ID == lost.ID {
			continue
		}
		live, _, err := v.Liveness(info.ID, lost.ID)
		if err != nil {
			return err
		}
		for d, k := range h.w.Segments[info.ID] {
			document := fmt.Sprint(info.Partition, k)
			holders[document]++
			without[document] += int(live[d/64] >> (d % 64) & 1)
		}
	}
	for document, n := range without {
		if want := min(alive[document], holders[document]); n != want {
			return fmt.Errorf("document %s is live in %d segments besides %s, want %d", document, n, lost.ID, want)
		}
	}
	return nil
}

// checkLiveness checks that every document that a ref shows is live in exactly one
// segment, or unheld.
func (h *history) checkLiveness(v *places.View) error {
	alive := map[string]int{}
	for _, info := range v.SegmentInfos() {
		live, _, err := v.Liveness(info.ID)
		if err != nil {
			return err
		}
		n := 0
		for d, k := range h.w.Segments[info.ID] {
			if live[d/64]>>(d%64)&1 != 0 {
				alive[fmt.Sprint(info.Partition, k)]++
				n++
			}
		}
		if n != info.LiveDocuments || info.Documents != len(h.w.Segments[info.ID]) {
			return fmt.Errorf("segment %s counts %d live of %d documents, has %d", info.ID, info.LiveDocuments, info.Documents, n)
		}
	}
	if err := h.checkLivenessWithout(v, alive); err != nil {
		return err
	}
	unheld := map[string]bool{}
	for _, r := range h.w.Repositories {
		for _, ref := range r.Refs {
			for _, f := range ref.Files {
				k := fmt.Sprint(r.Partition, f.Key)
				switch held := h.w.Held[r.Partition][f.Key] > 0; {
				case f.Skipped != "":
				case held && alive[k] != 1:
					return fmt.Errorf("document %s is alive in %d segments", k, alive[k])
				case !held:
					unheld[k] = true
				}
			}
		}
	}
	// Entries that only a deleted manifest keeps also count.
	if v.UnheldCount() < len(unheld) {
		return fmt.Errorf("%d documents unheld, want at least %d", v.UnheldCount(), len(unheld))
	}
	listed, err := v.UnheldDocuments(1000)
	if err != nil || len(listed) != v.UnheldCount() {
		return fmt.Errorf("%d documents listed as unheld, want %d: %w", len(listed), v.UnheldCount(), err)
	}
	return nil
}

func (h *history) checkRevisions(v *places.View) error {
	mask := h.w.Rand.Uint64()
	chosen := func(id code.RepositoryID, ref code.Ref) bool {
		n := uint64(id)
		for _, c := range []byte(ref) {
			n = n*31 + uint64(c)
		}
		return mask>>(n%64)&1 != 0
	}
	segments, refs, err := v.Revisions(context.Background(), func(r *places.Repository, ref code.Ref) bool { return chosen(r.ID, ref) })
	if err != nil {
		return err
	}
	for _, s := range segments { // shards order segments by partition
		for _, r := range s.Places.Repo {
			if p := v.Repositories()[r].Partition; p != s.Partition {
				return fmt.Errorf("a segment of revisions has partition %d and a repository of partition %d", s.Partition, p)
			}
		}
	}
	got, err := listPlaces(v, segments, append([]code.Ref{}, refs...))
	if err != nil {
		return err
	}
	want := h.expectedPlaces(func(r *projectiontest.Repository, ref code.Ref) bool { return chosen(r.ID, ref) })
	if !slices.Equal(got, want) {
		return fmt.Errorf("places of revisions\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}

func (h *history) checkLookups(v *places.View) error {
	for _, r := range h.w.Repositories {
		for name, ref := range r.Refs {
			for path, f := range ref.Files {
				got, err := v.Lookup(r.ID, name, path)
				if err != nil || got.Document != f.Key || got.Skipped != f.Skipped || got.Flags != f.Flags {
					return fmt.Errorf("lookup of %s %s %q: %+v, %w", r.Name, name, path, got, err)
				}
				if f.Skipped == "" && (got.Reader != nil) != (h.w.Held[r.Partition][f.Key] > 0) {
					return fmt.Errorf("lookup of %s %s %q: held %v", r.Name, name, path, got.Reader != nil)
				}
				if got.Reader != nil {
					var cursor segment.Cursor
					k, err := got.Reader.Key(&cursor, got.Number)
					if err = errors.Join(err, cursor.Close()); err != nil || k != f.Key {
						return fmt.Errorf("lookup of %s %s %q: document %v, %w", r.Name, name, path, k, err)
					}
				}
			}
			if err := h.checkList(v, r.ID, name, "", ref.Files); err != nil {
				return fmt.Errorf("%s %s: %w", r.Name, name, err)
			}
		}
	}
	return nil
}

// checkList compares the listings of a directory and its subdirectories.
func (h *history) checkList(v *places.View, id code.RepositoryID, ref code.Ref, dir string, files map[string]projectiontest.File) error {
	prefix := dir
	if dir != "" {
		prefix += "/"
	}
	want := map[string]bool{}
	for path := range files {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			name, _, isDir := strings.Cut(rest, "/")
			want[fmt.Sprint(name, " ", isDir)] = true
		}
	}
	entries, err := v.List(context.Background(), id, ref, dir, 0)
	if err != nil {
		return err
	}
	got := map[string]bool{}
	for _, e := range entries {
		got[fmt.Sprint(e.Name, " ", e.Directory)] = true
		if e.Directory {
			if err := h.checkList(v, id, ref, prefix+e.Name, files); err != nil {
				return err
			}
		}
	}
	if !maps.Equal(got, want) || len(got) != len(entries) {
		return fmt.Errorf("directory %q: %v, want %v", dir, got, want)
	}
	return nil
}
