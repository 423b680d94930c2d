package gittest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// Snapshot is the repository of a work tree at one time, without the work tree. Tests that
// begin with the same history create it once, because running git takes much longer than
// writing its files.
type Snapshot struct {
	files   map[string]file
	commits int
}

// Snapshot returns the current state of the repository.
func (r *Repository) Snapshot() *Snapshot {
	r.t.Helper()
	files, err := readFiles(r.gitDir())
	if err != nil {
		r.t.Fatalf("read the repository: %v", err)
	}
	r.last = &Snapshot{files, r.commits}
	return r.last
}

// Restore brings the repository to the state of a snapshot. It writes only the files that
// differ, and leaves the work tree as it is: git commands that read it see other files than
// those of HEAD.
func (r *Repository) Restore(s *Snapshot) {
	r.t.Helper()
	var have map[string]file
	if r.last != nil {
		have = r.last.files
	}
	if err := writeFiles(r.gitDir(), have, s.files); err != nil {
		r.t.Fatalf("restore the repository: %v", err)
	}
	r.last, r.commits = s, s.commits
}

func (r *Repository) gitDir() string { return filepath.Join(r.Dir, ".git") }

// emptyRepository is the result of git init, which New copies.
var emptyRepository = sync.OnceValues(func() (*Snapshot, error) {
	dir, err := os.MkdirTemp("", "quarry-gittest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // only the files that were read count
	git := exec.Command("git", append(slices.Clip(initArgs), dir)...)
	git.Env = environment(0)
	if out, err := git.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w\n%s", err, out)
	}
	files, err := readFiles(filepath.Join(dir, ".git"))
	return &Snapshot{files: files}, err
})

// file is a file or a directory.
type file struct {
	content   string
	directory bool
}

// readFiles returns the files and directories below root by path.
func readFiles(root string) (map[string]file, error) {
	files := map[string]file{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := file{directory: entry.IsDir()}
		if !f.directory {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.content = string(content)
		}
		files[relative] = f
		return nil
	})
	return files, err
}

// writeFiles writes the files and directories of want below root, which has those of have.
func writeFiles(root string, have, want map[string]file) error {
	for path := range have {
		if _, kept := want[path]; !kept {
			if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) { // a directory is before its files
		f := want[path]
		if old, exists := have[path]; exists && old == f {
			continue
		}
		err := error(nil)
		if path = filepath.Join(root, path); f.directory {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, []byte(f.content), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
