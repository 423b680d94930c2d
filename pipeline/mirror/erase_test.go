package mirror

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/internal/gittest"
)

// TestEraseCommit erases a commit that a forced push dropped from the mirror of a
// repository on a host: not while a branch or an indexed ref leads to it, and then at
// once.
func TestEraseCommit(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "first\n")
	dropped := repo.CommitFiles("a", "dropped\n")
	server := httptest.NewServer(httpBackend(t, repo))
	defer server.Close()
	ms, err := Open(ctx, Options{
		Dir:    filepath.Join(t.TempDir(), "mirrors"),
		Policy: Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ms.Close() }()
	r := repo.Code("erased")
	r.CloneURL = server.URL + "/repository"
	m := ms.Mirror(r.ID)
	fetch := func() {
		t.Helper()
		if _, err := m.Fetch(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.EraseCommit(ctx, dropped); err != nil {
		t.Errorf("without a mirror: %v", err)
	}
	fetch()
	if err := m.SetIndexed(ctx, "refs/heads/main", dropped, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	if err := m.EraseCommit(ctx, dropped); !errors.Is(err, ErrReachable) {
		t.Errorf("a commit of a branch: %v", err)
	}
	repo.Git("reset", "--quiet", "--hard", string(first))
	last := repo.CommitFiles("a", "rewritten\n")
	fetch()
	if err := m.EraseCommit(ctx, dropped); !errors.Is(err, ErrReachable) {
		t.Errorf("a commit of an indexed ref: %v", err)
	}
	if err := m.SetIndexed(ctx, "refs/heads/main", last, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	if has, err := m.HasCommit(ctx, dropped); err != nil || !has {
		t.Fatalf("before: %t, %v: the test sees nothing", has, err)
	}
	for range 2 {
		if err := m.EraseCommit(ctx, dropped); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := m.HasCommit(ctx, dropped); err != nil || has {
		t.Errorf("after: %t, %v", has, err)
	}
	if has, err := m.HasCommit(ctx, last); err != nil || !has {
		t.Errorf("the commit of the branch: %t, %v", has, err)
	}
	if err := m.EraseCommit(ctx, "main"); err == nil {
		t.Error("the name of a branch was taken for a commit")
	}
}

// TestUnannounced keeps what was noted until it is cleared or the mirror is removed.
func TestUnannounced(t *testing.T) {
	ms, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "mirrors")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ms.Close() }()
	r := gittest.New(t).Code("noted")
	m := ms.Mirror(r.ID)
	check := func(want string) {
		t.Helper()
		if got, err := m.Unannounced(); err != nil || fmt.Sprint(got) != want {
			t.Errorf("noted %v, %v; want %s", got, err, want)
		}
	}
	if err := m.Save(r); err != nil {
		t.Fatal(err)
	}
	check("[]")
	for _, id := range []string{"a", "b"} {
		if err := m.NoteUnannounced(id); err != nil {
			t.Fatal(err)
		}
	}
	check("[a b]")
	if err := m.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("[a b]")
	if err := m.ClearUnannounced(); err != nil {
		t.Fatal(err)
	}
	check("[]")
	if err := m.ClearUnannounced(); err != nil {
		t.Fatal(err)
	}
}
