package projectiontest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The sizes of a random world. They are small, so that names collide often.
const (
	maxRepositories = 4
	maxDocuments    = 50
	maxRefs         = 6
)

// paths are chosen for their order as keys: prefixes of each other, names that sort
// between a directory and its content, special bytes.
var paths = []string{
	"a", "a-b/c", "a.go", "a/b", "a/b/c", "dir-x", "dir/sub/deep/z.c", "dir/sub/y", "dir/x", "dir0",
	"line\nfeed", "readme", "readme.md", "src/main.go", "src/\x01", "tête", "z\xff",
}

// Step changes the world at random, and returns a description of the change and the
// records.
func (w *World) Step() (string, []event.Record) {
	repositories := slices.Sorted(maps.Keys(w.Repositories))
	if len(repositories) == 0 || w.Rand.IntN(25) == 0 {
		n := w.Rand.IntN(maxRepositories)
		return fmt.Sprintf("register %d", n), []event.Record{w.Register(n)}
	}
	r := w.Repositories[repositories[w.Rand.IntN(len(repositories))]]
	refs := slices.Sorted(maps.Keys(r.Refs))
	if len(refs) == 0 {
		return w.pushRandom(r, code.BranchRef("main"), nil)
	}
	ref := refs[w.Rand.IntN(len(refs))]
	switch n := w.Rand.IntN(100); {
	case n < 45:
		return w.pushRandom(r, ref, &ref)
	case n < 62:
		return w.pushBranch(r, ref)
	case n < 68: // forced: the whole manifest
		return w.pushRandom(r, ref, nil)
	case n < 74: // forced: moved onto another ref
		other := refs[w.Rand.IntN(len(refs))]
		return w.pushRandom(r, ref, &other)
	case n < 84:
		return fmt.Sprintf("delete %s of %s", ref, r.Name), w.Index(r, ref, nil, nil, w.isKnown(r))
	case n < 89:
		return fmt.Sprintf("default of %s is %s", r.Name, ref), []event.Record{w.ChangeDefault(r, ref.Short())}
	case n < 94:
		rec, ok := w.Repeat()
		if !ok {
			return "nothing", nil
		}
		return "repeat", []event.Record{rec}
	case n < 98:
		return fmt.Sprintf("wrong base of %s of %s", ref, r.Name), w.WrongBase(r, ref)
	}
	return "remove " + r.Name, []event.Record{w.Remove(r)}
}

// pushBranch creates a new ref from another, or moves an existing one onto it.
func (w *World) pushBranch(r *Repository, from code.Ref) (string, []event.Record) {
	ref := code.BranchRef(fmt.Sprint("branch-", w.Rand.IntN(maxRefs)))
	if w.Rand.IntN(4) == 0 {
		ref = code.Ref(fmt.Sprint("refs/tags/v", w.Rand.IntN(2)))
	}
	return w.pushRandom(r, ref, &from)
}

// pushRandom moves a ref to the files of base, edited.
func (w *World) pushRandom(r *Repository, ref code.Ref, base *code.Ref) (string, []event.Record) {
	files := map[string]File{}
	what := "whole"
	if base != nil {
		what = string(*base)
		maps.Copy(files, r.Refs[*base].Files)
	}
	edits := w.Rand.IntN(6)
	if base == nil {
		edits = 3 + w.Rand.IntN(len(paths))
	}
	for range edits {
		w.editFile(files)
	}
	return fmt.Sprintf("push %s of %s from %s, %d edits", ref, r.Name, what, edits), w.Index(r, ref, files, base, w.isKnown(r))
}

// editFile adds, changes, renames, skips or deletes one file.
func (w *World) editFile(files map[string]File) {
	path := paths[w.Rand.IntN(len(paths))]
	switch w.Rand.IntN(8) {
	case 0:
		delete(files, path)
	case 1:
		files[path] = File{Size: int64(w.Rand.IntN(1000)), Skipped: []code.SkipReason{code.SkipBinary, code.SkipTooLarge}[w.Rand.IntN(2)]}
	case 2:
		other := paths[w.Rand.IntN(len(paths))]
		if f, ok := files[path]; ok {
			delete(files, path)
			files[other] = f
		}
	default:
		files[path] = File{Key: w.Document(w.Rand.IntN(maxDocuments)), Flags: code.Flags(w.Rand.IntN(4)), Size: int64(w.Rand.IntN(1000))}
	}
}

// isKnown returns a function that reports which documents a worker believes to be held.
// The worker sometimes forgets one and, unless the world is faithful, sometimes believes
// that a missing one is held.
func (w *World) isKnown(r *Repository) func(code.DocumentKey) bool {
	return func(k code.DocumentKey) bool {
		if w.Held[r.Partition][k] > 0 {
			return w.Rand.IntN(4) != 0
		}
		return !w.Faithful && w.Rand.IntN(40) == 0
	}
}

// Merge returns the event of a compactor that replaces segments of a partition with one
// that contains the given documents. The caller must call Merged if the merge took
// effect, which determines the existing segments.
func (w *World) Merge(partition int32, inputs []segment.ID, documents []code.DocumentKey) (*event.SegmentsMerged, event.Record) {
	ev := &event.SegmentsMerged{Partition: partition, At: w.eventTime()}
	for _, id := range inputs {
		ev.Inputs = append(ev.Inputs, id.String())
	}
	if len(documents) > 0 {
		ref := w.Segment(partition, documents)
		ev.Output = &ref
	}
	return ev, w.Append(partition, ev)
}

// Merged records that a merge was applied.
func (w *World) Merged(ev *event.SegmentsMerged) {
	for _, id := range ev.Inputs {
		w.Hold(ev.Partition, id, -1)
	}
	if ev.Output != nil {
		w.Hold(ev.Partition, ev.Output.ID, 1)
	}
}
