package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

var listBranchesTool = &tool{
	name: "list_branches", scope: account.ScopeGit,
	about: "Branches as JSON: the default one, then indexed ones (for search and grep), then others, which can only be read.",
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

type branchItem struct {
	Name        string        `json:"name"`
	Commit      code.CommitID `json:"commit"`
	CommittedAt string        `json:"committedAt,omitempty"`
	Default     bool          `json:"isDefault"`
	Indexed     bool          `json:"isIndexed"`
}

type branchList struct {
	Repo          string       `json:"repo"`
	DefaultBranch string       `json:"defaultBranch,omitempty"`
	IndexedAt     string       `json:"indexedAt,omitempty"`
	Total         int          `json:"totalCount"`
	Indexed       int          `json:"indexedCount"`
	Unindexed     int          `json:"unindexedCount"`
	Branches      []branchItem `json:"branches"`
	Note          string       `json:"note,omitempty"`
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
	out := branchList{Repo: r.Name, DefaultBranch: r.DefaultBranch, Branches: []branchItem{}}
	for _, b := range branches {
		if b.Default {
			out.DefaultBranch = b.Ref.Short()
		}
	}
	if filter := strings.ToLower(c.args.getText("query")); filter != "" {
		branches = slices.DeleteFunc(branches, func(b source.Branch) bool { return !strings.Contains(strings.ToLower(b.Ref.Short()), filter) })
	}
	for _, b := range branches {
		if b.Indexed {
			out.Indexed++
		} else {
			out.Unindexed++
		}
	}
	if indexed, ok := c.args.optionalFlag("indexed"); ok {
		branches = slices.DeleteFunc(branches, func(b source.Branch) bool { return b.Indexed != indexed })
	}
	if out.IndexedAt, err = c.indexedAt(ctx, r.ID); err != nil {
		return err
	}
	out.Total = len(branches)
	page := c.pageOf(out.Total)
	for _, b := range branches[page.from:page.to] {
		item := branchItem{b.Ref.Short(), b.Commit, timeText(b.Time), b.Default, b.Indexed}
		if !page.takeEntry(item) {
			break
		}
		out.Branches = append(out.Branches, item)
	}
	if out.Note = page.nextPageNote(len(out.Branches)); out.Total == 0 && c.args.getFlag("tags") {
		out.Note = "No tag that is indexed matches. read_file and list_commits take the name of any tag as ref."
	} else if out.Total == 0 {
		out.Note = "No branch matches; leave out query or indexed. A tag or commit is no branch, but read_file and list_commits take it as ref."
	}
	c.addLinef("%s", encode(out))
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
