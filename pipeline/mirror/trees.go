package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of Trees.
const (
	// treeCacheBytes bounds the cached directories.
	treeCacheBytes = 24 << 20
	// nameBytes is the memory that a Name uses in addition to its bytes.
	nameBytes = 80
	// maxKeptSizes bounds the cached blob sizes, at about 100 bytes each.
	maxKeptSizes = 1 << 18
	// maxKeptRoots bounds the cached trees of commits, at about 150 bytes each.
	maxKeptRoots = 1 << 12
	// maxTreeDepth bounds the nesting of directories, as git does.
	maxTreeDepth = 2048
	// maxVisits bounds the directories that one call visits: a hostile tree can repeat
	// itself a billion times without a single file.
	maxVisits = 16 << 20
)

// Trees compares and visits the trees of a mirror. It caches directories, within a bound,
// so that comparing many commits of one history costs only what is new in each. It must
// be used by one goroutine at a time; the caller must close it.
type Trees struct {
	m *Mirror
	r *Reader
	// recent and older are the cached directories. When recent reaches half of the bound,
	// it replaces older.
	recent, older map[ObjectID][]Name
	bytes         int
	// sizes caches the sizes of recently requested blobs.
	sizes map[ObjectID]int64
	// roots caches the trees of recently requested commits.
	roots map[code.CommitID]ObjectID
	reads int
}

// Trees returns a Trees for the mirror.
func (m *Mirror) Trees(ctx context.Context) (*Trees, error) {
	r, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	return &Trees{m: m, r: r, recent: map[ObjectID][]Name{}, sizes: map[ObjectID]int64{}, roots: map[code.CommitID]ObjectID{}}, nil
}

// Close releases the reader.
func (t *Trees) Close() { t.r.Close() }

// Mirror returns the mirror.
func (t *Trees) Mirror() *Mirror { return t.m }

// Commit returns the commit with the given object name, or ErrMissing.
func (t *Trees) Commit(ctx context.Context, id code.CommitID) (Commit, error) {
	if err := validateCommit(id); err != nil {
		return Commit{}, t.m.wrapError("read", err)
	}
	if err := t.reviveReader(); err != nil {
		return Commit{}, err
	}
	t.reads++
	c, err := t.r.commit(ctx, string(id))
	if err != nil {
		return Commit{}, err
	}
	if len(t.roots) >= maxKeptRoots {
		clear(t.roots)
	}
	t.roots[id] = c.Tree
	return c, nil
}

// ObjectsRead returns the number of commits, directories and blobs that were read because
// they were not cached.
func (t *Trees) ObjectsRead() int { return t.reads }

// Root returns the tree of a commit, or ErrMissing.
func (t *Trees) Root(ctx context.Context, id code.CommitID) (ObjectID, error) {
	if root, ok := t.roots[id]; ok {
		return root, nil
	}
	c, err := t.Commit(ctx, id)
	return c.Tree, err
}

// Directory returns the entries of a tree in git's order, each name once. The caller must
// not modify them.
func (t *Trees) Directory(ctx context.Context, tree ObjectID) ([]Name, error) {
	return t.readDirectory(ctx, tree)
}

// Blob returns the content of a blob of at most max bytes. It fails with ErrTooLarge or
// ErrMissing.
func (t *Trees) Blob(ctx context.Context, id ObjectID, max int64) ([]byte, error) {
	if err := t.reviveReader(); err != nil {
		return nil, err
	}
	t.reads++
	content, _, err := t.r.Blob(ctx, id, max)
	return slices.Clone(content), err
}

// Sizes calls fn with the size of every blob of ids, in no particular order; -1 if the
// object is missing or not a blob.
func (t *Trees) Sizes(ctx context.Context, ids []ObjectID, fn func(i int, size int64)) error {
	var unknown []ObjectID
	var at []int
	for i, id := range ids {
		if size, ok := t.sizes[id]; ok {
			fn(i, size)
		} else {
			unknown, at = append(unknown, id), append(at, i)
		}
	}
	if len(t.sizes)+len(unknown) > maxKeptSizes {
		t.sizes = map[ObjectID]int64{}
	}
	if err := t.reviveReader(); err != nil {
		return err
	}
	return t.r.Sizes(ctx, unknown, func(i int, size int64) {
		if len(t.sizes) < maxKeptSizes {
			t.sizes[unknown[i]] = size
		}
		fn(at[i], size)
	})
}

// reviveReader restarts a process that stopped in the middle of an answer.
func (t *Trees) reviveReader() error {
	if t.r.isDead() {
		return t.r.restartProcesses()
	}
	return nil
}

func (t *Trees) readDirectory(ctx context.Context, id ObjectID) ([]Name, error) {
	if id.IsZero() {
		return nil, nil
	}
	if names, ok := t.recent[id]; ok {
		return names, nil
	}
	names, ok := t.older[id]
	if !ok {
		err := t.reviveReader()
		if err != nil {
			return nil, err
		}
		t.reads++
		if names, err = t.r.Directory(ctx, id); err != nil {
			return nil, err
		}
		names = orderNames(names)
	}
	t.cacheDirectory(id, names)
	return names, nil
}

// orderNames sorts names in git's order and removes duplicates, keeping the first. Only a
// forged tree needs this; without it, a comparison could report an existing file as
// deleted.
func orderNames(names []Name) []Name {
	compare := func(a, b Name) int { return compareNames([]Name{a}, []Name{b}) }
	for i := 1; i < len(names); i++ {
		if compare(names[i-1], names[i]) >= 0 {
			slices.SortStableFunc(names, compare)
			return slices.CompactFunc(names, func(a, b Name) bool { return compare(a, b) == 0 })
		}
	}
	return names
}

func (t *Trees) cacheDirectory(id ObjectID, names []Name) {
	size := nameBytes
	for i := range names {
		size += nameBytes + len(names[i].Raw)
	}
	if t.bytes+size > treeCacheBytes/2 {
		t.recent, t.older, t.bytes = map[ObjectID][]Name{}, t.recent, 0
	}
	t.recent[id] = names
	t.bytes += size
}

// Diff calls fn for every file that differs between two commits, ordered by path. The
// zero Entry means that there is no such file. Sizes are unknown (-1). It fails with
// ErrMissing if a commit or one of its trees does not exist.
func (t *Trees) Diff(ctx context.Context, before, after code.CommitID, fn func(path string, old, new Entry) error) error {
	a, err := t.Commit(ctx, before)
	if err != nil {
		return err
	}
	b, err := t.Commit(ctx, after)
	if err != nil {
		return err
	}
	d := &treeDiff{t: t, fn: fn}
	if err := d.compareDirectories(ctx, "", a.Tree, b.Tree, 0); err != nil {
		return fmt.Errorf("compare %s with %s in repository %s: %w", before, after, t.m.id, err)
	}
	return nil
}

// A treeDiff is the state of one comparison.
type treeDiff struct {
	t      *Trees
	fn     func(path string, old, new Entry) error
	visits int
}

// countVisit counts a visited directory, and checks the bounds and ctx.
func (d *treeDiff) countVisit(ctx context.Context, depth int) error {
	if d.visits++; d.visits > maxVisits {
		return fmt.Errorf("more than %d directories: %w", maxVisits, ErrTooLarge)
	}
	if depth > maxTreeDepth {
		return fmt.Errorf("directories %d deep: %w", maxTreeDepth, ErrTooLarge)
	}
	if d.visits%1024 == 0 {
		return context.Cause(ctx)
	}
	return nil
}

// compareDirectories compares two directories; the zero ObjectID is an empty one. Git
// sorts names as if a directory ended in a slash, which sorts the paths of all files by
// their bytes.
func (d *treeDiff) compareDirectories(ctx context.Context, prefix string, before, after ObjectID, depth int) error {
	if before == after {
		return nil
	}
	if err := d.countVisit(ctx, depth); err != nil {
		return err
	}
	a, err := d.t.readDirectory(ctx, before)
	if err != nil {
		return err
	}
	b, err := d.t.readDirectory(ctx, after)
	if err != nil {
		return err
	}
	for len(a) > 0 || len(b) > 0 {
		order := compareNames(a, b)
		var old, new Name
		if order <= 0 {
			old, a = a[0], a[1:]
		}
		if order >= 0 {
			new, b = b[0], b[1:]
		}
		if err := d.compareName(ctx, prefix, old, new, depth); err != nil {
			return err
		}
	}
	return nil
}

// compareName compares two entries with the same name: two files, two directories, or one
// of either with nothing.
func (d *treeDiff) compareName(ctx context.Context, prefix string, old, new Name, depth int) error {
	if old.ID == new.ID && old.Mode == new.Mode {
		return nil
	}
	path := prefix + cmp.Or(new.Raw, old.Raw)
	if len(path) > maxTreeLine {
		return fmt.Errorf("a path of more than %d bytes: %w", maxTreeLine, ErrTooLarge)
	}
	switch {
	case old.Mode != 0 && new.Mode != 0 && old.IsDirectory() != new.IsDirectory():
		// A hostile file name that ends in a slash.
		if err := d.compareName(ctx, prefix, old, Name{}, depth); err != nil {
			return err
		}
		return d.compareName(ctx, prefix, Name{}, new, depth)
	case old.IsDirectory() || new.IsDirectory():
		return d.compareDirectories(ctx, path+"/", old.ID, new.ID, depth+1)
	}
	return d.fn(path, old.toEntry(), new.toEntry())
}

// toEntry returns the Entry for n; the zero Entry for the zero Name.
func (n Name) toEntry() Entry {
	if n.Mode == 0 {
		return Entry{}
	}
	return Entry{Mode: n.Mode, ID: n.ID, Size: -1}
}

// compareNames compares the first names of two directories in git's order; an empty list
// sorts last.
func compareNames(a, b []Name) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	x, y := a[0].Raw, b[0].Raw
	n := min(len(x), len(y))
	if c := cmp.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	return cmp.Compare(a[0].byteAt(n), b[0].byteAt(n))
}

// byteAt returns the byte at i of a name in git's order, where a directory ends in a
// slash.
func (n Name) byteAt(i int) byte {
	switch {
	case i < len(n.Raw):
		return n.Raw[i]
	case n.IsDirectory():
		return '/'
	}
	return 0
}

// Walk calls fn with the directory, name and entry of every file below the trees of
// commits, in their order, until fn returns false. The directory ends in a slash, except
// for the root. Before the files of a directory, it calls enter with its entries. It
// visits a directory that several trees share only once, so a file may be reported under
// only one of its directories. It skips commits that do not exist. It fails with
// ErrTooLarge after visiting most directories, and returns how many it visited.
func (t *Trees) Walk(ctx context.Context, commits []code.CommitID, most int, enter func(dir string, names []Name) error, fn func(dir, name string, e Entry) bool) (visited int, err error) {
	w := &treeWalk{t: t, enter: enter, fn: fn, visitsLeft: most, seen: map[ObjectID]struct{}{}}
	for _, id := range commits {
		c, err := t.Commit(ctx, id)
		if err != nil {
			if context.Cause(ctx) != nil {
				return len(w.seen), err
			}
			continue
		}
		if more, err := w.visitTree(ctx, "", c.Tree, 0); err != nil || !more {
			return len(w.seen), err
		}
	}
	return len(w.seen), nil
}

// A treeWalk is the state of one call of Walk.
type treeWalk struct {
	t          *Trees
	enter      func(dir string, names []Name) error
	fn         func(dir, name string, e Entry) bool
	visitsLeft int
	seen       map[ObjectID]struct{}
}

func (w *treeWalk) visitTree(ctx context.Context, dir string, tree ObjectID, depth int) (more bool, err error) {
	if _, seen := w.seen[tree]; seen {
		return true, nil
	}
	w.seen[tree] = struct{}{}
	if w.visitsLeft--; w.visitsLeft < 0 || depth > maxTreeDepth || len(dir) > maxTreeLine {
		return false, fmt.Errorf("too many directories: %w", ErrTooLarge)
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	names, err := w.t.readDirectory(ctx, tree)
	if err != nil {
		return false, err
	}
	if err := w.enter(dir, names); err != nil {
		return false, err
	}
	for _, n := range names {
		if n.IsDirectory() {
			more, err = w.visitTree(ctx, dir+n.Raw+"/", n.ID, depth+1)
		} else {
			more = w.fn(dir, n.Raw, n.toEntry())
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}
