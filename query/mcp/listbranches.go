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
	name: "list_branches", title: "List branches", scope: account.ScopeGit,
	about: "Lists the branches of a repository by page: the default branch first, then the other indexed ones, then the rest, newest first within each. isIndexed tells which grep, glob and the symbols know; the others can be read with read_file, list_tree, list_commits and get_diff. " +
		"The answer is JSON: defaultBranch, indexedAt, totalCount of the branches listed over all pages, indexedCount and unindexedCount of those that match query, and branches.",
	params: []param{
		repoParam,
		text("query", code.MaxRefBytes, "A part of the name, in any case."),
		optionalFlag("indexed", "true lists only the indexed branches, false only the others; absent: all."),
		pageParam,
		pageOfCommits,
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
	r, err := c.o.Sight.Repository(ctx, c.args.text("repo"))
	if err != nil {
		return err
	}
	branches, err := c.o.Source.Branches(ctx, r)
	if err != nil {
		return err
	}
	out := branchList{Repo: r.Name, DefaultBranch: r.DefaultBranch, Branches: []branchItem{}}
	for _, b := range branches {
		if b.Default {
			out.DefaultBranch = b.Ref.Short()
		}
	}
	if filter := strings.ToLower(c.args.text("query")); filter != "" {
		branches = slices.DeleteFunc(branches, func(b source.Branch) bool { return !strings.Contains(strings.ToLower(b.Ref.Short()), filter) })
	}
	for _, b := range branches {
		if b.Indexed {
			out.Indexed++
		} else {
			out.Unindexed++
		}
	}
	if indexed, ok := c.args.given("indexed"); ok {
		branches = slices.DeleteFunc(branches, func(b source.Branch) bool { return b.Indexed != indexed })
	}
	if out.IndexedAt, err = c.indexedAt(ctx, r.ID); err != nil {
		return err
	}
	var from, to int
	out.Total = len(branches)
	from, to, out.Note = c.window(len(branches))
	if out.Total == 0 {
		out.Note = "No branch is so; leave out query or indexed. A tag or commit is no branch, but read_file and list_commits take it as ref."
	}
	for _, b := range branches[from:to] {
		out.Branches = append(out.Branches, branchItem{b.Ref.Short(), b.Commit, timeText(b.Time), b.Default, b.Indexed})
	}
	c.linef("%s", encode(out))
	return nil
}

// indexedAt is when the default branch was indexed; empty if it is not.
func (c *call) indexedAt(ctx context.Context, id code.RepositoryID) (string, error) {
	all, err := c.o.Sight.Repositories(ctx, "name", "")
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
