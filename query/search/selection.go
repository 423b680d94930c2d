package search

import (
	"cmp"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
)

// collectHit adds the matches that the query shows to a hit, and reports whether the hit
// counts with these matches.
func (t *taskVisit) collectHit(h *hit) (bool, error) {
	c := t.v.scope.Query
	if c.EntriesOnly() {
		h.Count = 1
		if t.soughtRepos != nil {
			delete(t.soughtRepos, t.v.finder.Seg.Places.Repo[h.Place])
		}
		return true, nil
	}
	if err := t.v.document.CollectMatches(&h.Hit); err != nil {
		return false, err
	}
	if c.SelectKind == syntax.SelectSymbol || c.SelectKind == syntax.SelectContent {
		return h.Count > 0, nil
	}
	h.Count = max(h.Count, 1) // that of the path
	return true, nil
}

// initSought collects the repositories of the current segment if the answer lists
// repositories. Each is removed once it is found.
func (t *taskVisit) initSought() {
	if t.v.scope.Query.SelectKind != syntax.SelectRepo {
		return
	}
	t.soughtRepos = make(map[uint32]bool)
	for i, repo := range t.v.finder.Seg.Places.Repo {
		if t.v.finder.Seg.IsVisible(i) {
			t.soughtRepos[repo] = true
		}
	}
}

// foundAt reports whether a place adds nothing, because the answer lists repositories and
// its repository is already found.
func (t *taskVisit) foundAt(place int) bool {
	return t.soughtRepos != nil && !t.soughtRepos[t.v.finder.Seg.Places.Repo[place]]
}

// foundAll reports whether the current segment can add nothing more.
func (t *taskVisit) foundAll() bool { return t.soughtRepos != nil && len(t.soughtRepos) == 0 }

// countNew returns the number of matches that the hits of a segment add to those of
// earlier segments. Each repository counts once, and seen records it.
func (n *searchRun) countNew(d *taskResult, seen map[uint32]bool) int {
	if n.plan.scope.Query.SelectKind != syntax.SelectRepo {
		return d.count
	}
	before := len(seen)
	for i := range d.hits {
		seen[n.repoOf(&d.hits[i])] = true
	}
	return len(seen) - before
}

// distinctHits keeps the hits of repositories that seen does not contain, and adds them
// to seen. It returns hits unchanged if the answer does not list repositories.
func (n *searchRun) distinctHits(hits []hit, seen map[uint32]bool) []hit {
	if n.plan.scope.Query.SelectKind != syntax.SelectRepo {
		return hits
	}
	return slices.DeleteFunc(hits, func(h hit) bool {
		repo := n.repoOf(&h)
		again := seen[repo]
		seen[repo] = true
		return again
	})
}

// repoOf returns the number of the repository of a hit in Scope.Repos.
func (n *searchRun) repoOf(h *hit) uint32 {
	if n.plan.remote != nil {
		return n.plan.remote.hits[h.Place].repo
	}
	return n.plan.segments[h.segment].Places.Repo[h.Place]
}

// listRepositories sets the repositories of a result from its hits.
func (n *searchRun) listRepositories(result *Result, shown []hit) {
	result.Stats.Files = 0
	for _, h := range shown {
		result.Repositories = append(result.Repositories, n.plan.scope.Repos[n.repoOf(&h)])
	}
	result.Stats.Displayed = len(result.Repositories)
	sortRepositories(result.Repositories)
}

// sortRepositories orders repositories by name.
func sortRepositories(repos []*corpus.Repository) {
	slices.SortFunc(repos, func(a, b *corpus.Repository) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}
