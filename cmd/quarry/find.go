package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/query/client"
)

type findCommand struct {
	askFlags
	Letters []string `arg:"" help:"Letters to find in the path, in this order, with any characters in between. Blanks are ignored."`
	Repo    string   `complete:"repository" placeholder:"NAME" help:"Only files of the repository with this full name."`
	Limit   int      `short:"n" default:"20" help:"Print at most this many files, up to 100."`
	JSON    bool     `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*findCommand) Help() string {
	return `Prints REPOSITORY:PATH for each matching file, best first. Searches the files on all default branches.

Examples:

	quarry find cmppckr
	quarry find cfg yaml --repo app

Exit status: 0 if something was found, 1 if nothing was, 2 on wrong usage.`
}

// Run implements the command.
func (c *findCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if c.Repo, err = findName(ctx, server, c.Repo); err != nil {
		return err
	}
	found, err := server.FindFiles(ctx, client.FindFilesParams{Query: strings.Join(c.Letters, " "), Repo: c.Repo, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSONLines(s.out, found.Files)
	} else {
		for _, f := range found.Files {
			if _, err = fmt.Fprintf(s.out, "%s:%s\n", f.Repository, keepOnLine(f.Path)); err != nil {
				break
			}
		}
	}
	if err == nil && len(found.Files) == 0 {
		noteEmpty(s, "no path has these letters in this order")
		return exitError(exitFailed)
	}
	return err
}
