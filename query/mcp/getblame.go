package mcp

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
)

const maxBlameLines = 5000

var getBlameTool = &tool{
	name: "get_blame", scope: account.ScopeGit,
	about: "Which commit last changed the lines of a file: `first-last commit date author: subject`.",
	params: []param{
		requiredParam("path", maxPathBytes, ""),
		repoParam,
		refParam,
		numberParam("offset", 1, 100_000_000, 1, "First line"),
		numberParam("limit", 1, maxBlameLines, 500, "Lines"),
		hiddenMaxTokens,
	},
	call: (*call).getBlame,
}

func (c *call) getBlame(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	blame, err := c.o.Source.Blame(ctx, r, c.args.getText("ref"), c.args.getText("path"))
	if err != nil {
		return err
	}
	total := 0
	if n := len(blame.Ranges); n > 0 {
		total = blame.Ranges[n-1].Start + blame.Ranges[n-1].Lines - 1
	}
	first := c.args.getNumber("offset")
	if first > max(total, 1) {
		return pastTheEnd(total)
	}
	last := min(total, first+c.args.getNumber("limit")-1)
	c.addLinef("[%s] %s, lines %d to %d of %d:", r.Name, c.args.getText("path"), min(first, last), last, total)
	for i := range blame.Ranges {
		run := &blame.Ranges[i]
		if run.Start > last || run.Start+run.Lines <= first {
			continue
		}
		if !c.out.addLineIfFits(blameLine(blame, run, first, last)) {
			last = run.Start - 1
			break
		}
	}
	if last < total {
		c.addLinef("%d more lines: offset=%d goes on.", total-last, last+1)
	}
	return nil
}

func blameLine(b *source.Blame, run *source.BlameRange, first, last int) string {
	from, to := max(run.Start, first), min(run.Start+run.Lines-1, last)
	commit := b.Commits[run.Commit]
	lines := fmt.Sprintf("%d-%d", from, to)
	if from == to {
		lines = fmt.Sprint(from)
	}
	return fmt.Sprintf("%s %.12s %s %s: %s", lines, run.Commit, commit.Time.UTC().Format("2006-01-02"), commit.AuthorName, cutText(commit.Subject, 200))
}
