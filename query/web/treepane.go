package web

import (
	"context"
	"path"

	"github.com/quarrysearch/quarry/query/source"
)

// treeRow is an entry of a directory. In the pane next to a file, open directories
// contain their entries.
type treeRow struct {
	Name, URL string
	Kind      source.Kind
	Commit    string // of a submodule, abbreviated; empty if unknown
	Open      bool   // a directory whose entries follow
	Current   bool
	Children  []treeRow
	More      int // number of entries that are not shown
}

// maxPaneEntries bounds the entries of each directory of the pane.
const maxPaneEntries = 500

// addTree fills the pane with the directories above a path opened. If a directory is too
// large, the pane stays empty; the page of the directory explains that.
func (s *Server) addTree(ctx context.Context, p *codePage, d *codeData) {
	directory := path.Dir("/" + p.Path)[1:]
	if p.Kind == source.PageTree {
		directory = p.Path
	}
	root, err := s.o.Source.Tree(ctx, p.repository, p.commit(), []string{directory})
	if err != nil {
		return
	}
	d.Tree = p.newTreeRows(root.Children)
}

// newTreeRows returns the first entries, and those on the way to the page's own path.
func (p *codePage) newTreeRows(nodes []*source.Node) []treeRow {
	var rows []treeRow
	for i, n := range nodes {
		onPath := p.Path == n.Path || len(p.Path) > len(n.Path) && p.Path[:len(n.Path)+1] == n.Path+"/"
		if i >= maxPaneEntries && !onPath {
			continue
		}
		row := p.newEntryRow(n.Path, n.Entry)
		row.Current, row.Open = p.Path == n.Path, n.Opened
		row.Children = p.newTreeRows(n.Children)
		if len(n.Children) > maxPaneEntries {
			row.More = len(n.Children) - maxPaneEntries
		}
		rows = append(rows, row)
	}
	return rows
}

// newEntryRow returns an entry with the address of its page.
func (p *codePage) newEntryRow(path string, e source.Entry) treeRow {
	row := treeRow{Name: e.Name, Kind: e.Kind}
	switch e.Kind {
	case source.KindTree:
		row.URL = p.pageURL(source.PageTree, path)
	default: // the page of a submodule shows where it is
		row.URL = p.pageURL(source.PageBlob, path)
	}
	return row
}
