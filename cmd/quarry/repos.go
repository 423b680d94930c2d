package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type reposCommand struct {
	List   listReposCommand  `cmd:"" default:"withargs" help:"List the repositories."`
	Add    indexCommand      `cmd:"" help:"Add repositories and wait until they are searchable, as quarry index does."`
	Show   showRepoCommand   `cmd:"" help:"Show the state of a repository."`
	Rename renameRepoCommand `cmd:"" help:"Give a repository another name or clone URL."`
	Remove removeRepoCommand `cmd:"" help:"Remove a repository and its index."`
}

// Help implements kong.HelpProvider.
func (*reposCommand) Help() string {
	return "Without a command, lists the repositories."
}

type listReposCommand struct {
	askFlags
	Text string `arg:"" optional:"" help:"Only repositories whose full name contains this text, ignoring case."`
	JSON bool   `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*listReposCommand) Help() string {
	return `Prints the full name, ID, visibility, default branch and time of indexing of each repository that you may read.

Examples:

	quarry repos
	quarry repos list app

Exit status: 0 if there is a repository, 1 if there is none, 2 on wrong usage.`
}

// Run implements the command.
func (c *listReposCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	t := newTable(s.out)
	if !c.JSON {
		t.row("NAME", "ID", "VISIBILITY", "DEFAULT BRANCH", "INDEXED")
	}
	found := false
	for r, err := range server.ListRepositoriesAll(ctx, client.ListRepositoriesParams{Query: c.Text, PerPage: 100}) {
		if err != nil {
			return err
		}
		found = true
		if !c.JSON {
			t.row(r.RepoName, fmt.Sprint(r.RepoID), string(r.Visibility), r.DefaultBranch, localTime(r.IndexedAt))
		} else if err := printJSONLines(s.out, []wire.Repository{r}); err != nil {
			return err
		}
	}
	if !found {
		if c.Text == "" {
			noteEmpty(s, "no repository that you may read; quarry index PATH-OR-URL adds one")
		} else {
			noteEmpty(s, "no name of a repository contains this text")
		}
		return exitError(exitFailed)
	}
	return t.Flush()
}

type showRepoCommand struct {
	askFlags
	repositoryArgument
	JSON bool `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*showRepoCommand) Help() string {
	return `Prints the name, state, progress of an import, files, indexed commit and last error of a repository.

Example:

	quarry repos show app`
}

// Run implements the command.
func (c *showRepoCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	ids, err := repositoryIDs(ctx, server, []string{c.Repository})
	if err != nil {
		return err
	}
	status, err := server.GetRepositoryStatus(ctx, ids[0])
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.RepositoryStatus{status})
	}
	t := newTable(s.out)
	t.row("name", status.RepoName)
	t.row("id", fmt.Sprint(status.RepoID))
	t.row("state", string(status.State))
	if p := status.Progress; p.FilesTotal > 0 && status.State == wire.RepositoryStatusStateImporting {
		t.row("progress", fmt.Sprintf("%d of %d files with different text, %.1f of %.1f MB", p.Files, p.FilesTotal, float64(p.Bytes)/1e6, float64(p.BytesTotal)/1e6))
	}
	t.row("files", fmt.Sprintf("%d, %d skipped", status.Files, status.SkippedFiles))
	t.row("refs", fmt.Sprint(len(status.Refs)))
	t.row("commit", shortenID(status.IndexedCommitHash))
	t.row("indexed", localTime(status.IndexedAt))
	if status.LastError != (wire.ImportFailure{}) {
		t.row("last error", failureText(&status.LastError))
	}
	return t.Flush()
}

type removeRepoCommand struct {
	askFlags
	Repository string `arg:"" complete:"repository" help:"Full name or ID of the repository, or the end of the name if it is unique."`
}

// Help implements kong.HelpProvider.
func (*removeRepoCommand) Help() string {
	return `Removes a repository and its index, and prints its full name. Its text stays in the files of the server until they are merged; quarry erase removes it from them. A connection that discovers repositories adds it again unless its configuration excludes it.

Example:

	quarry repos remove app`
}

// Run implements the command.
func (c *removeRepoCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	ids, err := repositoryIDs(ctx, server, []string{c.Repository})
	if err != nil {
		return err
	}
	removed, err := server.RemoveRepository(ctx, ids[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%s is removed\n", escapeCell(cmp.Or(removed.RepoName, c.Repository)))
	return err
}

type renameRepoCommand struct {
	askFlags
	Repository string `arg:"" complete:"repository" help:"Full name or ID of the repository, or the end of the name if it is unique."`
	Name       string `arg:"" optional:"" help:"The new name."`
	URL        string `name:"url" placeholder:"URL" complete:"path" help:"The new clone URL, or the new path on the server."`
}

// Help implements kong.HelpProvider.
func (*renameRepoCommand) Help() string {
	return `Gives a repository that was added by hand another name, another clone URL, or both, and waits until the refs of the new clone URL are searchable. The repository keeps its ID, its members and its index. A name that was derived from the clone URL follows the new one. A clone URL whose refs cannot be listed is refused.

The repositories of a connection are renamed at their code host; Quarry takes over what the host says. If the host redirects the former clone URL, this also holds for a repository that was added by hand.

Examples:

	quarry repos rename app shop
	quarry repos rename app --url https://git.example.org/shop/app.git

Exit status: 0 if the repository is searchable under its new name, 1 if it failed.`
}

// Run implements the command.
func (c *renameRepoCommand) Run(ctx context.Context, s streams) error {
	if c.Name == "" && c.URL == "" {
		return usageErrorf("give a new name, or a new clone URL with --url")
	}
	server, err := c.newClient()
	if err != nil {
		return err
	}
	request := wire.RenameRequest{Name: c.Name}
	if c.URL != "" {
		target, err := (&indexCommand{}).newRegistration(c.URL)
		if err != nil {
			return err
		}
		request.CloneURL = target.CloneURL + target.Path
	}
	ids, err := repositoryIDs(ctx, server, []string{c.Repository})
	if err != nil {
		return err
	}
	renamed, err := server.RenameRepository(ctx, ids[0], request)
	if err != nil {
		return addAdvice(err)
	}
	i := &indexRun{server: server, progress: terminal.NewProgress(s.errScreen), now: time.Now, began: time.Now(),
		awayTimeout: serverAwayTimeout}
	defer i.progress.Close()
	i.total, i.pending = 1, []*pendingRepository{{target: renamed.RepoName, Accepted: renamed}}
	if err := i.waitSearchable(ctx); err != nil {
		return err
	}
	if i.failed > 0 {
		return exitError(exitFailed)
	}
	return nil
}
