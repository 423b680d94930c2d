package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/account"
)

var globTool = &tool{
	name: "glob", title: "Find files by name", scope: account.ScopeSearch,
	about: "Finds files by a glob on their path, in all repositories or in one. Use it if you know something of a file's name; for contents use grep, for what lies in a directory list_tree. " +
		"The answer begins with the number of files; then come their paths, sorted, below `[repo]`.",
	params: []param{
		required("pattern", maxPathBytes, "Glob on the path: *.proto, **/auth/*.{go,ts}, Makefile. It may begin at any directory; / at its beginning is the root. * stays within a directory, ** does not."),
		text("path", maxPathBytes, "A part of the path, literally."),
		repoFilter,
		indexedRef,
		whole("limit", 1, maxCounted, defaultLimit, "Files to show."),
		whole("offset", 0, maxCounted, 0, "Files to pass over; the answer before says which offset comes next."),
	},
	call: (*call).glob,
}

func (c *call) glob(ctx context.Context) error {
	q := query{path: c.args.text("path"), repo: c.args.text("repo"), ref: c.args.text("ref")}
	if err := q.setGlob("pattern", c.args.text("pattern")); err != nil {
		return err
	}
	return c.search(ctx, &q, search.Request{Matches: maxCounted}, func(found *search.Result) {
		c.linef("%s", counted(found, "file", "files"))
		c.paths(found)
	})
}

// paths writes the paths of files from the offset on, by repository.
func (c *call) paths(r *search.Result) {
	files := r.Files
	slices.SortFunc(files, func(a, b search.FileMatch) int {
		return cmp.Or(strings.Compare(a.Repo.Name, b.Repo.Name), strings.Compare(a.Path, b.Path), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	offset := c.args.whole("offset")
	next, last := min(offset, len(files)), min(offset+c.args.whole("limit"), len(files))
	for ; next < last; next++ {
		f := &files[next]
		heading := ""
		if next == offset || files[next-1].Repo.Name != f.Repo.Name {
			heading = "\n[" + f.Repo.Name + "]\n"
		}
		if !c.out.line(heading + pathText(f.Path) + refsOf(f, c.args.text("ref") != "")) {
			break
		}
	}
	c.rest(r, next)
}
