package search

import (
	"context"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
)

// MayBeNamed reports whether the name of a file in the view may contain all words, which are
// in lower case.
func MayBeNamed(ctx context.Context, view corpus.View, words []string) bool {
	if shards, ok := view.(*shardedView); ok {
		return shards.mayBeNamed(ctx, words)
	}
	return match.MayBeNamed(view, words)
}
