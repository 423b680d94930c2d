package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
)

var listReposTool = &tool{
	name: "list_repos", scope: account.ScopeSearch,
	about: "Repositories by part of their name.",
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

func (c *call) listRepos(ctx context.Context) error {
	all, err := c.o.Index.Repositories(ctx, c.args.getText("sort"), strings.ToLower(c.args.getText("query")))
	if err != nil {
		return err
	}
	c.addLinef("%s.", formatCount(len(all), "repository", "repositories"))
	page := c.pageOf(len(all))
	next := page.from
	for ; next < page.to; next++ {
		r := all[next]
		if c.args.getText("direction") == "desc" {
			r = all[len(all)-1-next]
		}
		var about []string
		if r.DefaultBranch != "" {
			about = append(about, pathText(r.DefaultBranch))
		}
		if at := timeText(r.PushedAt); at != "" {
			about = append(about, "pushed "+at)
		}
		if r.Fork {
			about = append(about, "fork")
		}
		if r.Archived {
			about = append(about, "archived")
		}
		if !c.out.addEntry(joinDetails(pathText(r.Name), about), next == page.from) {
			break
		}
	}
	if c.addPageNote(page, next-page.from); len(all) == 0 && c.args.getText("query") != "" {
		c.addLinef("None has that in its name; try a shorter part.")
	}
	return nil
}

// joinDetails returns a name with details in parentheses.
func joinDetails(name string, details []string) string {
	if len(details) == 0 {
		return name
	}
	return name + " (" + strings.Join(details, ", ") + ")"
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
