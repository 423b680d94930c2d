package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type symbolsCommand struct {
	askFlags
	repositoryArgument
	Prefix string `arg:"" optional:"" help:"Only symbols whose name starts with this text, ignoring case."`
	Path   string `placeholder:"PATH" help:"Only symbols in this file."`
	Kind   string `placeholder:"KIND" help:"Only symbols of this kind, such as function or struct."`
	Parent string `placeholder:"NAME" help:"Only symbols defined inside a symbol with exactly this name."`
	Ref    string `placeholder:"REF" help:"An indexed branch or tag. The default is the default branch."`
	JSON   bool   `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*symbolsCommand) Help() string {
	return `Prints PATH:LINE:COLUMN, the kind and the name of each symbol that a repository or file defines. A symbol's parent precedes it with a dot. Lists at most 5,000 symbols.

Examples:

	quarry symbols app --path cmd/main.go
	quarry symbols app parse --kind function

Exit status: 0 if something was found, 1 if nothing was, 2 on wrong usage.`
}

// Run implements the command.
func (c *symbolsCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := c.findRepository(ctx, server); err != nil {
		return err
	}
	params := client.ListSymbolsParams{Repo: c.Repository, Ref: c.Ref, Path: c.Path, Prefix: c.Prefix, Kind: c.Kind, Parent: c.Parent,
		PerPage: 100}
	listed := 0
	for params.Page = 1; ; params.Page++ {
		found, err := server.ListSymbols(ctx, params)
		if err != nil {
			return err
		}
		if c.JSON {
			err = printJSONLines(s.out, found.Symbols)
		} else {
			err = printListedSymbols(s, found.Symbols)
		}
		if err != nil {
			return err
		}
		if listed += len(found.Symbols); len(found.Symbols) > 0 && listed < found.TotalCount {
			continue
		}
		if !found.IsExhaustive {
			_, _ = fmt.Fprintf(s.err, "quarry: there are more symbols; narrow them with a prefix, --path, --kind or --parent\n")
		}
		if listed == 0 {
			hint := "no symbol found"
			if strings.Contains(c.Prefix, "/") {
				hint += "; --path lists the symbols of a file"
			}
			noteEmpty(s, hint)
			return exitError(exitFailed)
		}
		return nil
	}
}

func printListedSymbols(s streams, symbols []wire.ListedSymbol) error {
	for i := range symbols {
		l := &symbols[i]
		name := l.Name
		if l.Parent != "" {
			name = l.Parent + "." + name
		}
		if _, err := fmt.Fprintf(s.out, "%s:%d:%d\t%s\t%s\n", escapeCell(l.Path), l.Line, l.Column, l.Kind, escapeCell(name)); err != nil {
			return err
		}
	}
	return nil
}
