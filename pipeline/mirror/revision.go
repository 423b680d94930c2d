package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/schemas/code"
)

// clientPrefixes are the prefixes of refs that a client may name: those of the
// repository. The other refs of a mirror are internal.
var clientPrefixes = []string{branchPrefix, tagPrefix}

// Exists reports whether the mirror exists. If not, the next Fetch creates it.
func (m *Mirror) Exists() bool { return m.hasRepository() }

// Resolve returns the commit that a client's name refers to, as of the last fetch; HEAD
// means the branch head. Refs that the mirror lacks, such as tags, are looked up in a
// repository that is read by path. It fails with ErrRefNotFound if the name matches
// nothing or more than one commit, and with ErrMissing if there is no mirror.
func (m *Mirror) Resolve(ctx context.Context, name code.RevisionName, head code.Ref) (Commit, error) {
	r, err := m.Reader(ctx)
	if err != nil {
		return Commit{}, err
	}
	defer r.Close()
	c, err := r.Resolve(ctx, name, head)
	if !errors.Is(err, ErrRefNotFound) {
		return c, err
	}
	return m.resolveOnDisk(ctx, r, name, err)
}

// resolveOnDisk looks up a ref in the repository whose objects the mirror copies. If it
// does not exist there, resolveOnDisk fails with notFound.
func (m *Mirror) resolveOnDisk(ctx context.Context, r *Reader, name code.RevisionName, notFound error) (Commit, error) {
	refs := clientRefs(name.Refs)
	if len(refs) == 0 {
		return Commit{}, notFound
	}
	found, err := m.findOnDisk(ctx, func(ctx context.Context, repo *ondisk.Repository) (ondisk.Refs, error) { return repo.Find(ctx, refs) })
	if err != nil {
		return Commit{}, notFound // moved or deleted
	}
	for _, ref := range refs {
		id, ok := found[ref]
		if !ok {
			continue
		}
		c, err := r.commit(ctx, string(id)+name.Steps)
		if errors.Is(err, ErrMissing) && m.copyNews(ctx) == nil {
			c, err = r.commit(ctx, string(id)+name.Steps)
		}
		if errors.Is(err, ErrMissing) {
			err = notFound
		}
		return c, err
	}
	return Commit{}, notFound
}

// copyNews copies the objects added to the repository on disk since the last push.
func (m *Mirror) copyNews(ctx context.Context) error {
	src, err := m.copySource(ctx)
	if err != nil || src.path == "" {
		return err
	}
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	_, err = m.copyObjects(ctx, src, nil)
	return err
}

// Resolve works like Mirror.Resolve.
func (r *Reader) Resolve(ctx context.Context, name code.RevisionName, head code.Ref) (Commit, error) {
	for _, candidate := range candidateNames(name, head) {
		c, err := r.commit(ctx, candidate+name.Steps)
		if !errors.Is(err, ErrMissing) {
			return c, err
		}
	}
	return Commit{}, fmt.Errorf("repository %s has no such revision: %w", r.m.id, ErrRefNotFound)
}

// candidateNames returns the names to look up with git, in order. Each is a validated ref
// or hexadecimal.
func candidateNames(name code.RevisionName, head code.Ref) []string {
	refs := name.Refs
	if name.Head {
		refs = []code.Ref{head}
	}
	var names []string
	for _, ref := range clientRefs(refs) {
		names = append(names, string(ref))
	}
	switch {
	case name.IsFullCommit():
		return slices.Insert(names, 0, name.Commit)
	case name.Commit != "":
		return append(names, name.Commit)
	}
	return names
}

// clientRefs returns the refs that a client may name.
func clientRefs(refs []code.Ref) []code.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(ref code.Ref) bool {
		return ref.Validate() != nil ||
			!slices.ContainsFunc(clientPrefixes, func(prefix string) bool { return strings.HasPrefix(string(ref), prefix) })
	})
}
