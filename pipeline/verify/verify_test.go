package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/verify"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// world is a repository with a mirror and an index that a script damages.
type world struct {
	t          *testing.T
	dir        string // directory of the repository
	mirrors    *mirror.Mirrors
	repository code.Repository
	// The following fields are what queries see.
	known      bool
	deflt      string
	refs       []*places.Ref
	files      map[code.Ref][]places.Place
	unheld     []code.DocumentKey
	broken     []*places.BrokenError
	unstored   map[code.DocumentKey]bool
	lost       map[code.RepositoryID]map[code.Ref]bool
	heals      bool // a repair takes effect
	elsewhere  bool // another process handles the events of the repository
	away       bool // another process has the mirror, and does not answer
	mirrorsDir string
	opened     int               // number of views that were not released
	names      map[string]string // names of commits and blobs
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// newWorld returns a repository with two branches that is mirrored and indexed.
func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "kettle"), names: map[string]string{}, known: true, deflt: "main"}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.git("init", "--quiet", "--template=", "--initial-branch=main")
	w.write("README.md", "# Kettle\n")
	w.write("src/boil.go", "package boil\n")
	w.write("src/pour.go", "package pour\n")
	if err := os.Symlink("README.md", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	w.git("add", ".")
	w.git("commit", "--quiet", "-m", "first")
	w.names[w.git("rev-parse", "HEAD")] = "FIRST"
	w.git("branch", "release/1")
	w.write("src/pour.go", "package pour // slowly\n")
	w.git("commit", "--quiet", "-am", "second")
	w.names[w.git("rev-parse", "HEAD")] = "SECOND"

	w.mirrorsDir = filepath.Join(t.TempDir(), "mirrors")
	var err error
	w.mirrors, err = mirror.Open(t.Context(), mirror.Options{Dir: w.mirrorsDir, Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{filepath.Dir(w.dir)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.mirrors.Close() })
	w.repository = code.Repository{ID: 42, Kind: code.GenericGitHost, Name: "example.com/kettle", CloneURL: w.dir, DefaultBranch: "main", Branches: []string{"release/*"}}
	m := w.mirrors.Mirror(42)
	state, err := m.Fetch(t.Context(), w.repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range state.Revisions {
		if err := m.SetIndexed(t.Context(), rev.Ref, rev.Commit, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	w.index()
	return w
}

// index makes the index equal to the mirror.
func (w *world) index() {
	w.t.Helper()
	m := w.mirrors.Mirror(42)
	revisions, err := m.IndexedRevisions(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.refs, w.files = nil, map[code.Ref][]places.Place{}
	w.unheld, w.broken, w.unstored, w.lost, w.known, w.deflt = nil, nil, nil, nil, true, "main"
	for _, rev := range revisions {
		ref := &places.Ref{Ref: rev.Ref, Commit: rev.Commit, Skipped: map[code.SkipReason]int{}}
		err := m.ListTree(w.t.Context(), rev.Commit, func(path string, e mirror.Entry) error {
			p := places.Place{Path: path, SizeBytes: e.Size, Document: code.DocumentKey{Blob: e.ID.Blob()}}
			if e.Mode.IsSymlink() {
				p.Skipped, p.Document = code.SkipSymlink, code.DocumentKey{}
				ref.Skipped[code.SkipSymlink]++
			} else {
				ref.Files++
			}
			w.files[rev.Ref] = append(w.files[rev.Ref], p)
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.refs = append(w.refs, ref)
	}
	slices.SortFunc(w.refs, func(a, b *places.Ref) int { return strings.Compare(string(a.Ref), string(b.Ref)) })
}

// view presents the index of a world to a Verifier.
type view struct{ *world }

func (v view) Generation() uint64 { return 1 }

func (v view) Repository(id code.RepositoryID) *places.Repository {
	if !v.known || id != v.repository.ID {
		return nil
	}
	r := &places.Repository{Repository: v.repository, Refs: v.refs}
	r.DefaultBranch = v.deflt
	return r
}

func (v view) Files(_ context.Context, _ code.RepositoryID, ref code.Ref, _ string, f func(places.Place) bool) error {
	for _, p := range v.files[ref] {
		if !f(p) {
			break
		}
	}
	return nil
}

func (v view) UnheldDocuments(int) ([]code.DocumentKey, error) { return v.unheld, nil }
func (v view) Broken(int) ([]*places.BrokenError, error)       { return v.broken, nil }
func (v view) Release()                                        { v.opened-- }

// place returns the place of a path in a branch of the index.
func (w *world) place(ref code.Ref, path string) *places.Place {
	w.t.Helper()
	for i := range w.files[ref] {
		if w.files[ref][i].Path == path {
			return &w.files[ref][i]
		}
	}
	w.t.Fatalf("%s has no %s", ref, path)
	return nil
}

// damage changes the index or the mirror according to a line of a script.
func (w *world) damage(line string) {
	w.t.Helper()
	word := strings.Fields(line)
	ref := code.Ref("refs/heads/main")
	switch word[0] {
	case "remove":
		w.files[ref] = slices.DeleteFunc(w.files[ref], func(p places.Place) bool { return p.Path == word[1] })
	case "add":
		w.files[ref] = append(w.files[ref], places.Place{Path: word[1], SizeBytes: 1})
		slices.SortFunc(w.files[ref], func(a, b places.Place) int { return strings.Compare(a.Path, b.Path) })
	case "content":
		w.place(ref, word[1]).Document.Blob = w.place(ref, word[2]).Document.Blob
	case "size":
		w.place(ref, word[1]).SizeBytes++
	case "skip":
		w.place(ref, word[1]).Skipped = code.SkipReason(word[2])
	case "unskip":
		w.place(ref, word[1]).Skipped = ""
	case "unheld":
		w.unheld = append(w.unheld, w.place(ref, word[1]).Document)
	case "unstored":
		w.unstored = map[code.DocumentKey]bool{w.place(ref, word[1]).Document: true}
	case "lost":
		w.lost = map[code.RepositoryID]map[code.Ref]bool{w.repository.ID: {code.Ref(word[1]): true}}
	case "broken":
		w.broken = append(w.broken, &places.BrokenError{Repository: w.repository.ID, Ref: code.Ref(word[1]), Have: w.refs[0].Commit, Commit: w.refs[1].Commit})
	case "drop":
		w.refs = slices.DeleteFunc(w.refs, func(r *places.Ref) bool { return r.Ref == code.Ref(word[1]) })
	case "extra":
		w.refs = append(w.refs, &places.Ref{Ref: code.Ref(word[1]), Commit: w.refs[0].Commit, Files: w.refs[0].Files, Skipped: w.refs[0].Skipped})
		w.files[code.Ref(word[1])] = w.files[w.refs[0].Ref]
	case "stale":
		other := *w.refs[0]
		other.Commit, other.Files, other.Skipped = w.refs[1].Commit, w.refs[1].Files, w.refs[1].Skipped
		w.files[other.Ref] = w.files[w.refs[1].Ref]
		w.refs[0] = &other
	case "default":
		w.deflt = word[1]
	case "forget":
		w.known = false
	case "push":
		w.write("src/boil.go", "package boil // "+word[1]+"\n")
		w.git("commit", "--quiet", "-am", word[1])
		w.names[w.git("rev-parse", "HEAD")] = strings.ToUpper(word[1])
	case "delete-branch":
		w.git("branch", "--quiet", "-D", word[1])
	case "elsewhere":
		w.elsewhere = true
	case "away":
		w.away = true
	case "no-mirror":
		w.repository.ID = 43
	case "lose-mirror":
		w.moveMirrors(w.mirrorsDir, w.mirrorsDir+".lost")
	case "damage-mirror":
		w.damageMirror()
	default:
		w.t.Fatalf("unknown line %q", line)
	}
}

// moveMirrors moves the directory of the mirrors.
func (w *world) moveMirrors(from, to string) {
	w.t.Helper()
	if err := os.Rename(from, to); err != nil {
		w.t.Fatal(err)
	}
}

// damageMirror removes the objects of the mirror.
func (w *world) damageMirror() {
	w.t.Helper()
	removed := 0
	err := filepath.WalkDir(w.mirrorsDir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.Contains(path, "objects"+string(filepath.Separator)) {
			removed++
			return os.Remove(path)
		}
		return err
	})
	if err != nil || removed == 0 {
		w.t.Fatalf("%d files of objects removed: %v", removed, err)
	}
}

// verifyIndex runs a verification and returns its output.
func (w *world) verifyIndex(r verification.Request) string {
	w.t.Helper()
	var b strings.Builder
	v := verify.New(verify.Options{
		Repositories: func() []code.Repository { return []code.Repository{w.repository} },
		Acquire:      func() verify.View { w.opened++; return view{w} },
		Fence:        func(context.Context) error { return nil },
		Mirror: func(_ context.Context, id code.RepositoryID) (verify.Mirror, error) {
			if w.away {
				return nil, fmt.Errorf("%w: connection refused", verify.ErrElsewhere)
			}
			return w.mirrors.Mirror(id), nil
		},
		Holds: func(context.Context, code.RepositoryID) bool { return !w.elsewhere },
		RequestMirror: func(context.Context, code.RepositoryID) bool {
			fmt.Fprintln(&b, "  the mirror is requested")
			return true
		},
		Unstored: func(context.Context) (map[code.DocumentKey]bool, map[code.RepositoryID]map[code.Ref]bool, error) {
			return w.unstored, w.lost, nil
		},
		Repair: func(_ context.Context, pushes []*event.Push) error {
			for _, p := range pushes {
				fmt.Fprintf(&b, "  push %q %s before=%s after=%s\n", p.Ref, p.Action, w.nameOf(string(p.Before)), w.nameOf(string(p.After)))
			}
			if _, err := os.Stat(w.mirrorsDir + ".lost"); w.heals && err == nil {
				w.moveMirrors(w.mirrorsDir+".lost", w.mirrorsDir)
			}
			if w.heals {
				w.index()
			}
			return nil
		},
		Now: func() time.Time { return time.Unix(1, 0) }, // no progress report after the first
	})
	err := v.Verify(w.t.Context(), r, func(f *verification.Finding) error {
		switch f.Type {
		case verification.Progress:
		case verification.Summary:
			fmt.Fprintf(&b, "summary: %+v\n", *f.Counts)
		case verification.Repair:
			fmt.Fprintf(&b, "repair: %d\n", f.Count)
		default:
			line := fmt.Sprintf("%s %s %s %s ×%d have=%s want=%s", f.Type, f.Kind, f.Ref, f.Path, f.Count, w.nameOf(f.Indexed), w.nameOf(f.Found))
			if f.AfterRepair {
				line += " after repair"
			}
			if f.Kind == "" {
				line += " " + f.Message
			}
			fmt.Fprintln(&b, line)
		}
		return nil
	})
	if err != nil {
		fmt.Fprintln(&b, "error:", err)
	}
	if w.opened != 0 {
		fmt.Fprintf(&b, "%d views are not released\n", w.opened)
	}
	return strings.ReplaceAll(b.String(), w.dir, "DIR")
}

// nameOf returns the name of a commit, or an abbreviated hash.
func (w *world) nameOf(text string) string {
	if name := w.names[text]; name != "" {
		return name
	}
	if len(text) == 40 {
		return text[:8]
	}
	return text
}

// TestVerify damages an index or a repository in one way at a time, as scripts describe,
// and checks what a verification reports.
func TestVerify(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := newWorld(t)
			for line := range strings.Lines(d.Input) {
				w.damage(strings.TrimSpace(line))
			}
			w.heals = d.HasArg("heals")
			return w.verifyIndex(verification.Request{Remote: d.HasArg("remote"), Repair: d.HasArg("repair") || w.heals})
		})
	})
}

// TestOneAtATime checks that a second verification is refused while one runs, and
// accepted afterwards.
func TestOneAtATime(t *testing.T) {
	w := newWorld(t)
	var v *verify.Verifier
	var during error
	v = verify.New(verify.Options{
		Repositories: func() []code.Repository { return []code.Repository{w.repository} },
		Acquire:      func() verify.View { w.opened++; return view{w} },
		Fence: func(ctx context.Context) error {
			during = v.Verify(ctx, verification.Request{}, func(*verification.Finding) error { return nil })
			return nil
		},
		Mirror: func(_ context.Context, id code.RepositoryID) (verify.Mirror, error) { return w.mirrors.Mirror(id), nil },
		Unstored: func(context.Context) (map[code.DocumentKey]bool, map[code.RepositoryID]map[code.Ref]bool, error) {
			return nil, nil, nil
		},
		Now: time.Now,
	})
	for range 2 {
		if err := v.Verify(t.Context(), verification.Request{}, func(*verification.Finding) error { return nil }); err != nil {
			t.Fatalf("a verification after another: %v", err)
		}
		if !errors.Is(during, verification.ErrBusy) {
			t.Errorf("a verification during another: %v, want %v", during, verification.ErrBusy)
		}
	}
}
