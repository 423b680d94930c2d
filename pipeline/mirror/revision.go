package mirror

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// clientPrefixes begin the refs of a mirror that a client may name: those of the
// repository. The others are our own notes.
var clientPrefixes = []string{branchPrefix, "refs/tags/"}

// Exists reports whether the mirror is there. One that is not comes with the
// next Fetch.
func (m *Mirror) Exists() bool { return m.exists() }

// Resolve returns the commit that a client's name means, as of the last fetch:
// HEAD is the branch head. Refs that the mirror does not have, such as tags, are
// looked for in a repository that is read by path. It fails with ErrRefNotFound if
// the name means nothing here, or more than one commit, and with ErrMissing if
// there is no mirror.
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
	if id := m.resolveBorrowed(ctx, name); id != "" {
		return r.commit(ctx, string(id))
	}
	return c, err
}

// resolveBorrowed asks the repository from which the mirror borrows its objects;
// empty if there is none, or it has no such ref either.
func (m *Mirror) resolveBorrowed(ctx context.Context, name code.RevisionName) code.CommitID {
	objects, err := readSmall(m.alternates())
	if err != nil {
		return ""
	}
	gitDir := filepath.Dir(strings.TrimSuffix(string(objects), "\n"))
	for _, ref := range clientRefs(name.Refs) {
		out, err := m.ms.git.output(ctx, command{gitDir: gitDir, args: []string{"rev-parse", "--quiet", "--verify", string(ref) + name.Steps + "^{commit}"}})
		if err != nil {
			continue
		}
		if id, err := code.ParseCommitID(strings.TrimSpace(string(out))); err == nil {
			return id
		}
	}
	return ""
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

// clientRefs keeps the refs that a client may name.
func clientRefs(refs []code.Ref) []code.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(ref code.Ref) bool {
		return ref.Validate() != nil ||
			!slices.ContainsFunc(clientPrefixes, func(prefix string) bool { return strings.HasPrefix(string(ref), prefix) })
	})
}
