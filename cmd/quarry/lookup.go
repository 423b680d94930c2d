package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type defsCommand struct {
	askFlags
	Symbol     string `arg:"" help:"Name of the symbol, or PATH:LINE:COLUMN of a position in --repo where it is used."`
	References bool   `short:"r" help:"Print where it is used instead of where it is defined."`
	Repo       string `complete:"repository" placeholder:"NAME" help:"Only the repository with this full name. With a position, the repository that it is in."`
	Lang       string `placeholder:"LANGUAGE" help:"Only files in this language and closely related ones."`
	refFlag
	JSON bool `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*defsCommand) Help() string {
	return `Prints REPOSITORY:PATH:LINE:TEXT for each definition of a symbol, or for each use. With a position, in the form that editors and compilers use, the most likely matches come first, in all repositories.

Examples:

	quarry defs ReadAll --lang go
	quarry defs --references parseConfig --repo app
	quarry defs cmd/main.go:12:5 --repo app

Exit status: 0 if something was found, 1 if nothing was, 2 on wrong usage.`
}

// Run implements the command.
func (c *defsCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if c.Repo, err = findName(ctx, server, c.Repo); err != nil {
		return err
	}
	find := server.FindDefinitions
	if c.References {
		find = server.FindReferences
	}
	request := wire.FindSymbolsRequest{SymbolName: c.Symbol, Language: c.Lang, RevisionName: c.Ref, RepoName: c.Repo}
	if place, ok := parsePlace(c.Symbol); ok {
		if request, err = c.requestAt(ctx, server, place); err != nil {
			return err
		}
	}
	found, err := find(ctx, request)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSONLines(s.out, []*wire.FindSymbolsResponse{found})
	} else {
		err = printSymbols(s, found)
	}
	if err == nil && len(found.Files) == 0 {
		noteEmpty(s, "no symbol has this name")
		return exitError(exitFailed)
	}
	return err
}

func printSymbols(s streams, found *wire.FindSymbolsResponse) error {
	namesakes := 0
	for i := range found.Files {
		f := &found.Files[i]
		for _, m := range f.Matches {
			if m.Relation == wire.FindMatchRelationNamesake {
				namesakes++
			}
			line := strings.TrimRight(m.LineContent, "\r\n")
			if _, err := fmt.Fprintf(s.out, "%s:%s:%d:%s\n", f.Repository, keepOnLine(f.FileName), m.Range.Start.LineNumber, line); err != nil {
				return err
			}
		}
	}
	if namesakes > 0 {
		_, _ = fmt.Fprintf(s.err, "quarry: other symbols of that name are in the last %d of these lines\n", namesakes)
	}
	for _, n := range found.Notices {
		_, _ = fmt.Fprintf(s.err, "quarry: %s\n", n.Message)
	}
	if !found.IsSearchExhaustive && len(found.Files) == 0 {
		_, _ = fmt.Fprintf(s.err, "quarry: nothing was found before the time of the search was over; repeat it, or narrow it with --repo or --lang\n")
	} else if !found.IsSearchExhaustive {
		_, _ = fmt.Fprintf(s.err, "quarry: there are more results; narrow them with --repo or --lang\n")
	}
	return nil
}

type filesCommand struct {
	askFlags
	repositoryArgument
	Words []string `arg:"" optional:"" help:"Only paths that contain each of these words, ignoring case."`
	refFlag
	JSON bool `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*filesCommand) Help() string {
	return `Prints the paths of all files of a repository.

Examples:

	quarry files app
	quarry files app config yaml --ref release/1`
}

// Run implements the command.
func (c *filesCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := c.findRepository(ctx, server); err != nil {
		return err
	}
	ref := c.Ref
	if ref == "" {
		ref = "HEAD"
	}
	files, err := server.ListFiles(ctx, wire.FilesRequest{RepoName: c.Repository, RevisionName: ref})
	if err != nil {
		return err
	}
	kept := make([]wire.FileItem, 0, len(files))
	for _, f := range files {
		if containsWords(f.Path, c.Words) {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		noteEmpty(s, "no path contains these words")
	}
	if c.JSON {
		return printJSONLines(s.out, kept)
	}
	for i := range kept {
		if _, err := fmt.Fprintln(s.out, keepOnLine(kept[i].Path)); err != nil {
			return err
		}
	}
	return nil
}

// containsWords reports whether text contains every word, ignoring case.
func containsWords(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}
