package mcp

import (
	"context"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
)

// maxTreeEntries bounds the entries of list_tree.
const maxTreeEntries = 10_000

var listTreeTool = &tool{
	name: "list_tree", scope: account.ScopeGit,
	about: "Contents of a directory as an indented tree; … marks a directory that is not expanded.",
	params: []param{
		repoParam,
		textParam("path", maxPathBytes, "Directory"),
		refParam,
		numberParam("depth", 1, 10, 1, ""),
		hideParam(param{name: "includeFiles", kind: kindFlag, def: true}),
		hideParam(param{name: "includeDirectories", kind: kindFlag, def: true}),
		hideParam(numberParam("maxEntries", 1, maxTreeEntries, 1000, "")),
		offsetParam, hiddenMaxTokens,
	},
	call: (*call).listTree,
}

func (c *call) listTree(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	most := c.args.getNumber("maxEntries")
	path := c.args.getText("path")
	if directory, ok := directoryPath(path); ok {
		path = directory
	}
	root, err := c.o.Source.Subtree(ctx, r, c.args.getText("ref"), path, c.args.getNumber("depth"), most)
	if err != nil {
		return err
	}
	t := treeLines{files: c.args.getFlag("includeFiles"), directories: c.args.getFlag("includeDirectories")}
	t.add(root, "")
	at := root.Path
	if at != "" {
		at += "/"
	}
	c.addLinef("[%s] /%s: %s and %s", r.Name, at, formatCount(t.nFiles, "file", "files"), formatCount(t.nDirectories, "directory", "directories"))
	lines := t.lines[:min(len(t.lines), most)]
	next := c.out.addPage(lines, c.args.getNumber("offset"), len(lines))
	switch {
	case next < len(lines):
		c.addLinef("%d more lines: offset=%d goes on.", len(lines)-next, next)
	case c.args.getNumber("offset") > 0 && c.args.getNumber("offset") >= len(lines):
		c.noLines(c.args.getNumber("offset"), len(lines))
	case len(lines) < len(t.lines):
		c.addLinef("%s: raise maxEntries, or narrow with path.", formatCount(len(t.lines)-len(lines), "more line", "more lines"))
	}
	return nil
}

// treeLines collects the lines of a tree.
type treeLines struct {
	files, directories   bool
	nFiles, nDirectories int
	lines                []string
}

func (t *treeLines) add(n *source.Node, indent string) {
	for _, child := range n.Children {
		switch child.Kind {
		case source.KindTree:
			t.nDirectories++
			if t.directories {
				t.lines = append(t.lines, indent+pathText(child.Name)+"/"+unopenedMark(child))
			}
			t.add(child, indent+"  ")
		case source.KindCommit:
			t.addFile(child, indent, " (submodule)")
		default:
			t.addFile(child, indent, "")
		}
	}
}

func unopenedMark(n *source.Node) string {
	if n.Opened {
		return ""
	}
	return " …"
}

func (t *treeLines) addFile(n *source.Node, indent, note string) {
	t.nFiles++
	switch {
	case !t.files:
	case t.directories:
		t.lines = append(t.lines, indent+pathText(n.Name)+note)
	default:
		t.lines = append(t.lines, pathText(n.Path)+note)
	}
}
