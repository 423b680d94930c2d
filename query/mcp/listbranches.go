package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

var listBranchesTool = &tool{
	name: "list_branches", scope: account.ScopeGit,
	about: "Branches: the default one, then indexed ones (for search and grep), then others, which can only be read.",
	params: []param{
		repoParam,
		textParam("query", code.MaxRefBytes, "Part of the name"),
		flagParam("tags", "Indexed tags instead"),
		{name: "indexed", kind: kindFlag, about: "Only those, or only others"}, // absent means neither
		pageParam,
		perPageParam,
		offsetParam, hiddenMaxTokens,
	},
	call: (*call).listBranches,
}

func (c *call) listBranches(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	list := c.o.Source.Branches
	if c.args.getFlag("tags") {
		list = c.o.Source.Tags
	}
	branches, err := list(ctx, r)
	if err != nil {
		return err
	}
	if filter := strings.ToLower(c.args.getText("query")); filter != "" {
		branches = slices.DeleteFunc(branches, func(b source.Branch) bool { return !strings.Contains(strings.ToLower(b.Ref.Short()), filter) })
	}
	nIndexed := 0
	for _, b := range branches {
		if b.Indexed {
			nIndexed++
		}
	}
	others := len(branches) - nIndexed
	if indexed, ok := c.args.optionalFlag("indexed"); ok {
		branches = slices.DeleteFunc(branches, func(b source.Branch) bool { return b.Indexed != indexed })
	}
	indexedAt, err := c.indexedAt(ctx, r.ID)
	if err != nil {
		return err
	}
	noun, nouns := "branch", "branches"
	if c.args.getFlag("tags") {
		noun, nouns = "tag", "tags"
	}
	about := []string{fmt.Sprintf("%d indexed", nIndexed), fmt.Sprintf("%d not", others)}
	if indexedAt != "" {
		about = append(about, "last at "+indexedAt)
	}
	c.addLinef("[%s] %s", r.Name, joinDetails(formatCount(nIndexed+others, noun, nouns), about))
	page := c.pageOf(len(branches))
	next := page.from
	for ; next < page.to; next++ {
		b := &branches[next]
		line := pathText(b.Ref.Short()) + " " + shortCommit(b.Commit)
		if at := timeText(b.Time); at != "" {
			line += " " + at
		}
		if b.Default {
			line += " default"
		}
		if b.Indexed {
			line += " indexed"
		}
		if !c.out.addEntry(line, next == page.from) {
			break
		}
	}
	switch c.addPageNote(page, next-page.from); {
	case len(branches) > 0:
	case c.args.getFlag("tags"):
		c.addLinef("No tag that is indexed matches. read_file and list_commits take the name of any tag as ref.")
	default:
		c.addLinef("No branch matches; leave out query or indexed. A tag or commit is no branch, but read_file and list_commits take it as ref.")
	}
	return nil
}

// indexedAt returns when the default branch was indexed, or an empty string if it is not
// indexed.
func (c *call) indexedAt(ctx context.Context, id code.RepositoryID) (string, error) {
	all, err := c.o.Index.Repositories(ctx, "name", "")
	if err != nil {
		return "", err
	}
	for _, r := range all {
		if r.ID == id {
			return timeText(r.IndexedAt), nil
		}
	}
	return "", nil
}
