package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/schemas/code"
)

// known is the catalog as the receiver of web hooks sees it. While the projections
// are behind the log, a missing repository may have been registered already. The
// delivery then gets 503, because hosts do not retry a delivery that was ignored.
type webhookCatalog struct {
	*repositories
	versions *versions
}

var _ webhook.Repositories = webhookCatalog{}

// Find implements webhook.Repositories.
func (k webhookCatalog) Find(ctx context.Context, candidate code.Repository) (code.Repository, error) {
	found, err := k.repositories.Find(ctx, candidate)
	if errors.Is(err, code.ErrNotFound) && !k.versions.caughtUp() {
		return code.Repository{}, fmt.Errorf("repository %s%s: %w", candidate.Name, candidate.CloneURL, errCatchingUp)
	}
	return found, err
}
