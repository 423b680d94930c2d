package corpus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// BorrowRepository recreates the bare repository dir, which shares the objects of bare
// and adds new commits on top of its Branch. It returns the commit on which the new ones
// are based, and the new ones, in order. It removes dir first.
func BorrowRepository(ctx context.Context, dir, bare string, write func(c *Commits)) (before string, commits []string, err error) {
	if before, err = resolveCommit(ctx, bare, "refs/heads/"+Branch); err != nil {
		return "", nil, err
	}
	objects, err := filepath.Abs(filepath.Join(bare, "objects"))
	if err != nil {
		return "", nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", nil, err
	}
	if err := initBare(ctx, dir); err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o644); err != nil {
		return "", nil, err
	}
	err = fastImport(ctx, dir, func(w *bufio.Writer) error {
		c := &Commits{w: w, from: before}
		write(c)
		if c.err == nil {
			fmt.Fprintf(w, "reset %s\nfrom refs/heads/%s\n\n", LastRef, Branch)
		}
		return c.err
	})
	if err != nil {
		return "", nil, err
	}
	out, err := gitCommand(dir, "rev-list", "--reverse", "--end-of-options", before+".."+LastRef).captureOutput(ctx)
	return before, strings.Fields(string(out)), err
}

// Move sets Branch of a bare repository to an existing commit, as a push to the host
// does.
func Move(dir, commit string) error {
	ref := filepath.Join(dir, "refs", "heads", Branch)
	if err := os.WriteFile(ref+".new", []byte(commit+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(ref+".new", ref)
}

// ErrNoFiles means that a tree has too few suitable files to edit.
var ErrNoFiles = errors.New("too few files to edit")

// Source is a file to edit.
type Source struct {
	Path    string
	Content []byte
}

// Sources returns n ordinary sources of a tree, spread over it, so that the work of a
// push that edits one is typical.
func Sources(tree string, n int) ([]Source, error) {
	files, err := listFiles(tree)
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, f := range chooseEdited(files, n) {
		content, err := f.readContent(tree)
		if err != nil {
			return nil, err
		}
		sources = append(sources, Source{f.path, content})
	}
	if len(sources) < n {
		return nil, fmt.Errorf("%w: %d of %d in %s", ErrNoFiles, len(sources), n, tree)
	}
	return sources, nil
}
