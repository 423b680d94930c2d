package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/client"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
)

// serverFlag names the server that a command asks.
type serverFlag struct {
	Server string `help:"URL of the server." default:"http://127.0.0.1:7070" env:"QUARRY_SERVER"`
}

type searchCommand struct {
	serverFlag
	Query   []string        `arg:"" help:"What to look for, in the query language: words, \"quoted text\", repo: file: lang: sym: …"`
	JSON    bool            `help:"Print the answer of the API as it is."`
	Regex   bool            `short:"e" help:"Terms are regular expressions."`
	Case    bool            `short:"s" help:"Distinguish upper and lower case."`
	Matches int             `short:"n" name:"max-count" placeholder:"N" default:"1000" help:"Stop after N matches."`
	Context int             `short:"C" placeholder:"N" help:"Show N lines around each match."`
	Colour  terminal.Colour `name:"color" enum:"auto,always,never" default:"auto" help:"When to colour: auto, always or never."`
}

// Run implements the command. As grep, it exits with 0 if there was a match, 1
// if there was none, 2 if it could not look.
func (c *searchCommand) Run(ctx context.Context, s streams) error {
	found, err := c.search(ctx, s)
	if err != nil {
		_, _ = fmt.Fprintf(s.err, "quarry: %v\n", err)
		return exitError(exitUsage)
	}
	if !found {
		return exitError(exitFailed)
	}
	return nil
}

func (c *searchCommand) search(ctx context.Context, s streams) (found bool, err error) {
	server, err := client.New(c.Server)
	if err != nil {
		return false, err
	}
	request := client.SearchRequest{
		Query: strings.Join(c.Query, " "), Matches: c.Matches, ContextLines: c.Context, Regex: c.Regex, CaseSensitive: c.Case,
	}
	if c.JSON {
		return c.printJSON(ctx, s, server, request)
	}
	response, err := server.Search(ctx, request)
	if err != nil {
		return false, err
	}
	p := newPrinter(s.out, terminal.NewStyle(s.out, c.Colour, s.environ))
	for i := range response.Files {
		p.file(&response.Files[i])
	}
	if !response.Exhaustive {
		_, _ = fmt.Fprintf(s.err, "quarry: stopped after %d matches, there are more: -n says how many to show\n", response.Stats.ActualMatchCount)
	}
	return len(response.Files) > 0, p.flush()
}

func (c *searchCommand) printJSON(ctx context.Context, s streams, server *client.Client, request client.SearchRequest) (bool, error) {
	var answer bytes.Buffer
	if err := server.RawSearch(ctx, request, &answer); err != nil {
		return false, err
	}
	var files struct {
		Files []json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(answer.Bytes(), &files); err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	_, err := s.out.Write(append(bytes.TrimRight(answer.Bytes(), "\n"), '\n'))
	return len(files.Files) > 0, err
}
