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
	call: (*call).globFiles,
}

func (c *call) globFiles(ctx context.Context) error {
	q := fileQuery{fold: true, path: c.args.getText("path"), repo: c.args.getText("repo"), ref: c.args.getText("ref")}
	if err := q.setPaths("pattern", c.args.getText("pattern"), c.args.getText("exclude")); err != nil {
		return err
	}
	return c.runSearch(ctx, &q, search.Request{Matches: maxCounted}, func(found *search.Result) {
		c.addLinef("%s", countLine(found, "file", "files"))
		c.writePaths(found)
	})
}

// writePaths writes the paths of files from the offset on, grouped by repository.
func (c *call) writePaths(r *search.Result) {
	files := r.Files
	slices.SortFunc(files, func(a, b search.FileMatch) int {
		return cmp.Or(strings.Compare(a.Repo.Name, b.Repo.Name), strings.Compare(a.Path, b.Path), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	offset := c.args.getNumber("offset")
	next, last := min(offset, len(files)), min(offset+c.args.getNumber("limit"), len(files))
	for ; next < last; next++ {
		f := &files[next]
		heading := ""
		if next == offset || files[next-1].Repo.Name != f.Repo.Name {
			heading = "\n[" + f.Repo.Name + "]\n"
		}
		if !c.out.addLineIfFits(heading + pathText(f.Path) + refsOf(f, c.args.getText("ref") != "")) {
			break
		}
	}
	c.writeRest(r, next)
}
