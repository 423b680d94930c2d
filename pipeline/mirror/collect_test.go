package mirror

import (
	"errors"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestCollect drops one commit by a forced push and another by deleting its branch. They
// stay while an indexed ref reaches them and until collection is due, and are then
// removed from the mirror. Reachable commits stay.
func TestCollect(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "first\n")
	forced := repo.CommitFiles("a", "forced away\n")
	repo.Git("checkout", "--quiet", "-b", "side", string(first))
	deleted := repo.CommitFiles("b", "deleted\n")
	repo.Git("checkout", "--quiet", "main")
	server := httptest.NewServer(gittest.HTTPHandler(t, filepath.Dir(repo.Dir)))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "mirrors")
	openAgain := func(after time.Duration) *Mirrors {
		t.Helper()
		ms, err := Open(ctx, Options{
			Dir: dir, CollectAfter: after,
			Policy: Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ms.Close() })
		return ms
	}
	r := repo.Code("collected", "side")
	r.CloneURL = server.URL + "/repository"
	ms := openAgain(time.Hour)
	m := ms.Mirror(r.ID)
	fetch := func() State {
		t.Helper()
		s, err := m.Fetch(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(when string, want map[code.CommitID]bool) {
		t.Helper()
		for id, there := range want {
			_, err := m.Commit(ctx, id)
			if there && err != nil || !there && !errors.Is(err, ErrMissing) {
				t.Errorf("%s: commit %s: %v; want it there: %t", when, id, err, there)
			}
		}
	}
	fetch()
	ms.collectDue(ctx) // the first round checks all mirrors
	if err := m.SetIndexed(ctx, "refs/heads/main", forced, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	repo.Git("reset", "--quiet", "--hard", string(first))
	rewritten := repo.CommitFiles("a", "rewritten\n")
	if _, err := m.FetchRefs(ctx, r, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	repo.Git("branch", "--quiet", "-D", "side")
	fetch()
	ms.collectDue(ctx)
	check("before it is time", map[code.CommitID]bool{first: true, forced: true, deleted: true, rewritten: true})

	ms = openAgain(time.Nanosecond)
	m = ms.Mirror(r.ID)
	ms.collectDue(ctx)
	check("while it is indexed", map[code.CommitID]bool{first: true, forced: true, deleted: false, rewritten: true})
	if err := m.SetIndexed(ctx, "refs/heads/main", rewritten, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	ms.collectDue(ctx)
	check("at the end", map[code.CommitID]bool{first: true, forced: false, deleted: false, rewritten: true})
	if isFile(filepath.Join(m.gitDir(), formerTips)) {
		t.Error("the former tips are still there")
	}
	repo.CommitFiles("a", "more\n")
	fetch()
	ms.collectDue(ctx)
	check("after a push", map[code.CommitID]bool{first: true, rewritten: true})
	if isFile(filepath.Join(m.gitDir(), formerTips)) {
		t.Error("the former tip of a plain push is still there")
	}
}
