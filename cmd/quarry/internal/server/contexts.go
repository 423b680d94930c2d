package server

import (
	"slices"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/corpus"
)

// searchContexts converts the configured search contexts for queries.
func searchContexts(configured []config.Context) map[string]corpus.Context {
	contexts := make(map[string]corpus.Context, len(configured))
	for _, c := range configured {
		contexts[c.Name] = func(repository string) bool {
			matches := func(glob string) bool { return mirror.MatchGlob(glob, repository) }
			return slices.ContainsFunc(c.Include, matches) && !slices.ContainsFunc(c.Exclude, matches)
		}
	}
	return contexts
}
