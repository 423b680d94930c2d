package mirror

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestRepack fetches many pushes: a mirror with many packs is repacked while a reader is
// in use, and every fetched object can still be read, including those that no ref
// reaches.
func TestRepack(t *testing.T) {
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "0\n")
	server := httptest.NewServer(gittest.HTTPHandler(t, filepath.Dir(repo.Dir)))
	defer server.Close()
	ms, err := Open(t.Context(), Options{
		Dir:    filepath.Join(t.TempDir(), "mirrors"),
		Policy: Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	ms.repackLimits = repackLimits{loose: 1 << 30, packs: 3}
	r := repo.Code("pushed")
	r.CloneURL = server.URL + "/repository"
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	reader, err := m.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	commits := []code.CommitID{first}
	for i := range 6 {
		var files []string
		for n := range 120 { // more objects than git unpacks, so each push adds a pack
			files = append(files, fmt.Sprintf("d/%d", n), fmt.Sprintf("%d in push %d\n", n, i))
		}
		repo.CommitFiles(files...)
		fetched, err := m.FetchRefs(t.Context(), r, "refs/heads/main")
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, fetched["refs/heads/main"])
	}
	if _, packs := m.countObjects(); packs < 5 || !ms.mu.due[r.ID] {
		t.Fatalf("%d packs, due %t: the test wants a crowded mirror", packs, ms.mu.due[r.ID])
	}
	// The last push is reverted, so no ref reaches its objects.
	repo.Git("update-ref", "refs/heads/main", string(commits[2]))
	if _, err := m.FetchRefs(t.Context(), r, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	ms.repackDue(t.Context())
	if _, packs := m.countObjects(); packs > 2 || len(ms.mu.due) > 0 {
		t.Errorf("%d packs after the repack, due %v", packs, ms.mu.due)
	}
	for _, id := range commits {
		if c, err := reader.commit(t.Context(), string(id)); err != nil || c.ID != id {
			t.Errorf("commit %s: %v, %v", id, c, err)
		}
		if err := m.ListTree(t.Context(), id, func(string, Entry) error { return nil }); err != nil {
			t.Errorf("tree of %s: %v", id, err)
		}
	}
	if _, err := m.FetchRefs(t.Context(), r, "refs/heads/main"); err != nil {
		t.Errorf("a fetch after the repack: %v", err)
	}
}
