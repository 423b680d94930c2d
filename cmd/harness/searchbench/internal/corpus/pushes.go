package corpus

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
)

// Push is one prepared commit. It appends a line with a unique word to one file.
type Push struct {
	Branch string `json:"branch"` // in OUT/pushes/NAME.git
	Commit string `json:"commit"`
	Before string `json:"before"` // its parent; for the first, Branch of OUT/git/NAME.git
	Path   string `json:"path"`
	Word   string `json:"word"`
}

// Edited files have ordinary sizes, so that the work of a push is typical.
const (
	minEditedBytes = 4 << 10
	maxEditedBytes = 128 << 10
)

// Fetch moves Branch of a clone of OUT/git/NAME.git to the prepared commit, as a push
// does.
func (p Push) Fetch(ctx context.Context, out, name, clone string) error {
	return RunGit(ctx, clone, "fetch", "--quiet", "--no-tags", PushPath(out, name), "+refs/heads/"+p.Branch+":refs/heads/"+Branch)
}

// preparePushes writes n commits to the repository side, which borrows the objects of
// bare.
func preparePushes(ctx context.Context, bare, side, tree, name string, files []file, n int) ([]Push, error) {
	before, err := resolveCommit(ctx, bare, "refs/heads/"+Branch)
	if err != nil {
		return nil, err
	}
	edited := chooseEdited(files, n)
	if len(edited) < n {
		return nil, fmt.Errorf("%s: only %d source files to edit, %d pushes wanted", name, len(edited), n)
	}
	if err := initBorrowing(ctx, side, bare); err != nil {
		return nil, err
	}
	pushes := make([]Push, n)
	for i, f := range edited {
		pushes[i] = Push{Branch: pushBranch(i + 1), Path: f.path, Word: fmt.Sprintf("quarry_bench_%s_push_%02d", name, i+1)}
	}
	if err := fastImport(ctx, side, func(w *bufio.Writer) error { return writePushes(w, tree, before, edited, pushes) }); err != nil {
		return nil, err
	}
	for i := range pushes {
		pushes[i].Before = before
		if before, err = resolveCommit(ctx, side, "refs/heads/"+pushes[i].Branch); err != nil {
			return nil, err
		}
		pushes[i].Commit = before
	}
	return pushes, nil
}

// chooseEdited returns n files spread over the tree.
func chooseEdited(files []file, n int) []file {
	var candidates []file
	for _, f := range files {
		switch filepath.Ext(f.path) {
		case ".c", ".go", ".java":
			if f.mode == "100644" && f.size >= minEditedBytes && f.size <= maxEditedBytes {
				candidates = append(candidates, f)
			}
		}
	}
	if len(candidates) < n {
		return candidates
	}
	chosen := make([]file, n)
	for i := range chosen {
		chosen[i] = candidates[(2*i+1)*len(candidates)/(2*n)]
	}
	return chosen
}

func writePushes(w *bufio.Writer, tree, before string, edited []file, pushes []Push) error {
	for i, p := range pushes {
		commitHeader(w, "refs/heads/"+p.Branch, "edit "+p.Path, i+1)
		parent := before
		if i > 0 {
			parent = "refs/heads/" + pushes[i-1].Branch
		}
		fmt.Fprintf(w, "from %s\n", parent)
		content, err := edited[i].readContent(tree)
		if err != nil {
			return err
		}
		if err := writeFileChange(w, edited[i].mode, p.Path, append(content, "// "+p.Word+"\n"...)); err != nil {
			return err
		}
	}
	return nil
}
