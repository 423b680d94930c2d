package mirror_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk/ondisktest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

const canary = "canary-6d1f0e"

// hostileWorld contains a repository below an allowed root, and, outside the root, a file
// and a repository that must not be read.
type hostileWorld struct {
	t       *testing.T
	root    string
	repo    *gittest.Repository
	commit  code.CommitID
	secret  string // a file that contains the canary
	foreign *gittest.Repository
	hidden  code.CommitID // a commit of the foreign repository
	watch   *ondisktest.Watch
}

func newHostileWorld(t *testing.T) *hostileWorld {
	t.Helper()
	w := &hostileWorld{t: t, repo: gittest.New(t), foreign: gittest.New(t)}
	w.root = filepath.Dir(w.repo.Dir)
	w.repo.CommitFiles("a.txt", "one\n")
	w.repo.Git("repack", "-q", "-a", "-d")
	w.commit = w.repo.CommitFiles("a.txt", "two\n")
	w.hidden = w.foreign.CommitFiles("secret.txt", canary+"\n")
	w.secret = filepath.Join(t.TempDir(), "operator.token")
	if err := os.WriteFile(w.secret, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.watch = ondisktest.NewWatch(t, filepath.Dir(w.secret), w.foreign.Dir)
	return w
}

func (w *hostileWorld) gitDir() string { return filepath.Join(w.repo.Dir, ".git") }

// readAll performs all reads of the server on the repository, in the given mirror, and
// returns the errors.
func (w *hostileWorld) readAll(m *mirror.Mirror, r code.Repository) error {
	ctx := clocktest.NewContext(w.t)
	var errs []error
	_, err := m.Fetch(ctx, r)
	errs = append(errs, err)
	_, err = m.FetchRefs(ctx, r, "refs/heads/main", "refs/heads/x")
	errs = append(errs, err)
	_, err = m.List(ctx, r)
	errs = append(errs, err)
	if m.Exists() {
		_, err = m.Branches(ctx)
		errs = append(errs, err)
		name, err := code.ParseRevisionName("v9")
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = m.Resolve(ctx, name, "refs/heads/main")
		errs = append(errs, err)
		if c, err := m.Commit(ctx, w.hidden); err == nil {
			w.t.Errorf("the commit %s of a repository outside the root is readable", c.ID)
		}
	}
	if ctx.Err() != nil {
		w.t.Errorf("a read took until the tests have to end: %v", errors.Join(errs...))
	}
	return errors.Join(errs...)
}

// check fails the test if anything from outside the root leaked.
func (w *hostileWorld) check(dir string, err error) {
	w.t.Helper()
	w.watch.Check(w.t)
	if err != nil && strings.Contains(err.Error(), canary) {
		w.t.Errorf("the error holds the secret: %v", err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(canary)) {
			w.t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// TestHostileRepository plants links, FIFOs, sockets and sparse files in place of files
// that decide what git opens, after the repository was registered and before another
// mirror registers it. FuzzHostileRepository of package ondisk covers the rest.
func TestHostileRepository(t *testing.T) {
	w := newHostileWorld(t)
	foreign := filepath.Join(w.foreign.Dir, ".git")
	sibling := filepath.Join(w.root, "sibling") // below the same root, but in another repository
	if err := os.Rename(gittest.New(t).Dir, sibling); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(w.gitDir())); err != nil {
		t.Fatal(err)
	}
	const link, fifo, file = ondisktest.Link, ondisktest.FIFO, ondisktest.File
	for _, test := range []struct {
		plant ondisktest.Plant
		// err and words describe the error of the fetch; nil if the fetch succeeds
		// regardless.
		err   error
		words string
	}{
		{ondisktest.Plant{Kind: link, Name: "shallow", Target: w.secret}, mirror.ErrRefused, "shallow is a symbolic link that leads out"},
		{ondisktest.Plant{Kind: file, Name: "shallow", Target: canary + "\n"}, mirror.ErrRefused, "line 1 of"},
		{ondisktest.Plant{Kind: fifo, Name: "shallow"}, mirror.ErrRefused, "shallow is a FIFO"},
		{ondisktest.Plant{Kind: ondisktest.Sparse, Name: "shallow", Size: 1 << 40}, mirror.ErrTooLarge, "shallow of 1099511627776 bytes"},
		{ondisktest.Plant{Kind: link, Name: "objects", Target: filepath.Join(foreign, "objects")}, mirror.ErrRefused, "objects is a symbolic link"},
		{ondisktest.Plant{Kind: fifo, Name: "objects"}, mirror.ErrRefused, "objects is not a directory"},
		{ondisktest.Plant{Kind: link, Name: "objects/pack", Target: filepath.Join(foreign, "objects/pack")}, mirror.ErrRefused, "objects/pack is a symbolic link"},
		{ondisktest.Plant{Kind: link, Name: "objects/pack", Target: filepath.Join(sibling, ".git/objects/pack")}, mirror.ErrRefused, "objects/pack is a symbolic link"},
		{ondisktest.Plant{Kind: link, Name: "objects/aa", Target: filepath.Join(foreign, "objects")}, mirror.ErrRefused, "objects/aa is a symbolic link"},
		{ondisktest.Plant{Kind: fifo, Name: "objects/pack"}, mirror.ErrRefused, "objects/pack is not a directory"},
		{ondisktest.Plant{Kind: link, Name: "refs/heads", Target: filepath.Join(foreign, "refs/heads")}, mirror.ErrRefused, "refs/heads is a symbolic link"},
		{ondisktest.Plant{Kind: link, Name: "refs/heads/x", Target: w.secret}, mirror.ErrRefused, "refs/heads/x is a symbolic link"},
		{ondisktest.Plant{Kind: fifo, Name: "refs/heads/x"}, mirror.ErrRefused, "refs/heads/x is a FIFO"},
		{ondisktest.Plant{Kind: link, Name: "packed-refs", Target: w.secret}, mirror.ErrRefused, "packed-refs is a symbolic link"},
		{ondisktest.Plant{Kind: fifo, Name: "HEAD"}, mirror.ErrRefused, "HEAD is a FIFO"},
		{ondisktest.Plant{Kind: file, Name: "HEAD", Target: "ref: ../../../" + w.secret + "\n"}, nil, ""},
		{ondisktest.Plant{Kind: link, Name: "config", Target: w.secret}, mirror.ErrRefused, "config is a symbolic link"},
		{ondisktest.Plant{Kind: file, Name: "commondir", Target: foreign + "\n"}, mirror.ErrRefused, "not below an allowed directory"},
		{ondisktest.Plant{Kind: file, Name: "objects/info/alternates", Target: filepath.Join(foreign, "objects") + "\n"}, mirror.ErrRefused, "not below an allowed directory"},
		{ondisktest.Plant{Kind: link, Name: "objects/info/alternates", Target: w.secret}, mirror.ErrRefused, "objects/info/alternates is a symbolic link"},
		{ondisktest.Plant{Kind: link, Name: "info/grafts", Target: w.secret}, nil, ""},
		{ondisktest.Plant{Kind: link, Name: "objects/info/commit-graph", Target: w.secret}, nil, ""},
		{ondisktest.Plant{Kind: file, Name: "refs/heads/x", Target: string(w.hidden) + "\n"}, mirror.ErrMissing, ""},
	} {
		restore(t, backup, w.gitDir())
		dir := t.TempDir()
		ms := open(t, mirror.Options{Dir: dir, Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{w.root}}, MaxMirrorBytes: 64 << 20})
		first, second := w.repo.Code("hostile later", "**"), w.repo.Code("hostile from the beginning", "**")
		if _, err := ms.Mirror(first.ID).Fetch(t.Context(), first); err != nil {
			t.Fatalf("%+v: before: %v", test.plant, err)
		}
		if err := test.plant.Put(w.gitDir()); err != nil {
			t.Fatal(err)
		}
		for _, r := range []code.Repository{first, second} {
			err := w.readAll(ms.Mirror(r.ID), r)
			w.check(dir, err)
			if test.err != nil && !errors.Is(err, test.err) || err != nil && !strings.Contains(err.Error(), test.words) {
				t.Errorf("%+v, %s: %v; want %v with %q", test.plant, r.Name, err, test.err, test.words)
			}
		}
		if err := ms.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// restore replaces dir with a copy of backup.
func restore(t *testing.T, backup, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
}

// TestHostileConfiguration registers a repository whose configuration names programs and
// files.
func TestHostileConfiguration(t *testing.T) {
	w := newHostileWorld(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"include.path": w.secret, "core.hooksPath": filepath.Dir(program), "core.fsmonitor": program, "core.alternateRefsCommand": program,
		"uploadpack.packObjectsHook": program, "core.sshCommand": program, "core.gitProxy": program, "gpg.program": program, "core.pager": program,
		"core.attributesFile": w.secret, "core.excludesFile": w.secret, "core.worktree": filepath.Dir(w.secret),
		"extensions.partialClone": "evil", "remote.evil.promisor": "true", "remote.evil.url": "ext::" + program, "filter.evil.smudge": program,
		"diff.external": program, "mailmap.file": w.secret, "blame.ignoreRevsFile": w.secret,
	} {
		w.repo.Git("config", key, value)
	}
	// git itself has read the file by now, when it created the repository.
	w.watch = ondisktest.NewWatch(t, filepath.Dir(w.secret))
	dir := t.TempDir()
	m := open(t, mirror.Options{Dir: dir, Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{w.root}}}).Mirror(1)
	r := w.repo.Code("configured")
	r.ID = 1
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantBlob(t, m, w.commit, "a.txt", "two\n")
	w.check(dir, w.readAll(m, r))
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program that the repository names was run")
	}
}

// TestBlobThatIsNotWhatItsNameSays reads a repository whose owner stored other bytes
// under the name of a blob, to manipulate search results of other repositories.
func TestBlobThatIsNotWhatItsNameSays(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		repo := gittest.New(t, "--object-format="+format)
		commit := repo.CommitFiles("a.txt", "the real text\n", "b.txt", "a forged text\n")
		object := func(path string) string {
			id := repo.Git("rev-parse", "HEAD:"+path)
			return filepath.Join(repo.Dir, ".git", "objects", id[:2], id[2:])
		}
		forged, err := os.ReadFile(object("b.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(object("a.txt")), os.WriteFile(object("a.txt"), forged, 0o644)); err != nil {
			t.Fatal(err)
		}
		r := repo.Code("forged")
		m := open(t, mirror.Options{}).Mirror(r.ID)
		if _, err := m.Fetch(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		var paths []string
		var ids []mirror.ObjectID
		err = m.ListTree(t.Context(), commit, func(path string, e mirror.Entry) error {
			paths, ids = append(paths, path), append(ids, e.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := m.Reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = reader.Blobs(t.Context(), ids, 1<<20, func(i int, content []byte, err error) error {
			got[paths[i]] = string(content)
			if errors.Is(err, mirror.ErrMissing) {
				got[paths[i]] = "missing"
			}
			return err2(err)
		})
		reader.Close()
		if err != nil || got["a.txt"] != "missing" || got["b.txt"] != "a forged text\n" {
			t.Errorf("%s: %v, %v; want a.txt missing", format, got, err)
		}
	}
}
