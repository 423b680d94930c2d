package main

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// noteEmpty says on standard error why standard output is empty, also where the exit status is 0.
func noteEmpty(s streams, text string) {
	_, _ = fmt.Fprintln(s.err, "quarry: "+text) // like each notice: the result does not depend on it
}

// describeNoMatch says that a search found nothing, and what to do next if that is known:
// nothing is indexed, or another indexed branch or tag has a match. A failure of the requests that
// find this out is no failure of the search.
func describeNoMatch(ctx context.Context, server *client.Client, request wire.SearchRequest) string {
	const text = "no match"
	repositories, err := server.ListRepositories(ctx, client.ListRepositoriesParams{PerPage: 1})
	if err == nil && len(repositories.Items) == 0 {
		return text + ": nothing is indexed yet that you may read; quarry index PATH-OR-URL adds a repository"
	}
	query, err := syntax.Parse(request.Query, syntax.Options{Regexp: request.IsRegexEnabled, CaseSensitive: request.IsCaseSensitivityEnabled})
	if err != nil || syntax.HasRevision(query.Root) {
		return text
	}
	everywhere := request.Query
	if _, ok := query.Root.(*syntax.Or); ok {
		everywhere = "(" + everywhere + ")"
	}
	request.Query, request.Matches, request.ContextLines, request.Explain = "rev:* "+everywhere, 1, 0, false
	found, err := server.Search(ctx, request)
	if err != nil || len(found.Files) == 0 {
		return text
	}
	return text + " on the default branches, but another indexed branch or tag has one. Search for: " + keepOnLine(request.Query)
}
