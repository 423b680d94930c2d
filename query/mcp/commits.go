package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxListedBody bounds the message of a commit in a list; get_commit has all of it.
const maxListedBody = 400

var listCommitsTool = &tool{
	name: "list_commits", title: "List commits", scope: account.ScopeGit,
	about: "Lists commits of a branch, newest first, by page; of one file or directory with path. Use it to find out when and why something changed; get_diff shows what, get_blame who wrote which line. " +
		"The answer is JSON: commits, and totalCount over all pages. Long messages are cut; get_commit has them whole.",
	params: []param{
		repoParam,
		text("query", source.MaxPatternBytes, "Regular expression (POSIX basic) that a line of the message has to match, in any case."),
		text("since", 100, `Earliest time: 2026-01-31, 2026-01-31T12:00:00Z, "3 weeks ago", yesterday.`),
		text("until", 100, "Latest time, in the same forms."),
		text("author", source.MaxPatternBytes, "Regular expression on the author's name and e-mail address."),
		refParam,
		text("path", maxPathBytes, "File or directory that the commits have to change."),
		pageParam,
		pageOfCommits,
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
	r, err := c.o.Sight.Repository(ctx, c.args.text("repo"))
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
	_, _, note := c.window(total)
	out := commitList{Commits: []commitItem{}, Total: total, Note: note}
	for room := MaxAnswerBytes - noteRoom; len(out.Commits) < len(commits); {
		item := newCommitItem(&commits[len(out.Commits)], maxListedBody)
		if room -= len(encode(item)); room < 0 {
			out.Note = fmt.Sprintf("cut to %d commits: ask with perPage=%d", len(out.Commits), len(out.Commits))
			break
		}
		out.Commits = append(out.Commits, item)
	}
	if total == 0 {
		out.Note = "No commit is so; leave out query, author, path or the times."
	}
	c.linef("%s", encode(out))
	return nil
}

func (c *call) commitsRequest() (source.CommitsRequest, error) {
	q := source.CommitsRequest{Revision: c.args.text("ref")}
	q.Message, q.Author, q.Path = c.args.text("query"), c.args.text("author"), c.args.text("path")
	q.Limit = c.args.whole("perPage")
	q.Skip = min((c.args.whole("page")-1)*q.Limit, source.MaxSkippedCommits)
	now := c.o.Now()
	var err error
	if q.Since, err = source.ParseMoment(c.args.text("since"), now, false); err != nil {
		return q, fmt.Errorf("since: %w", err)
	}
	if q.Until, err = source.ParseMoment(c.args.text("until"), now, true); err != nil {
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
	name: "get_commit", title: "Show a commit", scope: account.ScopeGit,
	about: "Shows one commit: who made it when, its parents and its whole message. For what it changed call get_diff with its parent as base and itself as head. The answer is JSON.",
	params: []param{
		repoParam,
		required("ref", code.MaxRefBytes, "Commit, or a branch or tag for its newest; v1~2 is two commits before v1."),
	},
	call: (*call).getCommit,
}

// maxCommitBody bounds the message of get_commit.
const maxCommitBody = 16 << 10

func (c *call) getCommit(ctx context.Context) error {
	r, err := c.o.Sight.Repository(ctx, c.args.text("repo"))
	if err != nil {
		return err
	}
	commit, err := c.o.Source.Commit(ctx, r, c.args.text("ref"))
	if err != nil {
		return err
	}
	c.linef("%s", encode(struct {
		commitItem
		Parents []code.CommitID `json:"parents"`
	}{newCommitItem(&commit, maxCommitBody), append([]code.CommitID{}, commit.Parents...)}))
	return nil
}
