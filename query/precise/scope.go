package precise

import (
	"context"
	"strings"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Owners decides which repository owns a package, among those that a caller may read.
type Owners interface {
	// Known returns the owner if the configuration or the names of the repositories decide
	// it, and 0 if they decide that no repository of the caller owns the package.
	Known(p scip.Package) (owner code.RepositoryID, decided bool)
	// Claimant returns the only repository whose manifest names the package; 0 if there is
	// none, or more than one, or if the search for them is incomplete.
	Claimant(ctx context.Context, p scip.Package) code.RepositoryID
}

// Scope is what one request sees: a symbol at a position, and the repositories that the
// caller may read. It is not safe for concurrent use.
type Scope struct {
	Near  Symbol
	Among []code.RepositoryID
	// Owners may be nil: then no repository owns a package.
	Owners Owners
	// definers are the results of Store.definer.
	definers map[string]code.RepositoryID
}

// IsDefiner reports whether the statements of a repository about the definition of a symbol
// count.
func (s *Store) IsDefiner(ctx context.Context, in *Scope, id code.RepositoryID, name string) bool {
	return s.definer(ctx, in, name) == id
}

// definer returns the one repository whose uploads define a symbol that is not local: the
// repository of the position if it defines the symbol, or else the owner of the package of
// the symbol. It returns 0 if there is none. An upload decides only about its own
// repository, because whoever may upload to one repository must not change what is shown in
// another.
func (s *Store) definer(ctx context.Context, in *Scope, name string) code.RepositoryID {
	id, ok := in.definers[name]
	if ok {
		return id
	}
	id = s.findDefiner(ctx, in, name)
	if in.definers == nil {
		in.definers = map[string]code.RepositoryID{}
	}
	in.definers[name] = id
	return id
}

func (s *Store) findDefiner(ctx context.Context, in *Scope, name string) code.RepositoryID {
	if s.isDefined(name, s.newestReaders(ctx, in.Near.Repository, nil)) {
		return in.Near.Repository
	}
	p, ok := scip.PackageOf(name)
	if !ok || in.Owners == nil {
		return 0
	}
	if owner, decided := in.Owners.Known(p); decided {
		return owner
	}
	// Most symbols of other packages, such as those of a standard library, are defined in no
	// upload: they need no search for manifests.
	if !s.isDefined(name, s.newestReaders(ctx, in.Near.Repository, in.Among)) {
		return 0
	}
	return in.Owners.Claimant(ctx, p)
}

// ConfiguredOwner returns the name of the repository that Options.Packages names as the owner
// of a package: that of the package itself, or else that of the longest pattern.
func (s *Store) ConfiguredOwner(p scip.Package) (repository string, ok bool) {
	full := p.Manager + " " + p.Name
	if repository, ok = s.o.Packages[full]; ok {
		return repository, true
	}
	longest := -1
	for pattern, r := range s.o.Packages {
		if prefix, isPattern := strings.CutSuffix(pattern, "*"); isPattern && len(prefix) > longest && strings.HasPrefix(full, prefix) {
			repository, longest = r, len(prefix)
		}
	}
	return repository, longest >= 0
}

// isDefined reports whether one of the readers has a definition of a symbol.
func (s *Store) isDefined(name string, readers []*scip.Reader) bool {
	for _, r := range readers {
		symbols, err := r.FindSymbols(name, true, maxVersions)
		if err != nil {
			s.metrics.failures.Inc()
		}
		for i := range symbols {
			for _, d := range symbols[i].Documents {
				if d.Defined {
					return true
				}
			}
		}
	}
	return false
}
