package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
)

var listReposTool = &tool{
	name: "list_repos", scope: account.ScopeSearch,
	about: "Repositories by part of their name, as JSON.",
	params: []param{
		textParam("query", 1024, "Part of the name, in any case"),
		pageParam,
		perPageParam,
		choiceParam("sort", "", "name", "pushed"),
		choiceParam("direction", "", "asc", "desc"),
		offsetParam, hiddenMaxTokens,
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
	// Note explains how to request more. The established server does not have this field.
	Note string `json:"note,omitempty"`
}

func (c *call) listRepos(ctx context.Context) error {
	all, err := c.o.Index.Repositories(ctx, c.args.getText("sort"), strings.ToLower(c.args.getText("query")))
	if err != nil {
		return err
	}
	page := c.pageOf(len(all))
	out := repoList{Repos: []repoItem{}, Total: len(all)}
	for i := page.from; i < page.to; i++ {
		r := all[i]
		if c.args.getText("direction") == "desc" {
			r = all[len(all)-1-i]
		}
		item := repoItem{
			Name: r.Name, URL: r.WebURL, PushedAt: timeText(r.PushedAt), DefaultBranch: r.DefaultBranch, Fork: r.Fork, Archived: r.Archived,
		}
		if !page.takeEntry(item) {
			break
		}
		out.Repos = append(out.Repos, item)
	}
	if out.Note = page.nextPageNote(len(out.Repos)); len(all) == 0 && c.args.getText("query") != "" {
		out.Note = "No repository has that in its name; try a shorter part."
	}
	c.addLinef("%s", encode(out))
	return nil
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
