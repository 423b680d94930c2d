package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
)

// lackingRef is a ref that lacks documents or changes at a commit.
type lackingRef struct {
	repository code.RepositoryID
	ref        code.Ref
	commit     code.CommitID
}

// lackingRefs returns the refs that lack something, grouped by repository. The default
// branch comes before the other refs, which are derived from it.
func lackingRefs(ctx context.Context, v *places.View, lost *UnstoredSet) ([]lackingRef, error) {
	broken, err := v.Broken(maxRepairs)
	if err != nil {
		return nil, err
	}
	commits := map[code.RepositoryID]map[code.Ref]code.CommitID{}
	for _, b := range broken {
		if commits[b.Repository] == nil {
			commits[b.Repository] = map[code.Ref]code.CommitID{}
		}
		commits[b.Repository][b.Ref] = b.Commit
	}
	var found []lackingRef
	for _, repo := range v.Repositories() {
		if repo == nil {
			continue
		}
		lacking := commits[repo.ID]
		for _, ref := range repo.Refs {
			if _, known := lacking[ref.Ref]; known {
				continue
			}
			lacks, err := lost.containsRef(ctx, v, repo.ID, ref.Ref)
			if err == nil && !lacks {
				lacks, err = v.LacksText(ctx, repo.ID, ref.Ref)
			}
			if err != nil {
				return nil, fmt.Errorf("%s of repository %s: %w", ref.Ref, repo.ID, err)
			}
			if lacks {
				if lacking == nil {
					lacking = map[code.Ref]code.CommitID{}
				}
				lacking[ref.Ref] = ref.Commit
			}
		}
		found = appendLacking(found, repo, lacking)
	}
	return found, nil
}

// appendLacking appends the refs of a repository in their order.
func appendLacking(found []lackingRef, repo *places.Repository, lacking map[code.Ref]code.CommitID) []lackingRef {
	head := code.BranchRef(repo.DefaultBranch)
	if commit, ok := lacking[head]; ok {
		found = append(found, lackingRef{repo.ID, head, commit})
	}
	for _, ref := range slices.Sorted(maps.Keys(lacking)) {
		if ref != head {
			found = append(found, lackingRef{repo.ID, ref, lacking[ref]})
		}
	}
	return found
}

// containsRef reports whether a rebuild would lose documents or changes of a ref.
func (u *UnstoredSet) containsRef(ctx context.Context, v *places.View, id code.RepositoryID, ref code.Ref) (lost bool, err error) {
	if u.isEmpty() {
		return false, nil
	}
	if u.Changes[id][ref] || len(u.Documents) == 0 {
		return u.Changes[id][ref], nil
	}
	return v.NamesAny(ctx, id, ref, func(d code.DocumentKey) (bool, error) { return u.Documents[d], nil })
}
