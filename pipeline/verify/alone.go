package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
)

// compareWithoutMirror looks for missing data of a repository that has no mirror in this
// process.
func (x *verifyRun) compareWithoutMirror(ctx context.Context, r code.Repository) error {
	if err := x.o.Fence(ctx); err != nil {
		return fmt.Errorf("wait for the projections: %w", err)
	}
	view := x.o.Acquire()
	defer view.Release()
	indexed := view.Repository(r.ID)
	if indexed == nil {
		return nil // the repository may have been registered and nothing more
	}
	if err := x.readUnheld(view); err != nil {
		return err
	}
	if err := x.reportDifferences(r, x.brokenElsewhere(indexed)); err != nil {
		return err
	}
	for _, ref := range indexed.Refs {
		t := x.newTreeRun(r, ref)
		err := view.Files(ctx, r.ID, ref.Ref, "", func(p places.Place) bool { t.lookForText(&p); return true })
		if err == nil {
			err = x.reportDifferences(r, t.sortedDifferences())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", ref.Ref, err)
		}
	}
	return nil
}

// brokenElsewhere returns the refs whose last event could not be applied and that queries
// do not show at all.
func (x *verifyRun) brokenElsewhere(indexed *places.Repository) []difference {
	var out []difference
	for k, b := range x.broken {
		if k.repository == indexed.ID && indexed.Ref(k.ref) == nil {
			out = append(out, difference{ref: k.ref, kind: kindBroken, count: 1, indexed: string(b.Have), found: string(b.Commit)})
		}
	}
	slices.SortFunc(out, func(a, b difference) int { return strings.Compare(string(a.ref), string(b.ref)) })
	return out
}
