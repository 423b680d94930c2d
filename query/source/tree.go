package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Node is a name in a tree.
type Node struct {
	Entry
	Path string
	// Children are there for directories that were opened.
	Children []*Node
}

// Tree returns the root of a revision with its children and, for every path, with
// the children of that directory and of those above it. A path that is no
// directory opens those above it.
func (b *Browser) Tree(ctx context.Context, r *code.Repository, name string, paths []string) (*Node, error) {
	opened, err := openedDirectories(paths)
	if err != nil {
		return nil, err
	}
	directories, err := b.directories(ctx, r, name, opened)
	if err != nil {
		return nil, fmt.Errorf("tree of %s: %w", r.Name, err)
	}
	root := &Node{Entry: Entry{Name: "root", Kind: KindTree}}
	root.fill(directories)
	return root, nil
}

func (n *Node) fill(directories map[string][]Entry) {
	entries := directories[n.Path]
	sortEntries(entries)
	prefix := n.Path
	if prefix != "" {
		prefix += "/"
	}
	for _, e := range entries {
		child := &Node{Entry: e, Path: prefix + e.Name}
		if e.Kind == KindTree {
			child.fill(directories)
		}
		n.Children = append(n.Children, child)
	}
}

// openedDirectories returns the root, the paths and all that lies between them, in
// order and each once.
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
