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
	c := t.v.scope.c
	if c.entriesOnly() {
		h.count = 1
		if t.soughtRepos != nil {
			delete(t.soughtRepos, t.v.finder.seg.Places.Repo[h.place])
		}
		return true, nil
	}
	if err := t.v.document.collectMatches(&h.documentHit); err != nil {
		return false, err
	}
	if c.selectKind == syntax.SelectSymbol || c.selectKind == syntax.SelectContent {
		return h.count > 0, nil
	}
	h.count = max(h.count, 1) // that of the path
	return true, nil
}

// initSought collects the repositories of the current segment if the answer lists
// repositories. Each is removed once it is found.
func (t *taskVisit) initSought() {
	if t.v.scope.c.selectKind != syntax.SelectRepo {
		return
	}
	t.soughtRepos = make(map[uint32]bool)
	for i, repo := range t.v.finder.seg.Places.Repo {
		if t.v.finder.seg.IsVisible(i) {
			t.soughtRepos[repo] = true
		}
	}
}

// foundAt reports whether a place adds nothing, because the answer lists repositories and
// its repository is already found.
func (t *taskVisit) foundAt(place int) bool {
	return t.soughtRepos != nil && !t.soughtRepos[t.v.finder.seg.Places.Repo[place]]
}

// foundAll reports whether the current segment can add nothing more.
func (t *taskVisit) foundAll() bool { return t.soughtRepos != nil && len(t.soughtRepos) == 0 }

// countNew returns the number of matches that the hits of a segment add to those of
// earlier segments. Each repository counts once, and seen records it.
func (n *searchRun) countNew(d *taskResult, seen map[uint32]bool) int {
	if n.plan.scope.c.selectKind != syntax.SelectRepo {
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
	if n.plan.scope.c.selectKind != syntax.SelectRepo {
		return hits
	}
	return slices.DeleteFunc(hits, func(h hit) bool {
		repo := n.repoOf(&h)
		again := seen[repo]
		seen[repo] = true
		return again
	})
}

// repoOf returns the number of the repository of a hit in scope.repos.
func (n *searchRun) repoOf(h *hit) uint32 {
	if n.plan.remote != nil {
		return n.plan.remote.hits[h.place].repo
	}
	return n.plan.segments[h.segment].Places.Repo[h.place]
}

// listRepositories sets the repositories of a result from its hits.
func (n *searchRun) listRepositories(result *Result, shown []hit) {
	result.Stats.Files = 0
	for _, h := range shown {
		result.Repositories = append(result.Repositories, n.plan.scope.repos[n.repoOf(&h)])
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
