package gitreads_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/verify"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// shortPages cuts each page of a listing after one file, and repeats it if stuck is set.
type shortPages struct {
	rpc.Mirrors
	stuck bool
}

func (s shortPages) ListTree(ctx context.Context, id code.RepositoryID, commit code.CommitID, after string) ([]verification.TreeFile, bool, error) {
	if s.stuck {
		after = ""
	}
	files, _, err := s.Mirrors.ListTree(ctx, id, commit, after)
	return files[:min(len(files), 1)], len(files) > 1, err
}

// TestRemoteMirrorIsTheMirror reads a mirror as another process does, and compares that with the
// mirror. Afterwards the mirror is damaged, and then missing.
func TestRemoteMirrorIsTheMirror(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a/b.txt", "ten bytes\n", "a.txt", "dot before slash\n", "b\xff", "no name\n")
	r := repo.Code("r")
	dir := t.TempDir()
	mirrors, err := mirror.Open(t.Context(), mirror.Options{Dir: dir, Policy: mirror.Policy{Roots: []string{repo.Dir}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := mirrors.Close(); err != nil {
			t.Error(err)
		}
	}()
	m := mirrors.Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := m.SetIndexed(t.Context(), "refs/heads/main", commit, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	requests := &requester{}
	reads := gitreads.New(func() *mirror.Mirrors { return mirrors }, requests)
	remote, err := gitreads.OpenRemote(t.Context(), shortPages{Mirrors: reads}, r.ID)
	if err != nil || !remote.Exists() || remote.AnnouncedDefault() != "refs/heads/main" {
		t.Fatalf("%+v, %v", remote, err)
	}
	var ids []mirror.ObjectID
	read := func(m verify.Mirror) (lines []string) {
		revisions, err := m.IndexedRevisions(t.Context())
		lines = append(lines, fmt.Sprint(revisions, err))
		ids = nil
		err = m.ListTree(t.Context(), commit, func(path string, e mirror.Entry) error {
			lines, ids = append(lines, fmt.Sprintf("%q %v", path, e)), append(ids, e.ID)
			return nil
		})
		lines = append(lines, fmt.Sprint(err))
		err = m.ReadSizes(t.Context(), ids, 12, func(i int, bytes int64, err error) error {
			if errors.Is(err, mirror.ErrTooLarge) {
				bytes = -1
			}
			lines = append(lines, fmt.Sprint(i, bytes, err != nil))
			return nil
		})
		return append(lines, fmt.Sprint(err))
	}
	if got, want := read(remote), read(m); !reflect.DeepEqual(got, want) || len(ids) != 3 {
		t.Errorf("the remote mirror:\n%q\nwant\n%q", got, want)
	}
	stuck, err := gitreads.OpenRemote(t.Context(), shortPages{reads, true}, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := stuck.ListTree(t.Context(), commit, func(string, mirror.Entry) error { return nil }); !errors.Is(err, verify.ErrElsewhere) || !strings.Contains(err.Error(), "order") {
		t.Errorf("pages that repeat: %v", err)
	}
	if found, err := reads.FindReaching(t.Context(), r.ID, commit, ""); found != commit || err != nil {
		t.Errorf("a commit of a branch: %q, %v", found, err)
	}
	if found, err := reads.FindReaching(t.Context(), r.ID, "", "a"); found != commit || err != nil {
		t.Errorf("a path of a branch: %q, %v", found, err)
	}
	if found, err := reads.FindReaching(t.Context(), r.ID, code.CommitID(strings.Repeat("1", 40)), ""); found != "" || err != nil {
		t.Errorf("no commit: %q, %v", found, err)
	}

	packs, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "objects", "*", "*"))
	if err != nil || len(packs) == 0 {
		packs, _ = filepath.Glob(filepath.Join(dir, "*", "*", "objects", "*", "*"))
	}
	for _, file := range packs {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	err = remote.ListTree(t.Context(), commit, func(string, mirror.Entry) error { return nil })
	if len(packs) == 0 || !errors.Is(err, verify.ErrElsewhere) || !strings.Contains(err.Error(), "damaged") || requests.requests == 0 {
		t.Errorf("without %d objects: %v, requested %d times", len(packs), err, requests.requests)
	}
	if _, err := remote.IndexedRevisions(t.Context()); err != nil || remote.Exists() {
		t.Errorf("the mirror is missing: %v, %v", remote.Exists(), err)
	}
}
