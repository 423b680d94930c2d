package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
)

// ForWebhooks adapts the catalog to webhook.Repositories.
func (r *Catalog) ForWebhooks() webhook.Repositories { return webhookCatalog{r} }

// webhookCatalog adapts the catalog to webhook.Repositories. While the projections lag
// behind the log, a missing repository may have been registered already. The delivery
// then gets 503, because hosts do not retry a delivery that was ignored.
type webhookCatalog struct{ *Catalog }

var _ webhook.Repositories = webhookCatalog{}

// Find implements webhook.Repositories.
func (k webhookCatalog) Find(ctx context.Context, candidate code.Repository) (code.Repository, error) {
	found, err := k.Catalog.Find(ctx, candidate)
	if errors.Is(err, code.ErrNotFound) && !k.versions.CaughtUp() {
		return code.Repository{}, fmt.Errorf("repository %s%s: %w", candidate.Name, candidate.CloneURL, versions.ErrCatchingUp)
	}
	return found, err
}
