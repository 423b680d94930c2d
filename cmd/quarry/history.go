package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// repositoryArgument is the argument that names a repository.
type repositoryArgument struct {
	Repository string `arg:"" complete:"repository" help:"Full name of the repository, or its end if it is unique: kettle for acme/kettle."`
}

// findRepository replaces the end of a name by the full name.
func (a *repositoryArgument) findRepository(ctx context.Context, server *client.Client) (err error) {
	a.Repository, err = findName(ctx, server, a.Repository)
	return err
}

// refFlag is the flag that names a revision.
type refFlag struct {
	Ref string `placeholder:"REF" help:"Branch, tag or commit, optionally with steps to an ancestor, such as main~3. quarry log also accepts base..head. The default is the default branch."`
}

type blameCommand struct {
	askFlags
	repositoryArgument
	Path string `arg:"" help:"Path of the file."`
	refFlag
	JSON bool `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*blameCommand) Help() string {
	return `Prints the commit, author, date and text of each line of a file. Follows renames of the file.

Example:

	quarry blame app cmd/main.go --ref release/1`
}

// Run implements the command.
func (c *blameCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := c.findRepository(ctx, server); err != nil {
		return err
	}
	blame, err := server.GetFileBlame(ctx, client.GetFileBlameParams{Repo: c.Repository, Path: c.Path, Ref: c.Ref})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.Blame{blame})
	}
	file, err := server.GetFileSource(ctx, client.GetFileSourceParams{Repo: c.Repository, Path: c.Path, Ref: c.Ref})
	if err != nil {
		return err
	}
	return printBlame(s.out, blame, file.Source)
}

// maxAuthorColumns bounds the width of the author column.
const maxAuthorColumns = 20

// printBlame prints the lines of a file, each with the commit that last changed it.
func printBlame(out io.Writer, blame *wire.Blame, source string) error {
	lines := strings.SplitAfter(source, "\n")
	authorColumns := 0
	for _, c := range blame.Commits {
		authorColumns = max(authorColumns, min(utf8.RuneCountInString(escapeCell(c.AuthorName)), maxAuthorColumns))
	}
	w, numberColumns := bufio.NewWriter(out), len(strconv.Itoa(len(lines)))
	for _, r := range blame.Ranges {
		commit := blame.Commits[r.Hash]
		author := []rune(escapeCell(commit.AuthorName))
		for n := r.StartLine; n < r.StartLine+r.LineCount && n <= len(lines); n++ {
			_, _ = fmt.Fprintf(w, "%s %-*s %s %*d  %s\n", shortenID(r.Hash), authorColumns, string(author[:min(len(author), maxAuthorColumns)]),
				commit.Date.Format(time.DateOnly), numberColumns, n, strings.TrimRight(lines[n-1], "\r\n")) // kept for Flush
		}
	}
	return w.Flush()
}

type logCommand struct {
	askFlags
	repositoryArgument
	Path string `arg:"" optional:"" help:"File or directory: only commits that change it are listed."`
	refFlag
	Author string `placeholder:"PATTERN" help:"Only commits whose author matches a POSIX basic regular expression."`
	Grep   string `placeholder:"PATTERN" help:"Only commits whose message has a line that matches a POSIX basic regular expression."`
	Since  string `placeholder:"TIME" help:"Only commits at this time or later, such as 2026-01-31 or \"3 weeks ago\"."`
	Until  string `placeholder:"TIME" help:"Only commits at this time or earlier."`
	Follow bool   `help:"Continue under the former name of a renamed file."`
	Lines  string `placeholder:"FIRST-LAST" help:"Only commits that changed these lines of the file, wherever the lines were at the time."`
	Count  int    `short:"n" default:"20" placeholder:"N" help:"Print up to N commits. The default is ${default}."`
	JSON   bool   `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*logCommand) Help() string {
	return `Prints the commit, date, author and first line of the message of each commit, newest first.

Examples:

	quarry log app
	quarry log app cmd/main.go --follow --since 2026-01-31
	quarry log app cmd/main.go --lines 12-20`
}

// Run implements the command.
func (c *logCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := c.findRepository(ctx, server); err != nil {
		return err
	}
	params := client.ListCommitsParams{
		Repo: c.Repository, Path: c.Path, Ref: c.Ref, Author: c.Author, Query: c.Grep, Since: c.Since, Until: c.Until, Follow: c.Follow,
		Lines:   c.Lines,
		PerPage: min(max(c.Count, 1), 100),
	}
	var commits []wire.Commit
	for commit, err := range server.ListCommitsAll(ctx, params) {
		if err != nil {
			return err
		}
		if len(commits) >= c.Count {
			break
		}
		commits = append(commits, commit)
	}
	if len(commits) == 0 {
		noteEmpty(s, "no commit found; quarry files lists the paths, and quarry refs the branches")
	}
	if c.JSON {
		return printJSONLines(s.out, commits)
	}
	t := newTable(s.out)
	for i := range commits {
		commit := &commits[i]
		t.row(shortenID(commit.Hash), commit.Date[:min(len(commit.Date), len(time.DateOnly))], commit.AuthorName, commit.Message)
	}
	return t.Flush()
}

type showCommand struct {
	askFlags
	repositoryArgument
	Object string `arg:"" help:"A commit, or a file as REF:PATH. For the default branch, use PATH, or :PATH if a commit is named so."`
	JSON   bool   `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*showCommand) Help() string {
	return `Prints a commit with its changes, or the text of a file, as git show does.

Examples:

	quarry show app 4f2c1d9
	quarry show app cmd/main.go
	quarry show app release/1:go.mod`
}

// Run implements the command.
func (c *showCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := c.findRepository(ctx, server); err != nil {
		return err
	}
	if ref, path, isFile := strings.Cut(c.Object, ":"); isFile {
		file, err := server.GetFileSource(ctx, client.GetFileSourceParams{Repo: c.Repository, Path: path, Ref: ref})
		if err != nil {
			return err
		}
		return c.printFile(s, file)
	}
	commit, err := server.GetCommit(ctx, client.GetCommitParams{Repo: c.Repository, Ref: c.Object})
	if e, ok := errors.AsType[*client.Error](err); ok && (e.StatusCode == http.StatusNotFound || e.StatusCode == http.StatusBadRequest) {
		// A path without a revision is read as quarry blame reads it.
		if file, noFile := server.GetFileSource(ctx, client.GetFileSourceParams{Repo: c.Repository, Path: c.Object}); noFile == nil {
			return c.printFile(s, file)
		}
		return fmt.Errorf("%w; nor is it a file of the default branch, and a file of another revision is written REF:PATH", err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.CommitDetail{commit})
	}
	return c.printCommit(ctx, s.out, server, commit)
}

func (c *showCommand) printFile(s streams, file *wire.FileSource) error {
	if c.JSON {
		return printJSONLines(s.out, []*wire.FileSource{file})
	}
	_, err := io.WriteString(s.out, file.Source)
	return err
}

// printCommit prints a commit and its changes against its first parent.
func (c *showCommand) printCommit(ctx context.Context, out io.Writer, server *client.Client, commit *wire.CommitDetail) error {
	text := strings.TrimRight(commit.Message+"\n\n"+commit.Body, "\n")
	_, err := fmt.Fprintf(out, "commit %s\nAuthor: %s <%s>\nDate:   %s\n\n    %s\n\n", commit.Hash, commit.AuthorName, commit.AuthorEmail,
		commit.Date,
		strings.ReplaceAll(text, "\n", "\n    "))
	if err != nil {
		return err
	}
	if len(commit.Parents) == 0 {
		_, err := io.WriteString(out, "The first commit of its history: every file is new.\n")
		return err
	}
	diff, err := server.GetDiff(ctx, client.GetDiffParams{Repo: c.Repository, Base: commit.Parents[0], Head: commit.Hash})
	if err != nil {
		return err
	}
	return printDiff(out, diff)
}

type diffCommand struct {
	askFlags
	repositoryArgument
	Revisions string `arg:"" placeholder:"BASE..HEAD" help:"The two revisions to compare, separated by two dots."`
	Path      string `arg:"" optional:"" help:"File or directory: only its changes are printed."`
	JSON      bool   `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*diffCommand) Help() string {
	return `Prints the differences between two revisions as a unified diff. Detects renames.

Example:

	quarry diff app v1.2.0..main cmd`
}

// Run implements the command.
func (c *diffCommand) Run(ctx context.Context, s streams) error {
	base, head, ok := strings.Cut(c.Revisions, "..")
	if !ok || base == "" || head == "" || strings.HasPrefix(head, ".") {
		return usageErrorf("%q is not of the form BASE..HEAD, two revisions separated by two dots", c.Revisions)
	}
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := c.findRepository(ctx, server); err != nil {
		return err
	}
	diff, err := server.GetDiff(ctx, client.GetDiffParams{Repo: c.Repository, Base: base, Head: head, Path: c.Path})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.Diff{diff})
	}
	return printDiff(s.out, diff)
}

// printDiff prints a unified diff.
func printDiff(out io.Writer, diff *wire.Diff) error {
	for i := range diff.Files {
		f := &diff.Files[i]
		if _, err := fmt.Fprintf(out, "--- %s\n+++ %s\n", sideName("a/", f.OldPath), sideName("b/", f.NewPath)); err != nil {
			return err
		}
		for _, h := range f.Hunks {
			heading := h.Heading
			if heading != "" {
				heading = " " + heading
			}
			if _, err := fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@%s\n%s\n", h.OldRange.Start, h.OldRange.Lines, h.NewRange.Start, h.NewRange.Lines,
				heading, h.Body); err != nil {
				return err
			}
		}
	}
	return nil
}

// sideName returns the name of one side of a file in a unified diff.
func sideName(prefix string, path *string) string {
	if path == nil {
		return "/dev/null"
	}
	return prefix + *path
}

type refsCommand struct {
	askFlags
	repositoryArgument
	JSON bool `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*refsCommand) Help() string {
	return `Prints each searchable branch and tag with its commit and the time of indexing.

Example:

	quarry refs app`
}

// Run implements the command.
func (c *refsCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	id, err := repositoryID(ctx, server, c.Repository)
	if err != nil {
		return err
	}
	status, err := server.GetRepositoryStatus(ctx, id)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, status.Refs)
	}
	t := newTable(s.out)
	for _, ref := range status.Refs {
		t.row(ref.Ref, shortenID(ref.Commit), localTime(ref.IndexedAt))
	}
	return t.Flush()
}
