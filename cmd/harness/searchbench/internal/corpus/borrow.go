package corpus

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BorrowRepository recreates the bare repository dir, which shares the objects of bare
// and adds new commits on top of its Branch. It returns the commit on which the new ones
// are based, and the new ones, in order. It removes dir first.
func BorrowRepository(ctx context.Context, dir, bare string, write func(c *Commits)) (before string, commits []string, err error) {
	if before, err = resolveCommit(ctx, bare, "refs/heads/"+Branch); err != nil {
		return "", nil, err
	}
	if err := initBorrowing(ctx, dir, bare); err != nil {
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

// initBorrowing recreates the empty bare repository dir, which shares the objects of bare.
func initBorrowing(ctx context.Context, dir, bare string) error {
	objects, err := filepath.Abs(filepath.Join(bare, "objects"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := initBare(ctx, dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o644)
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

// editedFiles is the number of files that a series of pushes edits in turn.
const editedFiles = 200

// PushSeries is a repository with one commit of one file for each push.
type PushSeries struct {
	Dir     string
	Before  string // the commit before the first push
	Commits []string
	Words   []string // Words[i] was added by Commits[i] and stays
	// ChangedBytes is the size of the files that the pushes changed.
	ChangedBytes int64
}

// Parent returns the parent of the i-th push.
func (s *PushSeries) Parent(i int) string {
	if i == 0 {
		return s.Before
	}
	return s.Commits[i-1]
}

// PreparePushSeries recreates the bare repository dir with n commits of one file each on
// top of Branch of bare, whose checkout is tree. It edits ordinary sources, spread over
// the tree, so that the work of a push is typical.
func PreparePushSeries(ctx context.Context, dir, bare, tree string, n int) (*PushSeries, error) {
	files, err := listFiles(tree)
	if err != nil {
		return nil, err
	}
	edited := chooseEdited(files, min(editedFiles, n))
	if len(edited) == 0 {
		return nil, fmt.Errorf("no file of %d to %d bytes to edit in %s", minEditedBytes, maxEditedBytes, tree)
	}
	contents := make([][]byte, len(edited))
	for i, f := range edited {
		if contents[i], err = f.readContent(tree); err != nil {
			return nil, err
		}
	}
	s := &PushSeries{Dir: dir}
	s.Before, s.Commits, err = BorrowRepository(ctx, dir, bare, func(c *Commits) {
		for i := range n {
			at, word := i%len(edited), fmt.Sprintf("pushed_%06d_word", i)
			contents[at] = append(slices.Clip(contents[at]), "// "+word+"\n"...)
			c.Begin(word)
			c.File(edited[at].path, contents[at])
			s.Words, s.ChangedBytes = append(s.Words, word), s.ChangedBytes+int64(len(contents[at]))
		}
	})
	if err == nil && len(s.Commits) != n {
		err = fmt.Errorf("%s has %d new commits, want %d", dir, len(s.Commits), n)
	}
	return s, err
}
