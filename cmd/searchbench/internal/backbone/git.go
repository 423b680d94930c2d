package backbone

import (
	"context"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

// fetchBranches fetches the branches of a repository into a bare clone.
func fetchBranches(ctx context.Context, clone, from string) error {
	return corpus.RunGit(ctx, clone, "fetch", "--quiet", "--no-tags", from, "+refs/heads/*:refs/heads/*")
}
