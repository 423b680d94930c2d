package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Node is an entry of a tree.
type Node struct {
	Entry
	Path string
	// Children are set for opened directories.
	Children []*Node
	// Opened is set for a directory with its Children; see Subtree.
	Opened bool
}

// Tree returns the root of a revision with its children and, for every path, the children
// of that directory and of the directories above it. A path that is not a directory opens
// the directories above it.
func (b *Browser) Tree(ctx context.Context, r *code.Repository, name string, paths []string) (*Node, error) {
	opened, err := openedDirectories(paths)
	if err != nil {
		return nil, err
	}
	directories, err := b.readDirectories(ctx, r, name, opened)
	if err != nil {
		return nil, fmt.Errorf("tree of %s: %w", r.Name, err)
	}
	root := &Node{Entry: Entry{Name: "root", Kind: KindTree}}
	root.addChildren(directories)
	return root, nil
}

func (n *Node) addChildren(directories map[string][]Entry) {
	var entries []Entry
	entries, n.Opened = directories[n.Path]
	sortEntries(entries)
	prefix := n.Path
	if prefix != "" {
		prefix += "/"
	}
	for _, e := range entries {
		child := &Node{Entry: e, Path: prefix + e.Name}
		if e.Kind == KindTree {
			child.addChildren(directories)
		}
		n.Children = append(n.Children, child)
	}
}

// openedDirectories returns the root, the paths and all directories between them, sorted
// and without duplicates.
func openedDirectories(paths []string) ([]string, error) {
	if len(paths) > MaxTreePaths {
		return nil, fmt.Errorf("%w: %d paths, at most %d", ErrTooLarge, len(paths), MaxTreePaths)
	}
	all := []string{""}
	for _, path := range paths {
		path, err := cleanDirectory(path)
		if err != nil {
			return nil, err
		}
		for i := range len(path) {
			if path[i] == '/' {
				all = append(all, path[:i])
			}
		}
		all = append(all, path)
	}
	slices.SortFunc(all, strings.Compare)
	if all = slices.Compact(all); len(all) > maxTreeDirectories {
		return nil, fmt.Errorf("%w: the paths lead through %d directories, at most %d", ErrTooLarge, len(all), maxTreeDirectories)
	}
	return all, nil
}

// subtreeStep is how many directories Subtree opens between checks of its limit.
const subtreeStep = 64

// Subtree returns a directory of a revision with the entries at most depth levels below
// it. After limit entries it opens no more directories. Entries near the root come first,
// so only deep ones are missing. All entries come from one commit.
func (b *Browser) Subtree(ctx context.Context, r *code.Repository, name, path string, depth, limit int) (*Node, error) {
	path, err := cleanDirectory(path)
	if err != nil {
		return nil, err
	}
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return nil, err
	}
	all, err := b.openLevels(ctx, r, string(rev.commit), path, depth, limit)
	if err != nil {
		return nil, fmt.Errorf("tree of %s: %w", r.Name, err)
	}
	if _, ok := all[path]; !ok {
		return nil, fmt.Errorf("directory %.200q of %s: %w", path, r.Name, ErrNoPath)
	}
	root := &Node{Entry: Entry{Name: path[strings.LastIndexByte(path, '/')+1:], Kind: KindTree}, Path: path}
	root.addChildren(all)
	return root, nil
}

// openLevels opens directories level by level.
func (b *Browser) openLevels(ctx context.Context, r *code.Repository, commit, path string, depth, limit int) (map[string][]Entry, error) {
	all, level, seen := make(map[string][]Entry), []string{path}, 0
	for ; depth > 0 && len(level) > 0; depth-- {
		var next []string
		for step := range slices.Chunk(level, subtreeStep) {
			if seen >= limit {
				return all, nil
			}
			found, err := b.readDirectories(ctx, r, commit, step)
			if errors.Is(err, ErrTooLarge) && seen > 0 {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			for path, entries := range found {
				all[path] = entries
				seen += len(entries)
			}
			for _, path := range step {
				next = append(next, subdirectoryPaths(path, found[path])...)
			}
		}
		level = next
	}
	return all, nil
}

// subdirectoryPaths returns the paths of the subdirectories of a directory, in order.
func subdirectoryPaths(path string, entries []Entry) []string {
	if path != "" {
		path += "/"
	}
	var out []string
	sortEntries(entries)
	for _, e := range entries {
		if e.Kind == KindTree {
			out = append(out, path+e.Name)
		}
	}
	return out
}
