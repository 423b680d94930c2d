package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type searchCommand struct {
	askFlags
	Query   []string        `arg:"" help:"What to look for, in the query language: words, \"quoted text\", repo: file: lang: sym: … A query that begins with - goes after --."`
	JSON    bool            `help:"Print the answer of the API as it is."`
	Regex   bool            `short:"e" help:"Terms are regular expressions."`
	Case    bool            `short:"s" help:"Distinguish upper and lower case."`
	Explain bool            `help:"Say on standard error how the query was run, and where the time went."`
	Matches int             `short:"n" name:"max-count" placeholder:"N" default:"1000" help:"Stop after N matches; ${default} unless said."`
	Context int             `short:"C" placeholder:"N" help:"Show N lines around each match."`
	Colour  terminal.Colour `name:"color" enum:"auto,always,never" default:"auto" help:"When to colour: auto, always or never."`
}

// Run implements the command. As grep, it exits with 0 if there was a match, 1
// if there was none, 2 if it could not look.
func (c *searchCommand) Run(ctx context.Context, s streams) error {
	found, err := c.search(ctx, s)
	if err != nil {
		_, _ = fmt.Fprintf(s.err, "quarry: %v\n", advised(err))
		return exitError(exitUsage)
	}
	if !found {
		return exitError(exitFailed)
	}
	return nil
}

func (c *searchCommand) search(ctx context.Context, s streams) (found bool, err error) {
	server, err := c.client()
	if err != nil {
		return false, err
	}
	request := wire.SearchRequest{
		Query: strings.Join(c.Query, " "), Matches: c.Matches, ContextLines: c.Context,
		IsRegexEnabled: c.Regex, IsCaseSensitivityEnabled: c.Case, Explain: c.Explain,
	}
	if c.JSON {
		return c.printJSON(ctx, s, server, request)
	}
	return c.print(ctx, s, server, request)
}

// print shows what the server finds as it comes.
func (c *searchCommand) print(ctx context.Context, s streams, server *client.Client, request wire.SearchRequest) (found bool, err error) {
	p := newPrinter(s.out, terminal.NewStyle(s.out, c.Colour, s.environ))
	response, err := server.Collect(ctx, request, func(files []wire.SearchFile) error {
		for i := range files {
			p.file(&files[i])
		}
		return p.flush()
	})
	if err != nil {
		return false, err
	}
	found = p.files+len(response.RepositoryInfo) > 0
	if p.files == 0 { // else they are those of the files
		for _, r := range response.RepositoryInfo {
			p.repository(r.Name)
		}
	}
	if c.Explain {
		if err := p.flush(); err != nil {
			return found, err
		}
		printExplain(s.err, &response.Explain)
	}
	for _, n := range response.Notices {
		_, _ = fmt.Fprintf(s.err, "quarry: %s\n", n.Message)
	}
	if !response.IsSearchExhaustive {
		_, _ = fmt.Fprintf(s.err, "quarry: %s\n", incomplete(response))
	}
	return found, p.flush()
}

// incomplete says why an answer may lack matches, and what to do.
func incomplete(r *wire.SearchResult) string {
	text := fmt.Sprintf("stopped after %d matches", r.Stats.ActualMatchCount)
	switch r.IncompleteReason {
	case "match limit":
		return text + ", there are more: -n says how many to show"
	case "time limit":
		return text + " at the server's time limit, there may be more: narrow the query with repo: or file:"
	default:
		return text + " (" + r.IncompleteReason + "), there may be more"
	}
}

func (c *searchCommand) printJSON(ctx context.Context, s streams, server *client.Client, request wire.SearchRequest) (bool, error) {
	response, err := server.Raw(ctx, http.MethodPost, "/api/search", request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, client.MaxAnswerBytes))
	if err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	var found struct {
		Files        []json.RawMessage `json:"files"`
		Repositories []json.RawMessage `json:"repositoryInfo"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	_, err = s.out.Write(append(bytes.TrimRight(answer, "\n"), '\n'))
	return len(found.Files)+len(found.Repositories) > 0, err
}
