package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Versions before this one ignored attributes. A ref that they announced is unclassified
// until it is announced again: if its commit has attributes, in full, because the places
// of its files may differ from what the attributes of its base say. A file next to the
// mirror lists these refs; if it does not exist, all indexed refs are unclassified.

// maxCheckedTrees bounds the trees that are known to have no attributes, at about 50
// bytes each.
const maxCheckedTrees = 1 << 18

func unclassifiedPath(m *mirror.Mirror) string { return m.File("unclassified") }

// listsUnclassified reports whether the mirror knows which of its refs are unclassified.
func listsUnclassified(m *mirror.Mirror) bool {
	_, err := os.Stat(unclassifiedPath(m))
	return !errors.Is(err, fs.ErrNotExist)
}

// loadUnclassified loads the unclassified refs of the repository, and stores the list if
// there is none.
func (h *indexRun) loadUnclassified() error {
	b, err := os.ReadFile(unclassifiedPath(h.m))
	h.unclassified = map[code.Ref]bool{}
	if errors.Is(err, fs.ErrNotExist) {
		for ref := range h.indexed {
			h.unclassified[ref] = true
		}
		return h.saveUnclassified()
	}
	if err != nil {
		return fmt.Errorf("load the refs without attributes: %w", err)
	}
	for ref := range strings.Lines(string(b)) {
		h.unclassified[code.Ref(strings.TrimSuffix(ref, "\n"))] = true
	}
	return nil
}

func (h *indexRun) saveUnclassified() error {
	var b strings.Builder
	for _, ref := range slices.Sorted(maps.Keys(h.unclassified)) {
		b.WriteString(string(ref) + "\n")
	}
	path := unclassifiedPath(h.m)
	err := os.WriteFile(path+".tmp", []byte(b.String()), 0o600)
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return fmt.Errorf("store the refs without attributes: %w", err)
	}
	return nil
}

// noteClassified removes refs from the list of unclassified refs.
func (h *indexRun) noteClassified(refs ...code.Ref) error {
	before := len(h.unclassified)
	for _, ref := range refs {
		delete(h.unclassified, ref)
	}
	if len(h.unclassified) == before {
		return nil
	}
	return h.saveUnclassified()
}

// dropClassified returns the pending refs without those that are pending only because
// they are unclassified, and whose commits have no attributes.
func (h *indexRun) dropClassified(ctx context.Context, pending []*refChange) ([]*refChange, error) {
	if len(h.unclassified) == 0 {
		return pending, nil
	}
	var kept []*refChange
	var classified []code.Ref
	for _, ref := range pending {
		if ref.unchanged {
			has, err := h.hasAttributes(ctx, ref.Commit)
			if err != nil {
				return nil, err
			}
			if !has {
				classified = append(classified, ref.Ref)
				continue
			}
		}
		kept = append(kept, ref)
	}
	return kept, h.noteClassified(classified...)
}

// dropUnclassifiedBase removes the base of a ref if the base is unclassified and the
// commit of the ref has attributes.
func (h *indexRun) dropUnclassifiedBase(ctx context.Context, b *batch, ref *refChange) error {
	base := ref.base
	if !h.unclassified[base.Ref] || base.Commit == "" || base.Ref != ref.Ref && b.hasRef(base.Ref) {
		return nil
	}
	has, err := h.hasAttributes(ctx, ref.Commit)
	if has {
		ref.base = code.Revision{}
	}
	return err
}

// hasAttributes reports whether a commit has a file of attributes that classifies files,
// or too many directories to tell.
func (h *indexRun) hasAttributes(ctx context.Context, commit code.CommitID) (bool, error) {
	root, err := h.trees.Root(ctx, commit)
	if err != nil {
		return false, err
	}
	left := maxWalk
	return h.treeHasAttributes(ctx, root, &left, code.MaxPathBytes/2)
}

// treeHasAttributes is hasAttributes for a tree, of which left more may be read, nested
// up to depth deep.
func (h *indexRun) treeHasAttributes(ctx context.Context, tree mirror.ObjectID, left *int, depth int) (bool, error) {
	if h.checkedTrees[tree] {
		return false, nil
	}
	if *left--; *left < 0 || depth == 0 {
		return true, nil
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	names, err := h.trees.Directory(ctx, tree)
	if err != nil {
		return false, err
	}
	if f, err := h.readAttributes(ctx, h.trees, attributesEntry(names)); f != nil || err != nil {
		return f != nil, err
	}
	for i := range names {
		if !names[i].IsDirectory() {
			continue
		}
		if has, err := h.treeHasAttributes(ctx, names[i].ID, left, depth-1); has || err != nil {
			return has, err
		}
	}
	if len(h.checkedTrees) >= maxCheckedTrees {
		clear(h.checkedTrees)
	}
	h.checkedTrees[tree] = true
	return false, nil
}
