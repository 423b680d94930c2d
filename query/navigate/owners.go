package navigate

import (
	"context"
	"strings"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate/internal/manifests"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds on the search for the manifests that name a package.
const (
	maxManifests     = 200
	maxManifestBytes = 1 << 20
)

// owners decides which of the repositories that a caller may read owns a package. It serves
// one request.
type owners struct {
	navigator *Navigator
	view      corpus.View
	repos     map[code.RepositoryID]*corpus.Repository
	found     map[scip.Package]code.RepositoryID // by Claimant
}

var _ precise.Owners = (*owners)(nil)

// Known implements precise.Owners. The path of a Go module begins with the name of its
// repository, so that no other repository can own it.
func (o *owners) Known(p scip.Package) (owner code.RepositoryID, decided bool) {
	if name, ok := o.navigator.precise.ConfiguredOwner(p); ok {
		for id, r := range o.repos {
			if r.Name == name {
				return id, true
			}
		}
		return 0, true
	}
	if p.Manager != managerGo {
		return 0, false
	}
	longest := 0
	for id, r := range o.repos {
		if len(r.Name) > longest && isWithin(p.Name, r.Name) {
			owner, longest = id, len(r.Name)
		}
	}
	return owner, owner != 0
}

// managerGo is the name of Go's package manager in symbols.
const managerGo = "gomod"

// isWithin reports whether the path of a Go module is that of a repository or below it.
func isWithin(module, repository string) bool {
	return module == repository || strings.HasPrefix(module, repository+"/")
}

// Claimant implements precise.Owners. A manifest proves little, because whoever may push to
// a repository may write any name into one: it counts only if no other repository contradicts
// it. Forks contain the manifest of their origin, and yield to it.
func (o *owners) Claimant(ctx context.Context, p scip.Package) code.RepositoryID {
	id, ok := o.found[p]
	if !ok {
		id = o.findClaimant(ctx, p)
		o.found[p] = id
	}
	return id
}

func (o *owners) findClaimant(ctx context.Context, p scip.Package) code.RepositoryID {
	claims := map[*corpus.Repository]bool{}
	formats := manifests.Formats(p.Manager)
	for i := range formats {
		if !o.addClaims(ctx, &formats[i], p, claims) {
			return 0 // a claim that was not found could contradict those that were
		}
	}
	var owner *corpus.Repository
	several := false
	for r := range claims {
		switch {
		case owner == nil, owner.Fork && !r.Fork:
			owner, several = r, false
		case owner.Fork == r.Fork:
			several = true
		}
	}
	if owner == nil || several {
		return 0
	}
	return owner.ID
}

// addClaims adds the repositories with a manifest of a format that names the package, and
// reports whether these are all. Third-party code in a repository does not count.
func (o *owners) addClaims(ctx context.Context, f *manifests.Format, p scip.Package, claims map[*corpus.Repository]bool) bool {
	pattern, caseSensitive := f.Text(p.Name)
	text := &syntax.Text{Pattern: pattern, Regexp: true, Case: syntax.CaseYes}
	if !caseSensitive {
		text.Case = syntax.CaseNo
	}
	var in Request
	query := in.buildQuery(&syntax.And{Children: []syntax.Query{
		text,
		&syntax.File{Pattern: f.File, Case: syntax.CaseYes},
		&syntax.Not{Child: &syntax.Is{Trait: syntax.Vendored}},
	}})
	found, err := o.navigator.searcher.Search(ctx, o.view, search.Request{Query: query, Matches: maxManifests, Whole: true, WithoutAdvice: true})
	if err != nil {
		return false
	}
	defer found.Release()
	for i := range found.Files {
		m := &found.Files[i]
		if len(m.Content) > maxManifestBytes || !f.Declares(m.Content, p.Name) || p.Manager == managerGo && contradictsName(p.Name, m.Repo.Name) {
			continue
		}
		claims[m.Repo] = true
	}
	return found.Exhaustive
}

// contradictsName reports whether the path of a Go module is on the host of a repository,
// but is not the repository's: such a module is a copy.
func contradictsName(module, repository string) bool {
	host, _, ok := strings.Cut(repository, "/")
	return ok && strings.Contains(host, ".") && strings.HasPrefix(module, host+"/") && !isWithin(module, repository)
}
