package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o mirror.Options) *mirror.Mirrors {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "mirrors")
	}
	if o.Policy.Schemes == nil {
		o.Policy = mirror.Policy{Schemes: []string{"https", "http", "file"}, Roots: []string{os.TempDir()}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	}
	ms, err := mirror.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ms.Close() })
	return ms
}

// forEachRemote runs a test for both ways to reach a repository: by path and over HTTP.
func forEachRemote(t *testing.T, test func(t *testing.T, clone func(*gittest.Repository) string)) {
	t.Run("path", func(t *testing.T) { test(t, func(r *gittest.Repository) string { return r.Dir }) })
	t.Run("http", func(t *testing.T) {
		test(t, func(r *gittest.Repository) string { return serveGit(t, filepath.Dir(r.Dir)) + "/repository" })
	})
}

// serveGit serves the repositories below dir over HTTP, and returns the address.
func serveGit(t *testing.T, dir string) string {
	t.Helper()
	s := httptest.NewServer(gittest.HTTPHandler(t, dir))
	t.Cleanup(s.Close)
	return s.URL
}

// fetchRef fetches one branch.
func fetchRef(ctx context.Context, m *mirror.Mirror, r code.Repository, ref code.Ref) (code.CommitID, error) {
	commits, err := m.FetchRefs(ctx, r, ref)
	if err == nil && commits[ref] == "" {
		err = mirror.ErrRefNotFound
	}
	return commits[ref], err
}

func TestFetch(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(format, func(t *testing.T) {
				ctx := t.Context()
				repo := gittest.New(t, "--object-format="+format)
				first := repo.CommitFiles("a.txt", "one\n")
				repo.Git("branch", "release/1")
				repo.Git("branch", "other")
				r := repo.Code("r", "release/*")
				r.CloneURL = clone(repo)
				m := open(t, mirror.Options{}).Mirror(r.ID)

				s, err := m.Fetch(ctx, r)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := fmt.Sprint(s.Default, " ", s.Revisions), fmt.Sprintf("refs/heads/main [{refs/heads/main %s} {refs/heads/release/1 %s}]", first, first); got != want {
					t.Fatalf("state %s, want %s", got, want)
				}
				second := repo.CommitFiles("a.txt", "two\n", "b/c.txt", "new\n")
				if got, err := fetchRef(ctx, m, r, "refs/heads/main"); err != nil || got != second {
					t.Fatalf("fetchRef = %s, %v; want %s", got, err, second)
				}
				wantDiff(t, m, first, second, "M a.txt", "A b/c.txt")
				wantBlob(t, m, second, "a.txt", "two\n")

				repo.Git("reset", "--quiet", "--hard", string(first))
				forced := repo.CommitFiles("a.txt", "three\n")
				if got, err := fetchRef(ctx, m, r, "refs/heads/main"); err != nil || got != forced {
					t.Fatalf("forced: fetchRef = %s, %v; want %s", got, err, forced)
				}
				repo.Git("branch", "-D", "release/1")
				if _, err := fetchRef(ctx, m, r, "refs/heads/release/1"); !errors.Is(err, mirror.ErrRefNotFound) {
					t.Fatalf("deleted branch: %v, want %v", err, mirror.ErrRefNotFound)
				}
				// a makes room for a/b, and vice versa.
				repo.Git("branch", "release/x/y")
				r.Branches = []string{"**"}
				for _, next := range []string{"release/x", "release/x/y"} {
					if s, err = m.Fetch(ctx, r); err != nil || len(s.Revisions) != 3 {
						t.Fatalf("state %v, %v; want main, other, release/…", s, err)
					}
					repo.Git("branch", "-D", s.Revisions[2].Ref.Short())
					repo.Git("branch", next)
				}
			})
		}
	})
}

// TestFetchRefs fetches many branches together, some of which were deleted, one makes
// room for another, and one never existed.
func TestFetchRefs(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		ctx := t.Context()
		repo := gittest.New(t)
		repo.CommitFiles("a.txt", "one\n")
		for _, name := range []string{"a", "gone", "stays"} {
			repo.Git("branch", name)
		}
		r := repo.Code("r", "**")
		r.CloneURL = clone(repo)
		m := open(t, mirror.Options{}).Mirror(r.ID)
		if _, err := m.Fetch(ctx, r); err != nil {
			t.Fatal(err)
		}
		second := repo.CommitFiles("a.txt", "two\n")
		repo.Git("branch", "-D", "a", "gone")
		want := map[code.Ref]code.CommitID{"refs/heads/main": second}
		refs := []code.Ref{"refs/heads/main", "refs/heads/a", "refs/heads/gone", "refs/heads/never"}
		for i := range 300 { // more than one fetch takes
			ref := code.BranchRef(fmt.Sprintf("a/%d", i))
			repo.Git("update-ref", string(ref), string(second))
			refs, want[ref] = append(refs, ref), second
		}
		got, err := m.FetchRefs(ctx, r, refs...)
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%d commits, want %d: %v", len(got), len(want), err)
		}
		if _, err := m.FetchedCommit(ctx, "refs/heads/gone"); !errors.Is(err, mirror.ErrMissing) {
			t.Fatalf("a branch that is gone: %v, want %v", err, mirror.ErrMissing)
		}
		if _, err := m.FetchedCommit(ctx, "refs/heads/stays"); err != nil {
			t.Fatalf("a branch that was not requested: %v", err)
		}
	})
}

// TestRefsThatAreNoPlainFiles fetches a branch that is packed, one that is a link, and
// one that names something other than a commit.
func TestRefsThatAreNoPlainFiles(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		ctx := t.Context()
		repo := gittest.New(t)
		want := repo.CommitFiles("a.txt", "one\n")
		repo.Git("tag", "-a", "-m", "x", "v1")
		r := repo.Code("r", "**")
		r.CloneURL = clone(repo)
		m := open(t, mirror.Options{}).Mirror(r.ID)
		if _, err := m.Fetch(ctx, r); err != nil {
			t.Fatal(err)
		}
		file := func(name string) string { return filepath.Join(repo.Dir, ".git", "refs", "heads", name) }
		for _, step := range []struct {
			branch string
			do     func() error
			there  bool
		}{
			{"main", func() error { want = repo.CommitFiles("a.txt", "two\n"); return nil }, true},
			{"main", func() error { repo.Git("pack-refs", "--all"); return nil }, true},
			{"link", func() error { repo.Git("symbolic-ref", "refs/heads/link", "refs/heads/main"); return nil }, true},
			{"tag", func() error {
				return os.WriteFile(file("tag"), []byte(repo.Git("rev-parse", "v1")+"\n"), 0o644)
			}, false},
			{"missing", func() error {
				return os.WriteFile(file("missing"), []byte(strings.Repeat("ab", 20)+"\n"), 0o644)
			}, false},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			got, err := fetchRef(ctx, m, r, code.BranchRef(step.branch))
			if (err == nil) != step.there || step.there && got != want {
				t.Errorf("%s: %s, %v; want %s there: %t", step.branch, got, err, want, step.there)
			}
		}
	})
}

func TestFetchOddRepositories(t *testing.T) {
	forEachRemote(t, func(t *testing.T, clone func(*gittest.Repository) string) {
		ctx := t.Context()
		ms := open(t, mirror.Options{})
		repo := gittest.New(t)
		r := repo.Code("odd", "topi*")
		r.CloneURL = clone(repo)
		m := ms.Mirror(r.ID)

		if _, err := fetchRef(ctx, m, r, "refs/heads/main"); !errors.Is(err, code.ErrNotFound) {
			t.Fatalf("no mirror yet: %v, want %v", err, code.ErrNotFound)
		}
		if s, err := m.Fetch(ctx, r); err != nil || s.Default != "" || s.Revisions != nil {
			t.Fatalf("empty repository: %v, %v", s, err)
		}
		if _, err := fetchRef(ctx, m, r, "refs/heads/main"); !errors.Is(err, mirror.ErrRefNotFound) {
			t.Fatalf("no branch yet: %v, want %v", err, mirror.ErrRefNotFound)
		}
		commit := repo.CommitFiles("a", "1")
		repo.Git("update-ref", "refs/heads/topi\xe7", string(commit)) // cannot be named in an event
		repo.Git("branch", "topic")
		repo.Git("symbolic-ref", "HEAD", "refs/heads/unborn")
		if s, err := m.Fetch(ctx, r); err != nil || s.Default != "refs/heads/main" || len(s.Revisions) != 2 {
			t.Fatalf("unborn HEAD: %v, %v; want main", s, err)
		}
		repo.Git("branch", "-m", "main", "trunk")
		repo.Git("update-ref", "--no-deref", "HEAD", string(commit))
		repo.Git("checkout", "--quiet", "--detach", string(commit))
		if s, err := m.Fetch(ctx, r); err != nil || s.Default != "refs/heads/topic" {
			t.Fatalf("detached HEAD: %v, %v; want the first branch there, topic", s, err)
		}
		r.DefaultBranch = "trunk"
		if s, err := m.Fetch(ctx, r); err != nil || s.Default != "refs/heads/trunk" {
			t.Fatalf("configured default: %v, %v; want trunk", s, err)
		}
		r.DefaultBranch = ""
		repo.CommitFiles("a", "2")
		if _, err := m.Fetch(ctx, r); !errors.Is(err, mirror.ErrNoDefaultBranch) {
			t.Fatalf("detached HEAD off all branches: %v, want %v", err, mirror.ErrNoDefaultBranch)
		}
		if err := os.RemoveAll(repo.Dir); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Fetch(ctx, r); !errors.Is(err, mirror.ErrVanished) {
			t.Fatalf("vanished: %v, want %v", err, mirror.ErrVanished)
		}
		if _, err := fetchRef(ctx, m, r, "refs/heads/topic"); !errors.Is(err, mirror.ErrVanished) {
			t.Fatalf("vanished: %v, want %v", err, mirror.ErrVanished)
		}
	})
}

func TestFetchPinsHost(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	// Only the pin can lead git to the server: .invalid never resolves.
	url := strings.Replace(serveGit(t, filepath.Dir(repo.Dir)), "127.0.0.1", "host.invalid", 1)
	r := repo.Code("pinned")
	r.CloneURL = url + "/repository"
	ms := open(t, mirror.Options{Policy: mirror.Policy{
		Schemes:  []string{"http"},
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	}})
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestBorrowedOutsideRoots(t *testing.T) {
	dir := t.TempDir()
	secret := gittest.New(t)
	secret.CommitFiles("secret", "x")
	inside := filepath.Join(dir, "inside")
	secret.Git("clone", "--quiet", "--shared", "--bare", secret.Dir, inside)
	worktree := filepath.Join(dir, "worktree")
	secret.Git("worktree", "add", "--quiet", "-b", "topic", worktree)
	r := secret.Code("borrowed")
	for _, path := range []string{inside, worktree} {
		r.CloneURL = path
		ms := open(t, mirror.Options{Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{dir}}})
		if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); !errors.Is(err, mirror.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", path, err)
		}
		ms = open(t, mirror.Options{Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{dir, secret.Dir}}})
		if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); err != nil {
			t.Errorf("%s with both roots: %v", path, err)
		}
	}
}

func TestIndexedState(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	first := repo.CommitFiles("a", "1")
	second := repo.CommitFiles("a", "2")
	r := repo.Code("state", "**")
	ms := open(t, mirror.Options{})
	m := ms.Mirror(r.ID)
	if got, err := m.IndexedCommit(ctx, "refs/heads/main"); err != nil || got != "" {
		t.Fatalf("no mirror: %s, %v", got, err)
	}
	if _, err := m.Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(r); err != nil {
		t.Fatal(err)
	}
	for ref, commit := range map[code.Ref]code.CommitID{"refs/heads/main": first, "refs/heads/main/sub": second} {
		if err := m.SetIndexed(ctx, ref, commit, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := m.IndexedRevisions(ctx)
	if want := fmt.Sprintf("[{refs/heads/main %s} {refs/heads/main/sub %s}]", first, second); err != nil || fmt.Sprint(got) != want {
		t.Fatalf("indexed %v, %v; want %s", got, err, want)
	}
	if m.AnnouncedDefault() != "refs/heads/main" {
		t.Fatalf("announced default %q, want \"refs/heads/main\"", m.AnnouncedDefault())
	}
	if err := m.SetIndexed(ctx, "refs/heads/main", "", ""); err != nil {
		t.Fatal(err)
	}
	if got, err := m.IndexedCommit(ctx, "refs/heads/main"); err != nil || got != "" {
		t.Fatalf("after removal: %s, %v", got, err)
	}
	if err := m.SetIndexed(ctx, "refs/heads/main", code.CommitID(strings.Repeat("ab", 20)), ""); !errors.Is(err, mirror.ErrMissing) {
		t.Fatalf("commit that is not there: %v", err)
	}
	// The owner of a repository on disk deletes the commit. Its copy stays.
	if err := m.SetIndexed(ctx, "refs/heads/main", second, ""); err != nil {
		t.Fatal(err)
	}
	repo.Git("reset", "--quiet", "--hard", string(first))
	repo.Git("reflog", "expire", "--expire=all", "--all")
	repo.Git("gc", "--quiet", "--prune=now")
	if err := ms.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := m.IndexedCommit(ctx, "refs/heads/main"); err != nil || got != second {
		t.Fatalf("pruned: %s, %v; want %s", got, err, second)
	}
	wantDiff(t, m, second, first, "M a")
	if err := diffTrees(t, m, code.CommitID(strings.Repeat("ab", 20)), first, func(string, mirror.Entry, mirror.Entry) error { return nil }); !errors.Is(err, mirror.ErrMissing) {
		t.Fatalf("difference with a commit that is missing: %v", err)
	}
	if err := m.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Repository(); err != nil || got.Name != r.Name {
		t.Fatalf("after Reset: %+v, %v", got, err)
	}
	if s, err := m.Fetch(ctx, r); err != nil || s.Revisions[0].Commit != first {
		t.Fatalf("after Reset: %v, %v", s, err)
	}
	if err := m.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Repository(); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("after Remove: %v, want %v", err, code.ErrNotFound)
	}
}

func TestReadDamaged(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "aaa", "b", "bbb", "c", strings.Repeat("c", 5000), "d", "ddd")
	damage := func(name string, content []byte) {
		id := repo.Git("rev-parse", "HEAD:"+name)
		path := filepath.Join(repo.Dir, ".git", "objects", id[:2], id[2:])
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	damage("a", nil)
	damage("b", []byte("this is no zlib stream"))
	r := repo.Code("damaged")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	var ids []mirror.ObjectID
	if err := m.ListTree(ctx, commit, func(_ string, e mirror.Entry) error { ids = append(ids, e.ID); return nil }); err != nil {
		t.Fatal(err)
	}
	reader, err := m.Reader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var got []string
	err = reader.Blobs(ctx, ids, 4096, func(i int, content []byte, err error) error {
		switch {
		case errors.Is(err, mirror.ErrMissing):
			got = append(got, "missing")
		case errors.Is(err, mirror.ErrTooLarge):
			got = append(got, "too large")
		default:
			got = append(got, string(content))
		}
		return err2(err)
	})
	if want := "[missing missing too large ddd]"; err != nil || fmt.Sprint(got) != want {
		t.Fatalf("%v, %v; want %s", got, err, want)
	}
}

// TestCopiesOutliveTheRepository reads while the disk with the repository is not mounted,
// because the mirror has its own objects.
func TestCopiesOutliveTheRepository(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "1")
	r, dir := repo.Code("away"), t.TempDir()
	if _, err := open(t, mirror.Options{Dir: dir}).Mirror(r.ID).Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(repo.Dir, repo.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	m := open(t, mirror.Options{Dir: dir}).Mirror(r.ID)
	wantBlob(t, m, commit, "a", "1")
	if _, err := m.Fetch(ctx, r); !errors.Is(err, mirror.ErrVanished) {
		t.Fatalf("fetch without the disk: %v, want ErrVanished", err)
	}
}

// TestBorrowedMirrorIsAdopted opens a mirror of an earlier version, which has no objects
// and refers to those of the repository.
func TestBorrowedMirrorIsAdopted(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "1")
	r, dir := repo.Code("borrowed"), t.TempDir()
	if _, err := open(t, mirror.Options{Dir: dir}).Mirror(r.ID).Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", "git"))
	if err != nil || len(found) != 1 {
		t.Fatalf("mirrors: %v, %v", found, err)
	}
	objects, alternates := filepath.Join(found[0], "objects"), filepath.Join(found[0], "objects", "info", "alternates")
	for _, err := range []error{
		os.Remove(filepath.Join(found[0], "copied-from")), os.RemoveAll(objects), os.MkdirAll(filepath.Dir(alternates), 0o700),
		os.WriteFile(alternates, []byte(filepath.Join(repo.Dir, ".git", "objects")+"\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m := open(t, mirror.Options{Dir: dir}).Mirror(r.ID)
	if _, err := m.Commit(ctx, commit); err != nil {
		t.Fatal(err)
	}
	wantBlob(t, m, commit, "a", "1")
	if _, err := os.Stat(alternates); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the mirror still borrows objects: %v, want %v", err, os.ErrNotExist)
	}
	second := repo.CommitFiles("a", "2")
	if got, err := fetchRef(ctx, m, r, "refs/heads/main"); err != nil || got != second {
		t.Fatalf("a push after the adoption: %s, %v; want %s", got, err, second)
	}
}

// err2 ignores expected errors.
func err2(err error) error {
	if errors.Is(err, mirror.ErrMissing) || errors.Is(err, mirror.ErrTooLarge) {
		return nil
	}
	return err
}

func TestReadManyAndStop(t *testing.T) {
	ctx := t.Context()
	repo := gittest.New(t)
	for i := range 2000 {
		repo.Write(fmt.Sprintf("d%d/f%d", i%7, i), strings.Repeat(fmt.Sprintln(i), i%400))
	}
	commit := repo.Commit()
	repo.Git("repack", "-adq")
	r := repo.Code("many")
	ms := open(t, mirror.Options{})
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(ctx, r); err != nil {
		t.Fatal(err)
	}
	var ids []mirror.ObjectID
	var sizes []int64
	if err := m.ListTree(ctx, commit, func(_ string, e mirror.Entry) error {
		ids, sizes = append(ids, e.ID), append(sizes, e.Size)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	reader, err := m.Reader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = reader.Blobs(ctx, ids, 1<<20, func(i int, content []byte, err error) error {
		if err != nil || int64(len(content)) != sizes[i] || i != n {
			t.Fatalf("blob %d (want %d): %d bytes, want %d; %v", i, n, len(content), sizes[i], err)
		}
		n++
		return nil
	})
	if err != nil || n != 2000 {
		t.Fatalf("%d blobs, %v", n, err)
	}
	if err := reader.Sizes(ctx, ids, func(i int, size int64) {
		if size != sizes[i] {
			t.Errorf("size of %d: %d, want %d", i, size, sizes[i])
		}
	}); err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancelCause(ctx)
	enough := errors.New("enough")
	err = reader.Blobs(stop, ids, 1<<20, func(i int, _ []byte, _ error) error {
		if i == 10 {
			cancel(enough)
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("cancelled reading: %v, want %v", err, enough)
	}
	reader.Close()
	// The pool returns no reader that is out of sync.
	wantBlob(t, m, commit, "d3/f3", "3\n3\n3\n")
}

func TestCommitTime(t *testing.T) {
	repo := gittest.New(t)
	id := repo.CommitFiles("a", "1")
	r := repo.Code("time")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c, err := m.Commit(t.Context(), id)
	if want := time.Unix(1_700_000_060, 0).UTC(); err != nil || c.ID != id || c.Tree.IsZero() || !c.Time.Equal(want) {
		t.Fatalf("commit %+v, %v; want %s at %s", c, err, id, want)
	}
}

func diffTrees(t *testing.T, m *mirror.Mirror, before, after code.CommitID, fn func(path string, old, new mirror.Entry) error) error {
	t.Helper()
	trees, err := m.Trees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	return trees.Diff(t.Context(), before, after, fn)
}

func wantDiff(t *testing.T, m *mirror.Mirror, before, after code.CommitID, want ...string) {
	t.Helper()
	var got []string
	err := diffTrees(t, m, before, after, func(path string, old, new mirror.Entry) error {
		status := "M"
		if old.ID.IsZero() {
			status = "A"
		} else if new.ID.IsZero() {
			status = "D"
		}
		got = append(got, status+" "+path)
		return nil
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("difference %v, %v; want %v", got, err, want)
	}
}

func wantBlob(t *testing.T, m *mirror.Mirror, commit code.CommitID, path, want string) {
	t.Helper()
	var id mirror.ObjectID
	if err := m.ListTree(t.Context(), commit, func(p string, e mirror.Entry) error {
		if p == path {
			id = e.ID
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	reader, err := m.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	err = reader.Blobs(t.Context(), []mirror.ObjectID{id}, 1<<20, func(_ int, content []byte, err error) error {
		if err != nil || string(content) != want {
			t.Fatalf("%s at %s: %q, %v; want %q", path, commit, content, err, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
