package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
)

// TestSmallMirrorIsSmall checks that the mirror of a small repository has no empty directories,
// and one pack instead of a file and a directory for each object.
func TestSmallMirrorIsSmall(t *testing.T) {
	repo := gittest.New(t)
	var files []string
	for i := range 10 {
		files = append(files, fmt.Sprintf("file%d.go", i), fmt.Sprintf("package x%d\n", i))
	}
	commit := repo.CommitFiles(files...)
	m, fetch := mirrorOverHTTP(t, repo)
	packs := filepath.Join(m.gitDir(), "objects", "pack")
	if err := errors.Join(m.createBare(t.Context(), "sha1"), os.Mkdir(packs, 0o700), os.WriteFile(filepath.Join(packs, "tmp_pack_a"), []byte("PACK"), 0o600)); err != nil {
		t.Fatal(err)
	}
	fetch() // a crash has interrupted the one before
	if err := m.SetIndexed(t.Context(), "refs/heads/main", commit, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	var found []string
	err := filepath.WalkDir(m.gitDir(), func(path string, _ fs.DirEntry, err error) error {
		found = append(found, path)
		return err
	})
	// HEAD, config, 4 directories to two refs and 5 to the indexed one, objects, pack, and at most
	// three files of a pack, besides the rest of the interrupted one.
	if err != nil || len(found) > 19 {
		t.Errorf("%d inodes, %v:\n%s", len(found), err, found)
	}
	next := repo.CommitFiles("file0.go", "package y\n")
	fetch()
	if c, err := m.Commit(t.Context(), next); err != nil || c.ID != next {
		t.Errorf("after a push: %v, %v", c, err)
	}
}
