package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/gitmodules"
)

// Submodule is a reference to another repository in a tree.
type Submodule struct {
	Path string
	// Commit is the commit of the other repository that the tree refers to.
	Commit code.CommitID
	// CloneURL is the URL of the other repository from .gitmodules, without user and
	// password; empty if Quarry could not clone it. It is untrusted: nothing may be
	// fetched from it.
	CloneURL string
	// Repository is the full name of the registered repository with that URL; empty if
	// there is none that the caller may read. The callers of a Browser fill it in.
	Repository string
}

// PageAddress returns the address of the other repository's page at the commit; empty if
// Quarry does not have the repository.
func (m *Submodule) PageAddress() string {
	if m.Repository == "" {
		return ""
	}
	return Address{Repository: m.Repository, Revision: string(m.Commit), Kind: PageTree}.String()
}

// Submodules returns the submodules in a directory of a revision, "" being the root. It
// reads them from git: without a mirror, the error wraps ErrUnavailable.
func (b *Browser) Submodules(ctx context.Context, r *code.Repository, name, directory string) ([]Submodule, error) {
	directory, err := cleanDirectory(directory)
	if err != nil {
		return nil, err
	}
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return nil, err
	}
	var found map[string][]Entry
	err = b.callGit(ctx, b.reads, operationDirectories, func(ctx context.Context) (err error) {
		found, err = b.o.Git.Directories(ctx, r.ID, rev.commit, []string{directory}, MaxEntries)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("submodules of %s: %w", r.Name, err)
	}
	var out []Submodule
	for _, e := range found[directory] {
		if e.Kind == KindCommit {
			out = append(out, Submodule{Path: strings.TrimPrefix(directory+"/"+e.Name, "/"), Commit: e.Commit})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	urls, err := b.readModules(ctx, r, rev)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].CloneURL = gitmodules.ResolveURL(r.CloneURL, urls[out[i].Path])
	}
	return out, nil
}

// readModules returns the URLs in .gitmodules by path, as written; none if the file is
// missing, too large or not a valid configuration.
func (b *Browser) readModules(ctx context.Context, r *code.Repository, rev revision) (map[string]string, error) {
	var text []byte
	err := b.callGit(ctx, b.reads, operationContent, func(ctx context.Context) (err error) {
		text, err = b.o.Git.Content(ctx, r.ID, rev.commit, gitmodules.Path, gitmodules.MaxBytes)
		return err
	})
	if errors.Is(err, ErrNoPath) || errors.Is(err, ErrTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf(".gitmodules of %s: %w", r.Name, err)
	}
	urls, err := gitmodules.Parse(string(text))
	if err != nil {
		return nil, nil // an invalid file names no submodules
	}
	return urls, nil
}
