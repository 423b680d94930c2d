package generic

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// lister lists one connection.
type lister struct{ c discovery.Connection }

// Open implements discovery.Open for any git host.
func Open(c discovery.Connection, _ *http.Client) (discovery.Lister, error) {
	return &lister{c}, nil
}

// List implements discovery.Lister.
func (g *lister) List(ctx context.Context, l *discovery.Listing) error {
	for _, target := range g.c.Targets.Repos {
		if err := ctx.Err(); err != nil {
			return err
		}
		pattern, local := strings.CutPrefix(target, "file://")
		if !local && strings.HasPrefix(target, "/") {
			pattern, local = target, true
		}
		switch {
		case !local:
			if !g.addURL(l, target, target) {
				return nil
			}
		case !g.addDirectories(l, target, pattern):
			return nil
		}
	}
	return nil
}

// addURL adds the repository of a clone URL.
func (g *lister) addURL(l *discovery.Listing, target, cloneURL string) bool {
	clone, err := code.ParseCloneURL(cloneURL)
	if err != nil {
		return l.Fail(target, discovery.NewTargetError("a clone URL without a password, such as https://git.example.org/team/tool.git"))
	}
	return l.Add(&discovery.Found{
		Repository: code.Repository{ID: clone.RepositoryID(), Kind: code.GenericGitHost, Name: clone.Name(), DisplayName: clone.Path, CloneURL: cloneURL},
		Path:       clone.Name(),
	})
}

// addDirectories adds the repositories whose directories match. If a glob matches
// nothing, the directory may not be mounted, so nothing is removed.
func (g *lister) addDirectories(l *discovery.Listing, target, pattern string) bool {
	if !filepath.IsAbs(pattern) {
		return l.Fail(target, discovery.NewTargetError("file:/// and an absolute path"))
	}
	directories, err := filepath.Glob(pattern)
	if err != nil {
		return l.Fail(target, discovery.NewTargetError("a glob: "+err.Error()))
	}
	found := false
	for _, directory := range directories {
		if !isRepository(directory) && !isRepository(filepath.Join(directory, ".git")) {
			continue
		}
		found = true
		if !g.addURL(l, target, directory) {
			return false
		}
	}
	if !found {
		return l.Fail(target, hostapi.NewError(hostapi.NotFound, fmt.Sprintf("none of %d directories is a repository", len(directories))))
	}
	return true
}

// isRepository reports whether a directory contains the files of a git repository.
func isRepository(directory string) bool {
	head, err := os.Lstat(filepath.Join(directory, "HEAD"))
	if err != nil || head.IsDir() {
		return false
	}
	objects, err := os.Stat(filepath.Join(directory, "objects"))
	return err == nil && objects.IsDir()
}
