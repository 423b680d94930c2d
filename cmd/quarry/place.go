package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// place is the position of a character in a file. Lines and columns count from 1.
type place struct {
	path         string
	line, column int
}

var placePattern = regexp.MustCompile(`^(.+):(\d{1,9}):(\d{1,9})$`)

// parsePlace parses PATH:LINE:COLUMN. It returns false for the name of a symbol.
func parsePlace(text string) (place, bool) {
	m := placePattern.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(m[1], ":") { // not a path but a qualified name
		return place{}, false
	}
	p := place{path: m[1]}
	p.line, _ = strconv.Atoi(m[2]) // the pattern allows only digits
	p.column, _ = strconv.Atoi(m[3])
	return p, p.line > 0 && p.column > 0
}

var errNoName = errors.New("there is no name")

// requestAt returns the request for the identifier at a place.
func (c *defsCommand) requestAt(ctx context.Context, server *client.Client, p place) (wire.FindSymbolsRequest, error) {
	if c.Repo == "" {
		return wire.FindSymbolsRequest{}, usageErrorf("a position needs --repo, the full name of the repository that contains %s", p.path)
	}
	file, err := server.GetFileSource(ctx, client.GetFileSourceParams{Repo: c.Repo, Path: p.path, Ref: c.Ref})
	if err != nil {
		return wire.FindSymbolsRequest{}, err
	}
	name := nameAt(file.Source, p)
	if name == "" {
		return wire.FindSymbolsRequest{}, fmt.Errorf("%w at %s:%d:%d", errNoName, escapeCell(p.path), p.line, p.column)
	}
	return wire.FindSymbolsRequest{
		SymbolName: name, Language: c.Lang,
		Position: wire.FindPosition{RepoName: c.Repo, RevisionName: c.Ref, Path: p.path, LineNumber: p.line, Column: p.column},
	}, nil
}

// nameAt returns the identifier that contains or ends at a place, or an empty string if
// there is none.
func nameAt(text string, p place) string {
	lines := strings.SplitN(text, "\n", p.line+1)
	if p.line > len(lines) {
		return ""
	}
	line := []rune(lines[p.line-1])
	start := min(p.column-1, len(line))
	if p.column-1 > len(line) {
		return ""
	}
	end := start
	for start > 0 && isNameRune(line[start-1]) {
		start--
	}
	for end < len(line) && isNameRune(line[end]) {
		end++
	}
	return string(line[start:end])
}

func isNameRune(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
