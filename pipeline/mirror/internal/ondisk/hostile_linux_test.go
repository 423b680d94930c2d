package ondisk_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk/ondisktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

const canary = "canary-6d1f0e"

// fuzzRound ends a round that hangs; a round reads a few files of a few bytes. While
// fuzzing, go test has no -timeout.
const fuzzRound = 5 * time.Minute

// hostile is a repository below an allowed root, next to files outside of it.
type hostile struct {
	root, gitDir, backup string
	// targets are the targets for plants, outside and inside the root.
	targets []string
	names   []string
	watch   *ondisktest.Watch
}

func newHostile(t testing.TB) *hostile {
	t.Helper()
	repo, foreign := gittest.New(t), gittest.New(t)
	repo.CommitFiles("a.txt", "one\n")
	repo.Git("repack", "-q", "-a", "-d")
	repo.Git("tag", "v1")
	repo.Git("pack-refs", "--all")
	repo.CommitFiles("a.txt", "two\n")
	foreign.CommitFiles("secret.txt", canary+"\n")
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hostile{root: filepath.Dir(repo.Dir), gitDir: filepath.Join(repo.Dir, ".git"), backup: filepath.Join(t.TempDir(), "backup")}
	if err := os.CopyFS(h.backup, os.DirFS(h.gitDir)); err != nil {
		t.Fatal(err)
	}
	h.names = ondisktest.Names(h.gitDir)
	outside := filepath.Join(foreign.Dir, ".git")
	h.targets = []string{
		secret, secret + "\n", "gitdir: " + outside + "\n", outside, outside + "\n", filepath.Join(outside, "objects"), filepath.Join(outside, "objects") + "\n",
		filepath.Join(outside, "HEAD"), filepath.Join(outside, "refs", "heads"), filepath.Join(outside, "objects", "pack"), strings.Repeat("../", 20) + secret[1:],
		"ref: refs/heads/main\n", "ref: refs/heads/x\n", "ref: " + secret + "\n", strings.Repeat("ab", 20) + "\n", strings.Repeat("ab", 20) + " refs/heads/y\n",
		filepath.Join(h.gitDir, "objects") + "\n", "../objects\n../objects\n", strings.Repeat("pack\n", 100),
		"../HEAD", ".", "..", "heads/main", "/proc/self/environ", "/dev/zero", h.root, "[extensions]\n\tobjectformat = sha256\n", "[extensions]\nrefstorage=reftable\n", "\x00\xff",
	}
	h.watch = ondisktest.NewWatch(t, filepath.Dir(secret), outside)
	return h
}

// openBelow is a policy with one root.
func (h *hostile) openBelow(path string) (*os.Root, error) {
	top, err := os.OpenRoot(h.root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(h.root, resolved)
	if err != nil {
		return nil, err
	}
	return ondisk.OpenRoot(top, rel)
}

// readAll reads everything that the package can read from the repository, and copies its
// objects to a directory.
func (h *hostile) readAll(ctx context.Context, to string) []error {
	repo, err := ondisk.Open(h.gitDir, h.openBelow)
	if err != nil {
		return []error{err}
	}
	defer repo.Close()
	_, _, headErr := repo.Head()
	_, listErr := repo.List(ctx, "refs/heads/")
	_, findErr := repo.Find(ctx, []code.Ref{"refs/heads/main", "refs/heads/x", "refs/tags/v1", "refs/heads/deep/er/x", "refs/heads"})
	_, shallowErr := repo.Shallow()
	objects := &ondisk.Objects{Directory: to, MaxBytes: 64 << 20}
	_, copyErr := objects.Update(ctx, repo)
	_, againErr := objects.Update(ctx, repo)
	return []error{headErr, listErr, findErr, shallowErr, copyErr, againErr}
}

// FuzzHostileRepository plants links, FIFOs, sockets, directories and files in place of
// the files of a repository, three at a time, and checks that nothing outside the root is
// opened, that no secret leaks and that no read blocks. Each plant takes three bytes:
// what, where, and where to.
func FuzzHostileRepository(f *testing.F) {
	h := newHostile(f)
	for name := range h.names {
		for kind := range ondisktest.Kinds {
			f.Add([]byte{byte(kind), byte(name), byte(name + kind)})
		}
	}
	for target := range h.targets {
		f.Add([]byte{0, byte(target), byte(target), 4, byte(target + 1), byte(target), 1, byte(target + 2), 0})
	}
	f.Fuzz(func(t *testing.T, plants []byte) {
		if err := os.RemoveAll(h.gitDir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(h.gitDir, os.DirFS(h.backup)); err != nil {
			t.Fatal(err)
		}
		for i := 0; i+2 < len(plants) && i < 9; i += 3 {
			p := ondisktest.Plant{
				Kind: ondisktest.Kinds[int(plants[i])%len(ondisktest.Kinds)], Name: h.names[int(plants[i+1])%len(h.names)],
				Target: h.targets[int(plants[i+2])%len(h.targets)], Size: 1 << (uint(plants[i+2]) % 41),
			}
			// One plant may block the next, or redirect it.
			_ = p.Put(h.gitDir)
		}
		ctx, cancel := context.WithTimeout(t.Context(), fuzzRound)
		defer cancel()
		to, done := t.TempDir(), make(chan []error, 1)
		go func() { done <- h.readAll(ctx, to) }()
		select {
		case errs := <-done:
			for _, err := range errs {
				if err != nil && strings.Contains(err.Error(), canary) {
					t.Errorf("an error holds the secret: %v", err)
				}
			}
		case <-time.After(2 * fuzzRound):
			t.Fatal("the repository is still being read")
		}
		h.watch.Check(t)
		checkCopies(t, to)
	})
}

// checkCopies checks that the directory contains only regular files, and none with the
// secret.
func checkCopies(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			t.Errorf("%s is %s", path, d.Type())
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() > 1<<20 {
			return err // sparse file without content
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), canary) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
