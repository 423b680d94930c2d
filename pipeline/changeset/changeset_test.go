package changeset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/changeset"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBetween runs scripts on real repositories:
//
//	commit           one line for each step: write PATH TEXT, remove PATH, rename
//	                 OLD NEW, chmod PATH, link PATH TARGET, submodule PATH;
//	                 commits are numbered from 1
//	between 1 2      the changes; 0 is the empty repository
func TestBetween(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
				w := newWorld(t, format)
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					switch d.Cmd {
					case "commit":
						for line := range strings.Lines(d.Input) {
							w.runStep(t, strings.SplitN(strings.TrimSpace(line), " ", 3))
						}
						return w.commit()
					case "between":
						return w.printChanges(t, d.CmdArgs[0].Key, d.CmdArgs[1].Key)
					}
					t.Fatalf("unknown command %s", d.Cmd)
					return ""
				})
			})
		})
	}
}

type world struct {
	repo    *gittest.Repository
	commits []code.CommitID
	names   map[string]string
}

func newWorld(t *testing.T, format string) *world {
	repo := gittest.New(t, "--object-format="+format)
	return &world{repo: repo, commits: []code.CommitID{""}, names: map[string]string{}}
}

func (w *world) runStep(t *testing.T, words []string) {
	path := func(i int) string { return filepath.Join(w.repo.Dir, words[i]) }
	var err error
	switch words[0] {
	case "write":
		w.repo.Write(words[1], words[2])
	case "remove":
		w.repo.Remove(words[1])
	case "rename":
		if err = os.MkdirAll(filepath.Dir(path(2)), 0o755); err == nil {
			err = os.Rename(path(1), path(2))
		}
	case "chmod":
		err = os.Chmod(path(1), 0o755)
	case "link":
		err = os.Symlink(words[2], path(1))
	case "submodule":
		if err = os.Mkdir(path(1), 0o755); err == nil {
			w.repo.Git("update-index", "--add", "--cacheinfo", "160000", strings.Repeat("5", len(w.repo.Git("hash-object", "-t", "tree", "/dev/null"))), words[1])
			// Commit from the index: git add would look for the submodule's repository.
			w.repo.Git("commit", "--quiet", "--message", "submodule")
		}
	default:
		t.Fatalf("unknown step %v", words)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) commit() string {
	w.commits = append(w.commits, w.repo.Commit())
	return fmt.Sprintln("commit", len(w.commits)-1)
}

// kindOf names what happened to a path.
func kindOf(c *changeset.Change) string {
	switch {
	case c.Old.ID.IsZero():
		return "added"
	case c.New.ID.IsZero():
		return "deleted"
	case c.Old.Mode.Type() != c.New.Mode.Type():
		return "retyped" // a file became a link, a link a submodule, …
	case c.Old.ID == c.New.ID:
		return "mode" // it became executable, or ceased to be
	}
	return "modified"
}

func (w *world) printChanges(t *testing.T, before, after string) string {
	changes, err := readChanges(t, w.fetch(t), w.number(t, before), w.number(t, after))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(changes, func(a, b changeset.Change) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("the changes are out of order")
	}
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%-8s %s %s -> %s\n", kindOf(&c), c.Path, w.name(c.Old, false), w.name(c.New, true))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// fetch returns an up-to-date mirror, which is closed when t ends.
func (w *world) fetch(t *testing.T) *mirror.Mirror {
	ms, err := mirror.Open(t.Context(), mirror.Options{Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: mirror.Policy{Roots: []string{os.TempDir()}, Schemes: []string{"file"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ms.Close() })
	r := w.repo.Code("r")
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return ms.Mirror(r.ID)
}

func (w *world) number(t *testing.T, s string) code.CommitID {
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil || n >= len(w.commits) {
		t.Fatalf("no commit %s", s)
	}
	return w.commits[n]
}

// name formats an entry. Blobs are lettered in order of appearance, so that both hash
// functions print alike.
func (w *world) name(e mirror.Entry, sized bool) string {
	if e.ID.IsZero() {
		return "-"
	}
	id := e.ID.String()
	if w.names[id] == "" {
		w.names[id] = string(rune('A' + len(w.names)))
	}
	s := fmt.Sprintf("%s(%06o", w.names[id], e.Mode)
	if sized {
		s += fmt.Sprintf(" %d", e.Size)
	}
	return s + ")"
}

func TestBetweenMissingCommit(t *testing.T) {
	w := newWorld(t, "sha1")
	w.repo.Write("a", "1")
	w.commit()
	m := w.fetch(t)
	absent := code.CommitID(strings.Repeat("12", 20))
	for _, pair := range [][2]code.CommitID{{absent, w.commits[1]}, {w.commits[1], absent}, {"", absent}} {
		if _, err := readChanges(t, m, pair[0], pair[1]); !errors.Is(err, mirror.ErrMissing) {
			t.Errorf("between %q and %q: %v, want ErrMissing", pair[0], pair[1], err)
		}
	}
}

// TestTooManyChanges compares with bounds of as many changes as there are, and of one less.
func TestTooManyChanges(t *testing.T) {
	w := newWorld(t, "sha1")
	w.repo.Write("a", "1")
	w.commit()
	for _, path := range []string{"b", "c", "d"} {
		w.repo.Write(path, "1")
	}
	w.commit()
	m := w.fetch(t)
	for before, changes := range []int{4, 3} { // of the empty repository, and of the first commit
		for most, want := range map[int]error{changes: nil, changes - 1: mirror.ErrTooLarge} {
			trees, err := m.Trees(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if found, err := changeset.Compare(t.Context(), trees, w.commits[before], w.commits[2], most); !errors.Is(err, want) || want == nil && len(found) != changes {
				t.Errorf("since commit %d, at most %d changes: found %d, %v; want %d, %v", before, most, len(found), err, changes, want)
			}
			trees.Close()
		}
	}
}

// TestPathsAreText uses names that are not UTF-8, as in old repositories.
func TestPathsAreText(t *testing.T) {
	w := newWorld(t, "sha1")
	w.repo.Write("b", "0")
	w.commit()
	for path, text := range map[string]string{"caf\xe9": "1", "caf\xe8": "2", "\xff/x": "3", "é": "4", "\\xe9": "5", "\xe9": "6"} {
		w.repo.Write(path, text)
	}
	w.commit()
	for before, want := range map[string]string{"0": "[\\xe9 \\xff/x b caf\\xe8 caf\\xe9 é]", "1": "[\\xe9 \\xff/x caf\\xe8 caf\\xe9 é]"} {
		changes, err := readChanges(t, w.fetch(t), w.number(t, before), w.commits[2])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			got = append(got, c.Path)
			if c.New.Size != 1 {
				t.Errorf("%s has %d bytes", c.Path, c.New.Size)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("paths %v, want %s", got, want)
		}
	}
}

func readChanges(t *testing.T, m *mirror.Mirror, before, after code.CommitID) ([]changeset.Change, error) {
	t.Helper()
	trees, err := m.Trees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	return changeset.Compare(t.Context(), trees, before, after, changeset.MaxChanges)
}
