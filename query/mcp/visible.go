package mcp

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// repository returns the repository with that full name, if it exists for the
// caller. The error wraps code.ErrNotFound.
func (c *call) repository(ctx context.Context, name string) (*code.Repository, error) {
	r, err := c.o.Catalog.Find(ctx, code.Repository{Name: name})
	if err != nil {
		return nil, err
	}
	if name == "" || !c.see.Sees(&r) {
		return nil, fmt.Errorf("repository %q: %w", name, code.ErrNotFound)
	}
	return &r, nil
}

// repositories returns all that exist for the caller, in any order.
func (c *call) repositories(ctx context.Context) ([]*search.Repository, error) {
	all, err := c.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	seen := all[:0]
	for _, r := range all {
		if c.see.Sees(&r.Repository) {
			seen = append(seen, r)
		}
	}
	return seen, nil
}

// view returns the state of the index as the caller sees it.
func (c *call) view(ctx context.Context) (search.View, error) {
	v, err := c.o.Views.View(ctx)
	if err != nil || c.see.Everything() {
		return v, err
	}
	all := v.Repositories()
	seen := make([]*search.Repository, len(all))
	for i, r := range all {
		if r != nil && c.see.Sees(&r.Repository) {
			seen[i] = r
		}
	}
	return visibleView{v, c.see, seen}, nil
}

// visibleView is a view without what is hidden.
type visibleView struct {
	search.View
	see          auth.Visible
	repositories []*search.Repository
}

// Repositories implements search.View.
func (v visibleView) Repositories() []*search.Repository { return v.repositories }

// Revisions implements search.View.
func (v visibleView) Revisions(ctx context.Context, match func(*search.Repository, code.Ref) bool) ([]search.Segment, []code.Ref, error) {
	return v.View.Revisions(ctx, func(r *search.Repository, ref code.Ref) bool { return v.see.Sees(&r.Repository) && match(r, ref) })
}
