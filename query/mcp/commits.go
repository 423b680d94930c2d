package mcp

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxListedBody bounds the message of a commit in a list; get_commit shows all of it.
const maxListedBody = 120

var listCommitsTool = &tool{
	name: "list_commits", scope: account.ScopeGit,
	about: "Commits, newest first; long messages are cut.",
	params: []param{
		repoParam,
		textParam("query", source.MaxPatternBytes, "POSIX expression on the message"),
		textParam("since", 100, `2026-01-31, "3 weeks ago"`),
		textParam("until", 100, ""),
		textParam("author", source.MaxPatternBytes, ""),
		textParam("ref", 2*code.MaxRefBytes, "Revision, or base..head"),
		textParam("path", maxPathBytes, "File or directory that changed"),
		numberParam("line", 0, 100_000_000, 0, "Line of path that changed"),
		pageParam,
		perPageParam,
		offsetParam, hiddenMaxTokens,
	},
	call: (*call).listCommits,
}

func (c *call) listCommits(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	q, err := c.commitsRequest()
	if err != nil {
		return err
	}
	commits, total, err := c.o.Source.Commits(ctx, r, q)
	if err != nil {
		return err
	}
	c.addLinef("%s.", formatCount(total, "commit", "commits"))
	shown := 0
	for shown < len(commits) && c.out.addEntry(formatCommit(&commits[shown]), shown == 0) {
		shown++
	}
	if c.addPageNote(c.pageOf(total), shown); total == 0 {
		c.addLinef("No commit matches; leave out query, author, path or the times.")
	}
	return nil
}

func (c *call) commitsRequest() (source.CommitsRequest, error) {
	q := source.CommitsRequest{Revision: c.args.getText("ref")}
	q.Message, q.Author, q.Path = c.args.getText("query"), c.args.getText("author"), c.args.getText("path")
	q.FirstLine, q.LastLine = c.args.getNumber("line"), c.args.getNumber("line")
	q.Limit = c.args.getNumber("perPage")
	q.Skip = min(c.pageOf(math.MaxInt).from, source.MaxSkippedCommits)
	now := c.o.Now()
	var err error
	if q.Since, err = source.ParseMoment(c.args.getText("since"), now, false); err != nil {
		return q, fmt.Errorf("since: %w", err)
	}
	if q.Until, err = source.ParseMoment(c.args.getText("until"), now, true); err != nil {
		return q, fmt.Errorf("until: %w", err)
	}
	return q, nil
}

// formatCommit returns the lines of a commit in a list.
func formatCommit(c *source.Commit) string {
	line := fmt.Sprintf("%s %.10s %s: %s", shortCommit(c.ID), c.Date, cutText(pathText(c.AuthorName), maxLineBytes), cutText(pathText(c.Subject), maxLineBytes))
	if c.Refs != "" {
		line += " (" + cutText(pathText(c.Refs), maxLineBytes) + ")"
	}
	if body := strings.TrimSpace(c.Body); body != "" {
		line += "\n" + indentLines(cutBody(body, maxListedBody))
	}
	return line
}

// shortCommit returns the part of a commit's ID that the tools take for it.
func shortCommit(id code.CommitID) string { return fmt.Sprintf("%.12s", id) }

// cutBody returns at most n bytes of a message.
func cutBody(body string, n int) string {
	if len(body) <= n {
		return body
	}
	return cutText(body, n) + " …"
}

// indentLines sets the lines of a message off from those of the answer.
func indentLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + pathText(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

var getCommitTool = &tool{
	name: "get_commit", scope: account.ScopeGit,
	about: "A commit with its message; get_diff with ref~1..ref shows its changes.",
	params: []param{
		repoParam,
		requiredParam("ref", code.MaxRefBytes, ""),
		hiddenMaxTokens,
	},
	call: (*call).getCommit,
}

// maxCommitBody bounds the message of get_commit.
const maxCommitBody = 16 << 10

func (c *call) getCommit(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	commit, err := c.o.Source.Commit(ctx, r, c.args.getText("ref"))
	if err != nil {
		return err
	}
	c.addLinef("commit %s", commit.ID)
	for _, parent := range commit.Parents {
		c.addLinef("parent %s", parent)
	}
	if commit.Refs != "" {
		c.addLinef("refs %s", cutText(pathText(commit.Refs), maxLineBytes))
	}
	c.addLinef("author %s <%s>", cutText(pathText(commit.AuthorName), maxLineBytes), cutText(pathText(commit.AuthorEmail), maxLineBytes))
	c.addLinef("date %s", commit.Date)
	c.addLinef("\n%s", indentLines(cutText(commit.Subject, maxLineBytes)))
	if body := strings.TrimSpace(commit.Body); body != "" {
		c.addLinef("\n%s", indentLines(cutBody(body, min(maxCommitBody, c.out.bytesLeft()/2))))
	}
	return nil
}
