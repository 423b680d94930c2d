package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
)

// progressFiles is the number of files between two checks of the clock.
const progressFiles = 4096

// compareRef compares the manifest of a ref in the view with the tree of its commit.
func (x *verifyRun) compareRef(ctx context.Context, view View, m Mirror, r code.Repository, ref *places.Ref) ([]difference, error) {
	t := x.newTreeRun(r, ref)
	tree, stop := iter.Pull2(t.yieldTree(ctx, m, ref.Commit))
	defer stop()
	t.next = tree
	t.nextFile()
	err := view.Files(ctx, r.ID, ref.Ref, "", func(p places.Place) bool { return t.comparePlace(&p) })
	for err == nil && t.err == nil && t.more {
		t.noteDifference(kindMissing, t.path, "", "")
		t.nextFile()
	}
	t.compareRenamed()
	if err := errors.Join(err, t.err); err != nil {
		return nil, err
	}
	if err := t.compareSizes(ctx, m); err != nil {
		return nil, err
	}
	t.compareCounts(ref)
	return t.sortedDifferences(), nil
}

// newTreeRun returns a treeRun with the known differences of the ref itself.
func (x *verifyRun) newTreeRun(r code.Repository, ref *places.Ref) *treeRun {
	t := &treeRun{verifyRun: x, name: r.Name, ref: ref.Ref, kinds: map[string]*difference{}, skipped: map[code.SkipReason]int{}, renamed: newRenamedFiles()}
	if b := x.broken[refKey{r.ID, ref.Ref}]; b != nil {
		t.noteDifference(kindBroken, "", string(b.Have), string(b.Commit))
	}
	if x.lostChanges[r.ID][ref.Ref] {
		t.noteDifference(kindUnstored, "", "", "")
	}
	return t
}

// lookForText checks whether the text of a file exists.
func (t *treeRun) lookForText(p *places.Place) {
	switch {
	case p.Skipped != "":
	case t.unheld[p.Document]:
		t.noteDifference(kindUnheld, p.Path, "", "")
	case t.unstored[p.Document]:
		t.noteDifference(kindUnstored, p.Path, "", "")
	}
}

// treeRun merges the files of a tree and of a manifest.
type treeRun struct {
	*verifyRun
	name string
	ref  code.Ref
	// The following fields describe the current file of the tree.
	next  func() (string, mirror.Entry, bool)
	path  string
	entry mirror.Entry
	more  bool
	// err is the error that ended the comparison.
	err error

	renamed renamedFiles
	sizes   []sizeDifference
	files   int
	skipped map[code.SkipReason]int
	kinds   map[string]*difference
	order   []string
}

var (
	errStop = errors.New("stopped by the caller")
	// errMirror means that the mirror, not the index, is wrong.
	errMirror = fmt.Errorf("the mirror is damaged: %w", mirror.ErrMissing)
)

// yieldTree yields the files of a tree in the order of their paths, and sets aside those
// that the manifest has under another name. After it ends, t.err holds its error.
func (t *treeRun) yieldTree(ctx context.Context, m Mirror, commit code.CommitID) iter.Seq2[string, mirror.Entry] {
	return func(yield func(string, mirror.Entry) bool) {
		err := m.ListTree(ctx, commit, func(path string, e mirror.Entry) error {
			name, valid := code.NamePath(path)
			switch {
			case name != path:
				t.renamed.addFile(name, treeFile{e, !valid})
			case !yield(path, e):
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			t.err = err
		}
	}
}

func (t *treeRun) nextFile() { t.path, t.entry, t.more = t.next() }

// comparePlace handles the next file of the manifest, and reports whether to continue.
func (t *treeRun) comparePlace(p *places.Place) bool {
	for t.more && t.path < p.Path {
		t.noteDifference(kindMissing, t.path, "", "")
		t.nextFile()
	}
	if t.err != nil {
		return false
	}
	switch {
	case t.more && t.path == p.Path:
		if mayBeRenamed(p.Path) {
			t.renamed.found[p.Path] = true
		}
		t.compareFile(p, treeFile{Entry: t.entry})
		t.nextFile()
	case mayBeRenamed(p.Path):
		t.renamed.places[p.Path] = *p
	default:
		t.noteDifference(kindSurplus, p.Path, "", "")
	}
	if p.Skipped != "" {
		t.skipped[p.Skipped]++
	} else {
		t.files++
		t.lookForText(p)
	}
	t.counts.Files++
	if t.counts.Files%progressFiles == 0 {
		t.err = t.reportProgress(t.name)
	}
	return t.err == nil
}

// compareFile compares one file of the manifest with the tree. The reason why a file is
// skipped depends on settings and on its bytes, and may differ. But links, submodules and
// invalid paths are never text, and no other file is skipped as one of these.
func (t *treeRun) compareFile(p *places.Place, file treeFile) {
	reason := code.SkipReason("")
	switch {
	case file.invalidPath:
		reason = code.SkipInvalidPath
	case file.Mode.IsSymlink():
		reason = code.SkipSymlink
	case file.Mode.IsSubmodule():
		reason = code.SkipSubmodule
	}
	structural := p.Skipped == code.SkipSymlink || p.Skipped == code.SkipSubmodule || p.Skipped == code.SkipInvalidPath
	switch {
	case reason != p.Skipped && (reason != "" || structural):
		t.noteDifference(kindSkipped, p.Path, string(p.Skipped), string(reason))
	case p.Skipped == "" && p.Document.Blob != file.ID.Blob():
		t.noteDifference(kindContent, p.Path, p.Document.Blob.String(), file.ID.String())
	case file.Mode.IsFile() && file.Size < 0 && p.Skipped == "":
		t.err = fmt.Errorf("%w: it cannot read %s", errMirror, file.ID)
	case p.SizeBytes != max(file.Size, 0) && p.Skipped == "" && len(t.sizes) < maxSizes:
		t.sizes = append(t.sizes, sizeDifference{path: p.Path, id: file.ID, bytes: p.SizeBytes})
	case p.SizeBytes != max(file.Size, 0):
		t.noteDifference(kindSize, p.Path, fmt.Sprint(p.SizeBytes), fmt.Sprint(max(file.Size, 0)))
	}
}

// These are the bounds of the blobs that are read because their size in git differs from
// the manifest.
const (
	maxSizes     = 256
	maxSizeBytes = 16 << 20
)

// sizeDifference is a file whose size in git differs from the manifest. A damaged pack
// index returns the size of another object.
type sizeDifference struct {
	path  string
	id    mirror.ObjectID
	bytes int64 // size in the manifest
}

// compareSizes reads the files whose sizes differ. Their content decides, since it is
// checked against the object name. It fails with errMirror if a file cannot be read.
func (t *treeRun) compareSizes(ctx context.Context, m Mirror) error {
	if len(t.sizes) == 0 {
		return nil
	}
	ids := make([]mirror.ObjectID, len(t.sizes))
	for i, d := range t.sizes {
		ids[i] = d.id
	}
	return m.ReadSizes(ctx, ids, maxSizeBytes, func(i int, bytes int64, err error) error {
		d := t.sizes[i]
		switch {
		case errors.Is(err, mirror.ErrTooLarge):
			t.noteDifference(kindSize, d.path, fmt.Sprint(d.bytes), fmt.Sprint("more than ", int64(maxSizeBytes)))
		case err != nil:
			return fmt.Errorf("%w: %w", errMirror, err)
		case bytes != d.bytes:
			t.noteDifference(kindSize, d.path, fmt.Sprint(d.bytes), fmt.Sprint(bytes))
		}
		return nil
	})
}

// compareCounts compares the counts stored with the manifest with the files in it.
func (t *treeRun) compareCounts(ref *places.Ref) {
	equal := t.files == ref.Files && len(t.skipped) == len(ref.Skipped)
	for reason, n := range t.skipped {
		equal = equal && ref.Skipped[reason] == n
	}
	if !equal {
		t.noteDifference(kindCounts, "", fmt.Sprint(ref.Files, " and ", ref.Skipped), fmt.Sprint(t.files, " and ", t.skipped))
	}
}

// noteDifference counts a difference, and keeps the first of each kind.
func (t *treeRun) noteDifference(kind, path, indexed, found string) {
	d := t.kinds[kind]
	if d == nil {
		d = &difference{ref: t.ref, kind: kind, path: path, indexed: indexed, found: found}
		t.kinds[kind] = d
		t.order = append(t.order, kind)
	}
	if path != "" {
		d.count++
	}
}

func (t *treeRun) sortedDifferences() []difference {
	slices.Sort(t.order)
	var out []difference
	for _, kind := range t.order {
		out = append(out, *t.kinds[kind])
	}
	return out
}
