package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
)

var listReposTool = &tool{
	name: "list_repos", title: "List repositories", scope: account.ScopeSearch,
	about: "Lists the repositories that can be searched, by page. Use it with query to find the full name of a repository, which other tools want. " +
		"The answer is JSON: repos, and totalCount over all pages.",
	params: []param{
		text("query", 1024, "A part of the full name, in any case."),
		pageParam,
		whole("perPage", 1, 100, 30, "Repositories on a page."),
		word("sort", "What to sort by: name, or the time of the last push.", "name", "pushed"),
		word("direction", "Ascending or descending; pushed with desc has the newest first.", "asc", "desc"),
	},
	call: (*call).listRepos,
}

type repoItem struct {
	Name          string `json:"name"`
	URL           string `json:"url,omitempty"`
	PushedAt      string `json:"pushedAt,omitempty"`
	DefaultBranch string `json:"defaultBranch,omitempty"`
	Fork          bool   `json:"isFork"`
	Archived      bool   `json:"isArchived"`
}

type repoList struct {
	Repos []repoItem `json:"repos"`
	Total int        `json:"totalCount"`
	// Note says how to go on; an addition.
	Note string `json:"note,omitempty"`
}

func (c *call) listRepos(ctx context.Context) error {
	all, err := c.o.Sight.Repositories(ctx, c.args.text("sort"), strings.ToLower(c.args.text("query")))
	if err != nil {
		return err
	}
	from, to, note := c.window(len(all))
	out := repoList{Repos: make([]repoItem, 0, to-from), Total: len(all), Note: note}
	for i := from; i < to; i++ {
		r := all[i]
		if c.args.text("direction") == "desc" {
			r = all[len(all)-1-i]
		}
		out.Repos = append(out.Repos, repoItem{
			Name: r.Name, URL: r.WebURL, PushedAt: timeText(r.PushedAt), DefaultBranch: r.DefaultBranch, Fork: r.Fork, Archived: r.Archived,
		})
	}
	if len(all) == 0 && c.args.text("query") != "" {
		out.Note = "No repository has that in its name; try a shorter part."
	}
	c.linef("%s", encode(out))
	return nil
}

// window returns the page that is asked for of n entries, and how to go on.
func (c *call) window(n int) (from, to int, note string) {
	page, perPage := c.args.whole("page"), c.args.whole("perPage")
	from, to = min((page-1)*perPage, n), min(page*perPage, n)
	switch {
	case to < n:
		note = fmt.Sprintf("%d more: page=%d", n-to, page+1)
	case from == n && n > 0:
		note = fmt.Sprintf("there is no page %d: the last one is page=%d", page, (n+perPage-1)/perPage)
	}
	return from, to, note
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
