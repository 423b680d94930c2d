package gitreads_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// requester counts the requests for a mirror.
type requester struct{ requests int }

func (r *requester) RequestMirror(context.Context, code.RepositoryID) bool {
	r.requests++
	return true
}

func (r *requester) IsFetching(context.Context, code.RepositoryID) bool { return r.requests > 0 }

// TestOldMirrorIsRequested reads at a mirror that lacks the indexed commit: it is requested, and a
// commit that it has answers as one that exists nowhere until it is fetched.
func TestOldMirrorIsRequested(t *testing.T) {
	repo := gittest.New(t)
	dropped := repo.CommitFiles("a.txt", "dropped\n")
	r := repo.Code("r")
	mirrors, err := mirror.Open(t.Context(), mirror.Options{Dir: t.TempDir(), Policy: mirror.Policy{Roots: []string{repo.Dir}}})
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
	if err := m.SetIndexed(t.Context(), "refs/heads/main", dropped, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	requests := &requester{}
	reads := gitreads.New(func() *mirror.Mirrors { return mirrors }, requests)
	if reach, err := reads.Reach(t.Context(), r.ID, dropped, []code.Revision{{Ref: "refs/heads/main", Commit: dropped}}); reach != source.ReachIndexed || err != nil {
		t.Errorf("an indexed commit: %d, %v", reach, err)
	}
	repo.Git("checkout", "--quiet", "--detach")
	index := []code.Revision{{Ref: "refs/heads/main", Commit: code.CommitID(strings.Repeat("1", 40))}}
	repo.Git("branch", "--quiet", "-D", "main")
	if reach, err := reads.Reach(t.Context(), r.ID, dropped, index); reach != source.ReachNone || !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "lost or old") {
		t.Errorf("a commit that the index may have dropped: %d, %v", reach, err)
	}
	nowhere := code.RevisionName{Commit: strings.Repeat("2", 40)}
	if _, err := reads.Resolve(t.Context(), r.ID, nowhere, ""); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("a commit that exists nowhere: %v", err)
	}
	if requests.requests != 1 {
		t.Errorf("%d requests for the mirror, want 1", requests.requests)
	}
}
