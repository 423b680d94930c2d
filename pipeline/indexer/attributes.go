package indexer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/changeset"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The files of attributes of a commit classify its files, by path (analyze.Attributes). A
// file is thus classified by its place: by its content, by the class of its name, and by
// the attributes of its directories. A change of attributes changes the places of files
// that did not change themselves.

// maxParsedAttributes bounds the cached files of attributes of one run, and those that one
// search for live documents reads: a relative may be hostile.
const maxParsedAttributes = 1 << 10

// parsedAttributes caches the parsed files of attributes of one run; nil for those that
// classify nothing.
type parsedAttributes map[mirror.ObjectID]*analyze.AttributesFile

// readAttributes returns a parsed file of attributes. As in git, only a regular file
// counts. A file that cannot be read or exceeds a bound has no effect.
func (h *indexRun) readAttributes(ctx context.Context, trees *mirror.Trees, e mirror.Entry) (*analyze.AttributesFile, error) {
	if !e.Mode.IsFile() {
		return nil, nil
	}
	if f, ok := h.parsed[e.ID]; ok {
		return f, nil
	}
	content, err := trees.Blob(ctx, e.ID, analyze.MaxAttributesBytes)
	if err != nil && !errors.Is(err, mirror.ErrMissing) && !errors.Is(err, mirror.ErrTooLarge) {
		return nil, err
	}
	var f *analyze.AttributesFile
	if err == nil {
		f, err = analyze.ParseAttributes(content)
	}
	if err != nil {
		h.x.o.Logger.Warn("a file of attributes has no effect", "repository_id", h.repo, "blob", e.ID.String(), "error", err)
	}
	if len(h.parsed) >= maxParsedAttributes {
		clear(h.parsed)
	}
	h.parsed[e.ID] = f
	return f, nil
}

// attributesEntry returns the file of attributes in a directory; the zero Entry if there
// is none.
func attributesEntry(names []mirror.Name) mirror.Entry {
	for i := range names {
		if n := &names[i]; n.Raw == analyze.AttributesName {
			return mirror.Entry{Mode: n.Mode, ID: n.ID, Size: -1}
		}
	}
	return mirror.Entry{}
}

// commitAttributes are the attributes of the directories of one commit, found when they
// are needed. A nil commitAttributes has none.
type commitAttributes struct {
	h    *indexRun
	root mirror.ObjectID
	// listed contains the files of attributes by directory. If it is nil, they are found
	// in the trees, which a comparison of commits has just read.
	listed map[string]mirror.Entry
	known  map[string]*directoryAttributes
}

// directoryAttributes are the attributes of a directory, and the trees of the directories
// in it. tree is zero if the commit has no such directory.
type directoryAttributes struct {
	attributes *analyze.Attributes
	tree       mirror.ObjectID
	children   map[string]mirror.ObjectID
}

// newCommitAttributes returns the attributes of a commit.
func (h *indexRun) newCommitAttributes(ctx context.Context, commit code.CommitID) (*commitAttributes, error) {
	root, err := h.trees.Root(ctx, commit)
	return &commitAttributes{h: h, root: root, known: map[string]*directoryAttributes{}}, err
}

// newListedAttributes returns the attributes of a commit all of whose files are listed.
func (h *indexRun) newListedAttributes(files []changeset.Change) *commitAttributes {
	var listed map[string]mirror.Entry
	for i := range files {
		if dir, name := splitDirectory(files[i].Path); name == analyze.AttributesName && !files[i].InvalidPath {
			if listed == nil {
				listed = map[string]mirror.Entry{}
			}
			listed[dir] = files[i].New
		}
	}
	if listed == nil {
		return nil
	}
	return &commitAttributes{h: h, listed: listed, known: map[string]*directoryAttributes{}}
}

// splitDirectory splits a path after its last slash.
func splitDirectory(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// directory returns the attributes of a directory, whose path ends in a slash except for
// the root.
func (c *commitAttributes) directory(ctx context.Context, dir string) (*directoryAttributes, error) {
	if d, ok := c.known[dir]; ok {
		return d, nil
	}
	d := &directoryAttributes{tree: c.root}
	if dir != "" {
		parent, name := splitDirectory(dir[:len(dir)-1])
		above, err := c.directory(ctx, parent)
		if err != nil {
			return nil, err
		}
		d.attributes, d.tree = above.attributes, above.children[name]
	}
	e := c.listed[dir]
	if c.listed == nil {
		names, err := c.h.trees.Directory(ctx, d.tree)
		if err != nil {
			return nil, err
		}
		e = attributesEntry(names)
		d.children = map[string]mirror.ObjectID{}
		for i := range names {
			if name := code.SpellPath(names[i].Raw); names[i].IsDirectory() && d.children[name].IsZero() {
				d.children[name] = names[i].ID
			}
		}
	}
	f, err := c.h.readAttributes(ctx, c.h.trees, e)
	if err != nil {
		return nil, err
	}
	d.attributes = d.attributes.Within(dir, f)
	c.known[dir] = d
	return d, nil
}

// classify returns what the attributes say about the file at path.
func (c *commitAttributes) classify(ctx context.Context, path string) (analyze.Override, error) {
	if c == nil {
		return analyze.Override{}, nil
	}
	dir, _ := splitDirectory(path)
	d, err := c.directory(ctx, dir)
	if err != nil {
		return analyze.Override{}, err
	}
	return d.attributes.Classify(path), nil
}

// liveAttributes follows the walk of live trees: it knows the attributes of the current
// directory.
type liveAttributes struct {
	h     *indexRun
	trees *mirror.Trees
	stack []liveDirectory // from the root to the current directory
	reads int             // files of attributes read
}

type liveDirectory struct {
	dir        string
	attributes *analyze.Attributes
}

// enter is called with a directory before its files and the directories in it. It fails
// with mirror.ErrTooLarge, which ends the search, if there are too many attributes.
func (l *liveAttributes) enter(ctx context.Context, dir string, names []mirror.Name) error {
	for n := len(l.stack); n > 0 && (dir == "" || !strings.HasPrefix(dir, l.stack[n-1].dir)); n-- {
		l.stack = l.stack[:n-1]
	}
	e := attributesEntry(names)
	if _, parsed := l.h.parsed[e.ID]; !parsed && e.Mode.IsFile() {
		if l.reads++; l.reads > maxParsedAttributes {
			return fmt.Errorf("more than %d files of attributes: %w", maxParsedAttributes, mirror.ErrTooLarge)
		}
	}
	f, err := l.h.readAttributes(ctx, l.trees, e)
	if err != nil {
		return err
	}
	var above *analyze.Attributes
	if n := len(l.stack); n > 0 {
		above = l.stack[n-1].attributes
	}
	l.stack = append(l.stack, liveDirectory{dir, above.Within(code.SpellPath(dir), f)})
	return nil
}

// forcesLanguage reports whether the attributes decide the language of a file of a
// directory, which need not be the current one. Such a file says nothing about live
// documents, because an earlier version may have indexed it without attributes.
func (l *liveAttributes) forcesLanguage(dir, name string) bool {
	for i := len(l.stack) - 1; i >= 0; i-- {
		if d := l.stack[i]; strings.HasPrefix(dir, d.dir) {
			return d.attributes != nil && d.attributes.Classify(code.SpellPath(dir+name)).Language != ""
		}
	}
	return false
}

// readAttributesOf returns the attributes of the base and of the commit of a ref, and
// its changes with those that the attributes make.
func (h *indexRun) readAttributesOf(ctx context.Context, ref *refChange, between []changeset.Change) (before, after *commitAttributes, all []changeset.Change, err error) {
	if ref.base.Commit == "" {
		return nil, h.newListedAttributes(between), between, nil
	}
	if len(between) == 0 {
		return nil, nil, nil, nil
	}
	if before, err = h.newCommitAttributes(ctx, ref.base.Commit); err == nil {
		after, err = h.newCommitAttributes(ctx, ref.Commit)
	}
	if err == nil {
		all, err = h.addReclassified(ctx, before, after, between)
	}
	return before, after, all, err
}

// addReclassified adds to the changes between two commits the files that did not change,
// but that the attributes of the commits classify differently.
func (h *indexRun) addReclassified(ctx context.Context, before, after *commitAttributes, between []changeset.Change) ([]changeset.Change, error) {
	dirs, err := h.changedAttributes(ctx, between)
	if err != nil || len(dirs) == 0 {
		return between, err
	}
	r := &reclassification{before: before, after: after, changed: make(map[string]bool, len(between)), most: h.x.o.MaxFiles - len(between), visitsLeft: maxWalk}
	for i := range between {
		r.changed[between[i].Path] = true
	}
	for _, dir := range dirs {
		if err := r.visit(ctx, dir); err != nil {
			return nil, err
		}
	}
	ids := make([]mirror.ObjectID, len(r.found))
	for i := range r.found {
		ids[i] = r.found[i].New.ID
	}
	if err := h.trees.Sizes(ctx, ids, func(i int, size int64) { r.found[i].New.Size = size }); err != nil {
		return nil, err
	}
	between = append(between, r.found...)
	slices.SortFunc(between, func(a, b changeset.Change) int { return strings.Compare(a.Path, b.Path) })
	return between, nil
}

// changedAttributes returns the directories whose file of attributes changed, before or
// after with an effect, without those below another one.
func (h *indexRun) changedAttributes(ctx context.Context, between []changeset.Change) ([]string, error) {
	var dirs []string
	for i := range between {
		c := &between[i]
		dir, name := splitDirectory(c.Path)
		if name != analyze.AttributesName || c.InvalidPath {
			continue
		}
		old, err := h.readAttributes(ctx, h.trees, c.Old)
		if err != nil {
			return nil, err
		}
		now, err := h.readAttributes(ctx, h.trees, c.New)
		if err != nil {
			return nil, err
		}
		if old != nil || now != nil {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	var outer []string
	for _, dir := range dirs {
		if len(outer) == 0 || !strings.HasPrefix(dir, outer[len(outer)-1]) {
			outer = append(outer, dir)
		}
	}
	return outer, nil
}

// reclassification finds the unchanged files that are classified differently.
type reclassification struct {
	before, after *commitAttributes
	changed       map[string]bool
	found         []changeset.Change
	// most and visitsLeft bound the files to find and the directories to visit.
	most, visitsLeft int
}

// visit compares the files of a directory and of the directories in it.
func (r *reclassification) visit(ctx context.Context, dir string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(dir) > code.MaxPathBytes {
		return nil // its files are not indexed
	}
	if r.visitsLeft--; r.visitsLeft < 0 {
		return fmt.Errorf("more than %d directories with changed attributes: %w", maxWalk, mirror.ErrTooLarge)
	}
	now, err := r.after.directory(ctx, dir)
	if err != nil {
		return err
	}
	was, err := r.before.directory(ctx, dir)
	if err != nil {
		return err
	}
	names, err := r.after.h.trees.Directory(ctx, now.tree)
	if err != nil {
		return err
	}
	for i := range names {
		n := &names[i]
		path := dir + code.SpellPath(n.Raw)
		switch {
		case n.IsDirectory():
			if err := r.visit(ctx, path+"/"); err != nil {
				return err
			}
		case !n.Mode.IsFile() || r.changed[path] || code.ValidatePath(path) != nil:
		case was.attributes.Classify(path) != now.attributes.Classify(path):
			if len(r.found) >= r.most {
				return fmt.Errorf("more than %d files with changed attributes: %w", r.most, mirror.ErrTooLarge)
			}
			r.changed[path] = true
			e := mirror.Entry{Mode: n.Mode, ID: n.ID, Size: -1}
			r.found = append(r.found, changeset.Change{Path: path, Old: e, New: e})
		}
	}
	return nil
}
