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
	about: "Commits as JSON, newest first; long messages are cut.",
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

type commitItem struct {
	Hash        code.CommitID `json:"hash"`
	Date        string        `json:"date"`
	Message     string        `json:"message"`
	Refs        string        `json:"refs,omitempty"`
	Body        string        `json:"body,omitempty"`
	AuthorName  string        `json:"authorName"`
	AuthorEmail string        `json:"authorEmail"`
}

type commitList struct {
	Commits []commitItem `json:"commits"`
	Total   int          `json:"totalCount"`
	Note    string       `json:"note,omitempty"`
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
	page := c.pageOf(total)
	out := commitList{Commits: []commitItem{}, Total: total}
	for i := range commits {
		item := newCommitItem(&commits[i], maxListedBody)
		if !page.takeEntry(item) {
			break
		}
		out.Commits = append(out.Commits, item)
	}
	if out.Note = page.nextPageNote(len(out.Commits)); total == 0 {
		out.Note = "No commit matches; leave out query, author, path or the times."
	}
	c.addLinef("%s", encode(out))
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

func newCommitItem(c *source.Commit, maxBody int) commitItem {
	body := strings.TrimSpace(c.Body)
	if len(body) > maxBody {
		body = cutText(body, maxBody) + " …"
	}
	return commitItem{c.ID, c.Date, cutText(c.Subject, maxLineBytes), cutText(c.Refs, maxLineBytes), body, c.AuthorName, c.AuthorEmail}
}

var getCommitTool = &tool{
	name: "get_commit", scope: account.ScopeGit,
	about: "A commit with its message, as JSON; get_diff with ref~1..ref shows its changes.",
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
	c.addLinef("%s", encode(struct {
		commitItem
		Parents []code.CommitID `json:"parents"`
	}{newCommitItem(&commit, min(maxCommitBody, c.out.bytesLeft()/2)), append([]code.CommitID{}, commit.Parents...)}))
	return nil
}
