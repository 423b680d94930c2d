package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// The refs of a mirror that a client may name: what the repository has. The
// others are our own notes.
var nameablePrefixes = []string{branchPrefix, "refs/tags/"}

// Exists reports whether the mirror is there. One that is not comes with the
// next Fetch.
func (m *Mirror) Exists() bool { return m.exists() }

// Resolve returns the commit that a client's name means, as of the last fetch:
// HEAD is the branch head. It fails with ErrRefNotFound if the name means nothing
// here, or more than one commit, and with ErrMissing if there is no mirror.
func (m *Mirror) Resolve(ctx context.Context, name code.RevisionName, head code.Ref) (Commit, error) {
	r, err := m.Reader(ctx)
	if err != nil {
		return Commit{}, err
	}
	defer r.Close()
	return r.Resolve(ctx, name, head)
}

// Resolve is Mirror.Resolve.
func (r *Reader) Resolve(ctx context.Context, name code.RevisionName, head code.Ref) (Commit, error) {
	for _, candidate := range candidates(name, head) {
		c, err := r.commit(ctx, candidate+name.Steps)
		if !errors.Is(err, ErrMissing) {
			return c, err
		}
	}
	return Commit{}, fmt.Errorf("repository %s has no such revision: %w", r.m.id, ErrRefNotFound)
}

// candidates are the names that git is asked for, in order. Each is a validated
// ref or hexadecimal.
func candidates(name code.RevisionName, head code.Ref) []string {
	refs := name.Refs
	if name.Head {
		refs = []code.Ref{head}
	}
	var names []string
	for _, ref := range refs {
		own := slices.ContainsFunc(nameablePrefixes, func(prefix string) bool { return strings.HasPrefix(string(ref), prefix) })
		if own && ref.Validate() == nil {
			names = append(names, string(ref))
		}
	}
	switch {
	case name.IsFullCommit():
		return slices.Insert(names, 0, name.Commit)
	case name.Commit != "":
		return append(names, name.Commit)
	}
	return names
}
