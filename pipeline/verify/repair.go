package verify

import (
	"context"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// connection is the connection name in the pushes of verifications.
const connection = "verify"

// noteRepair adds the push that repairs a difference, unless there already is one for the
// ref. A ref that differs only in the remote repository gets an ordinary push. Every
// other difference re-indexes the ref from scratch, because its rows cannot be trusted.
func (x *verifyRun) noteRepair(r code.Repository, d difference) {
	if !x.request.Repair || x.afterRepair || d.kind == kindRepository {
		return
	}
	p := &event.Push{Repository: r.ID, Ref: d.ref, Action: event.ActionRefresh, Connection: connection}
	if d.kind == kindRemote {
		p.Before, p.After, p.Action = code.CommitID(d.indexed), code.CommitID(d.found), event.ActionUpdated
		switch {
		case d.indexed == "":
			p.Action = event.ActionCreated
		case d.found == "":
			p.Action = event.ActionDeleted
		}
	}
	for i, other := range slices.Backward(x.repairs) {
		if other.Repository != r.ID {
			break // the pushes are grouped by repository
		}
		if other.Ref == d.ref {
			if p.Action == event.ActionRefresh {
				x.repairs[i] = p
			}
			return
		}
	}
	if len(x.repairs) < maxRepairs {
		x.repairs = append(x.repairs, p)
	}
}

// repairDifferences re-indexes what differs, and compares those repositories again.
func (x *verifyRun) repairDifferences(ctx context.Context, of []code.Repository) error {
	if err := x.emit(&verification.Finding{Type: verification.Repair, Count: len(x.repairs), Message: "refs are indexed again"}); err != nil {
		return err
	}
	if err := x.o.Repair(ctx, x.repairs); err != nil {
		return err
	}
	repaired := map[code.RepositoryID]bool{}
	for _, p := range x.repairs {
		repaired[p.Repository] = true
	}
	of = slices.DeleteFunc(slices.Clone(of), func(r code.Repository) bool { return !repaired[r.ID] })
	first := x.counts
	x.afterRepair, x.counts = true, verification.Counts{}
	for id, n := range x.unchecked {
		if !repaired[id] {
			x.counts.Unchecked += n
		}
	}
	for id, n := range x.differences {
		if !repaired[id] {
			x.counts.Differences += n
		}
	}
	compared := maps.Clone(x.compared)
	err := x.compareAll(ctx, of)
	for id, before := range compared {
		first.Refs += x.compared[id].Refs - before.Refs
		first.Files += x.compared[id].Files - before.Files
	}
	first.Unchecked, first.Repaired = x.counts.Unchecked, max(0, first.Differences-x.counts.Differences)
	first.Differences = x.counts.Differences
	x.counts = first
	return err
}
