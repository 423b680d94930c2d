package main

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/client"
)

type skippedCommand struct {
	askFlags
	repositoryArgument
	Ref    string `placeholder:"REF" help:"An indexed branch or tag. The default is the default branch."`
	Reason string `placeholder:"REASON" help:"Only files with this reason, such as too_large or symbols_timeout."`
	JSON   bool   `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*skippedCommand) Help() string {
	return `Prints PATH, REASON and a remedy, separated by tabs, for each file that is not searchable. Files with a reason that starts with symbols_ are searchable but lack symbols.

Examples:

	quarry skipped app
	quarry skipped app --ref release/1 --reason too_large`
}

// Run implements the command.
func (c *skippedCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	id, err := repositoryID(ctx, server, c.Repository)
	if err != nil {
		return err
	}
	found := false
	for f, err := range server.ListSkippedFilesAll(ctx, id, client.ListSkippedFilesParams{Ref: c.Ref, Reason: c.Reason, PerPage: 100}) {
		if err != nil {
			return err
		}
		found = true
		if c.JSON {
			err = printJSONLines(s.out, []any{f})
		} else {
			_, err = fmt.Fprintf(s.out, "%s\t%s\t%s\n", escapeCell(f.Path), f.Reason, f.Message)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		noteEmpty(s, "no file is skipped")
	}
	return nil
}
