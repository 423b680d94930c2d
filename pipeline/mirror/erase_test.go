package mirror

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
)

// mirrorOverHTTP returns the mirror of a repository on a host, and a function that
// fetches it.
func mirrorOverHTTP(t *testing.T, repo *gittest.Repository) (m *Mirror, fetch func()) {
	t.Helper()
	server := httptest.NewServer(gittest.HTTPHandler(t, filepath.Dir(repo.Dir)))
	t.Cleanup(server.Close)
	ms, err := Open(t.Context(), Options{
		Dir:    filepath.Join(t.TempDir(), "mirrors"),
		Policy: Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ms.Close() })
	r := repo.Code("erased")
	r.CloneURL = server.URL + "/repository"
	m = ms.Mirror(r.ID)
	return m, func() {
		t.Helper()
		if _, err := m.Fetch(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEraseCommit erases a commit that a forced push dropped, from the mirror of a
// repository on a host. The erasure is refused while a branch or an indexed ref reaches
// the commit, and takes effect immediately afterwards.
func TestEraseCommit(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "first\n")
	dropped := repo.CommitFiles("a", "dropped\n")
	m, fetch := mirrorOverHTTP(t, repo)
	if err := m.EraseCommit(ctx, dropped); err != nil {
		t.Errorf("without a mirror: %v", err)
	}
	fetch()
	if err := m.SetIndexed(ctx, "refs/heads/main", dropped, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	if err := m.EraseCommit(ctx, dropped); !errors.Is(err, ErrReachable) {
		t.Errorf("a commit of a branch: %v, want %v", err, ErrReachable)
	}
	repo.Git("reset", "--quiet", "--hard", string(first))
	last := repo.CommitFiles("a", "rewritten\n")
	fetch()
	if err := m.EraseCommit(ctx, dropped); !errors.Is(err, ErrReachable) {
		t.Errorf("a commit of an indexed ref: %v, want %v", err, ErrReachable)
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

// TestErasePath erases a directory that a rewritten history no longer contains. The
// erasure is refused while a branch reaches a commit with the directory, even if a later
// commit deleted it; afterwards every version is removed.
func TestErasePath(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "first\n")
	repo.CommitFiles("secrets/key", "one\n")
	repo.CommitFiles("secrets/key", "two\n", "secretsandmore", "stays\n")
	repo.Git("rm", "--quiet", "-r", "secrets")
	dropped := repo.CommitFiles("a", "removed again\n")
	m, fetch := mirrorOverHTTP(t, repo)
	has := func(path string) bool {
		t.Helper()
		has, err := m.HasPath(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	if err := m.ErasePath(ctx, "secrets"); err != nil {
		t.Errorf("without a mirror: %v", err)
	}
	fetch()
	if err := m.ErasePath(ctx, "secrets"); !errors.Is(err, ErrReachable) || !strings.Contains(err.Error(), string(dropped)) {
		t.Errorf("a path in the history of a branch: %v", err)
	}
	repo.Git("reset", "--quiet", "--hard", string(first))
	repo.CommitFiles("secretsandmore", "stays\n")
	fetch()
	if !has("secrets") || !has("secrets/key") || has("secret") || has("*/key") {
		t.Fatal("the mirror does not have the path before: the test sees nothing")
	}
	for range 2 {
		if err := m.ErasePath(ctx, "secrets/key"); err != nil {
			t.Fatal(err)
		}
	}
	if has("secrets") || has("secrets/key") || !has("secretsandmore") || !has("a") {
		t.Error("want all paths but secrets after the erasure")
	}
	for _, path := range []string{"", "/a", "../a", "a//b"} {
		if err := m.ErasePath(ctx, path); err == nil {
			t.Errorf("path %q was accepted", path)
		}
	}
}

// TestUnannounced checks that recorded segments remain until they are cleared or the
// mirror is removed.
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
		if got, err := m.UnannouncedSegments(); err != nil || fmt.Sprint(got) != want {
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
