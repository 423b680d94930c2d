package mcp

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// repository returns the repository with that full name: of several, the first that
// exists for the caller. The error wraps code.ErrNotFound, and says nothing but the
// name that was asked for.
func (c *call) repository(ctx context.Context, name string) (*code.Repository, error) {
	all, err := c.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, fmt.Errorf("find a repository: %w", err)
	}
	for _, r := range all {
		if name != "" && r.Name == name && c.see.Sees(&r.Repository) {
			return &r.Repository, nil
		}
	}
	return nil, fmt.Errorf("repository %q: %w", name, code.ErrNotFound)
}

// repositories returns all that exist for the caller, by name; the slice is the
// caller's.
func (c *call) repositories(ctx context.Context) ([]*search.Repository, error) {
	all, err := c.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	seen := make([]*search.Repository, 0, len(all))
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
	return c.o.Screen.Hide(v, c.see, c.see.Sees), nil
}
