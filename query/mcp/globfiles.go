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
	name: "glob", scope: account.ScopeSearch,
	about: "Paths of files that match a glob, sorted, by repository.",
	params: []param{
		requiredParam("pattern", maxPathBytes, "*.proto, **/auth/*.{go,ts}; / at the beginning is the root"),
		pathFilter,
		excludeParam,
		repoFilter,
		indexedRef,
		numberParam("limit", 1, maxCounted, defaultLimit, ""),
		numberParam("offset", 0, maxCounted, 0, ""),
		hiddenMaxTokens,
	},
	call: (*call).glob,
}

func (c *call) glob(ctx context.Context) error {
	q := query{path: c.args.text("path"), repo: c.args.text("repo"), ref: c.args.text("ref")}
	if err := q.setPaths("pattern", c.args.text("pattern"), c.args.text("exclude")); err != nil {
		return err
	}
	return c.search(ctx, &q, search.Request{Matches: maxCounted}, func(found *search.Result) {
		c.linef("%s", countLine(found, "file", "files"))
		c.paths(found)
	})
}

// paths writes the paths of files from the offset on, by repository.
func (c *call) paths(r *search.Result) {
	files := r.Files
	slices.SortFunc(files, func(a, b search.FileMatch) int {
		return cmp.Or(strings.Compare(a.Repo.Name, b.Repo.Name), strings.Compare(a.Path, b.Path), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	offset := c.args.number("offset")
	next, last := min(offset, len(files)), min(offset+c.args.number("limit"), len(files))
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
