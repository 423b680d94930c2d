package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/views"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// noIndex is an empty index, so that everything is read from the mirror.
type noIndex struct{}

func (noIndex) Snapshot(context.Context, code.RepositoryID) (source.Snapshot, error) {
	return noSnapshot{}, nil
}

type noSnapshot struct{ source.Snapshot }

func (noSnapshot) Release()                                         {}
func (noSnapshot) Default(code.RepositoryID) code.Ref               { return "" }
func (noSnapshot) Commit(code.RepositoryID, code.Ref) code.CommitID { return "" }
func (noSnapshot) RefAt(code.RepositoryID, code.CommitID) code.Ref  { return "" }
func (noSnapshot) Branches(code.RepositoryID) []source.Branch       { return nil }

// TestIndexAndMirrorAgree reads every file and directory of an indexed commit both from
// the index and from the mirror.
func TestIndexAndMirrorAgree(t *testing.T) {
	t.Parallel()
	dir, commits := importRepository(t, "testdata/odd.fastimport")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir)))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"odd","branches":["release/*"]}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	git := gitreads.New(func() *mirror.Mirrors { return s.pipeline.mirrors }, s)
	fromIndex, err1 := source.New(source.Options{Index: views.NewSnapshots(s.versions)})
	fromMirror, err2 := source.New(source.Options{Index: noIndex{}, Git: git})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	repository := &code.Repository{ID: s.accounts.Numbers.Repository(code.RepositoryNumber(r.RepoID)), Name: "odd"}
	for _, mark := range []string{"<4>", "<5>"} {
		compareRevision(t, repository, commits[mark], fromIndex, fromMirror)
	}
}

// compareRevision checks that two Browsers give the same answers. It skips what the first
// cannot answer without git.
func compareRevision(t *testing.T, r *code.Repository, commit string, a, b *source.Browser) {
	t.Helper()
	ctx := t.Context()
	files, errA := a.Files(ctx, r, commit)
	same, errB := b.Files(ctx, r, commit)
	if errors.Join(errA, errB) != nil || !reflect.DeepEqual(files, same) || len(files) < 15 {
		t.Fatalf("files: %q, %v; from the mirror %q, %v", files, errA, same, errB)
	}
	treeA, errA := a.Tree(ctx, r, commit, files)
	treeB, errB := b.Tree(ctx, r, commit, files)
	if errors.Join(errA, errB) != nil || !reflect.DeepEqual(treeA, treeB) {
		t.Errorf("tree: %+v, %v; from the mirror %+v, %v", treeA, errA, treeB, errB)
	}
	compared := 0
	for _, path := range append(files, "src", "vendor/sub", "nothing", "src/nothing", "README.md/x") {
		fileA, errA := a.File(ctx, r, commit, path)
		fileB, errB := b.File(ctx, r, commit, path)
		if errors.Is(errA, source.ErrUnavailable) {
			continue
		}
		compared++
		for _, kind := range []error{source.ErrNoPath, source.ErrBinary} {
			if errors.Is(errA, kind) && errors.Is(errB, kind) {
				errA, errB = nil, nil
			}
		}
		if errors.Join(errA, errB) != nil || string(fileA.Text) != string(fileB.Text) || fileA.Language != fileB.Language || fileA.Blob != fileB.Blob {
			t.Errorf("%q: %+v, %v; from the mirror %+v, %v", path, fileA, errA, fileB, errB)
		}
	}
	if compared < 15 {
		t.Errorf("only %d files were compared", compared)
	}
}
