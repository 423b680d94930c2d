package indexer

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// newFetchedBench returns a bench whose repository is fetched over HTTP.
func newFetchedBench(t testing.TB, branches ...string) *bench {
	t.Helper()
	b := newBench(t, branches...)
	s := httptest.NewServer(gittest.HTTPHandler(t, filepath.Dir(b.repo.Dir)))
	t.Cleanup(s.Close)
	b.code.CloneURL = s.URL + "/" + filepath.Base(b.repo.Dir)
	b.policy = mirror.Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	b.reopenMirrors()
	return b
}

// damages are ways in which a disk or a person may damage a file.
var damages = map[string]func(path string) error{
	"first bit":  func(path string) error { return turnBit(path, 0, 1) },
	"low bit":    func(path string) error { return turnBit(path, 1, 3) },
	"middle bit": func(path string) error { return turnBit(path, 1, 2) },
	"high bit":   func(path string) error { return turnBit(path, 4, 5) },
	"last bit":   func(path string) error { return turnBit(path, 1, 1) },
	"emptied":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
	"cut": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	},
	"removed": os.Remove,
	"a directory": func(path string) error {
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(path, "something"), 0o700)
	},
}

// turnBit flips a bit of the byte at the given fraction of a file.
func turnBit(path string, part, of int) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text[min(len(text)*part/of, len(text)-1)] ^= 1 << (len(text) % 7)
	// Replace the file: a copied object may be open, and git maps packs into memory.
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// mirrorFiles returns a mirror's files by kind, at most three of each.
func (b *bench) mirrorFiles() map[string][]string {
	b.t.Helper()
	files := map[string][]string{"settings of git": {filepath.Join(b.mirrorsDir(), "git.config")}}
	err := filepath.WalkDir(b.mirrorDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() == 0 {
			return err
		}
		kind, _ := filepath.Rel(b.mirrorDir(), path)
		if strings.HasPrefix(kind, filepath.Join("git", "objects")) {
			kind = "loose object"
			if ext := filepath.Ext(path); ext != "" {
				kind = "pack" + ext
			}
		}
		if len(files[kind]) < 3 {
			files[kind] = append(files[kind], path)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return files
}

var everyDamage = flag.Bool("every-damage", false, "damage each file of a mirror in each way, seven minutes, instead of every fifth")

// TestDamagedMirrorsComeBack damages one file of a mirror, with the process stopped or
// running, and then pushes: the push is indexed as usual.
func TestDamagedMirrorsComeBack(t *testing.T) {
	history := newDamageHistory(t)
	for remote, newBench := range map[string]func(testing.TB, ...string) *bench{"path": newBench, "http": newFetchedBench} {
		// The first bench shows which files exist.
		first := newBench(t, "dev*")
		first.fillMirror(history)
		files := first.mirrorFiles()
		for _, kind := range []string{"loose object", "pack.pack", "pack.idx", "git/HEAD", "git/config", "git/packed-refs", "quarry.json", "git/refs/heads/main"} {
			if len(files[kind]) == 0 {
				t.Errorf("%s: no %s among %v", remote, kind, slices.Sorted(maps.Keys(files)))
			}
		}
		for k, kind := range slices.Sorted(maps.Keys(files)) {
			for d, damage := range slices.Sorted(maps.Keys(damages)) {
				for n := range files[kind] {
					if (k+d+n)%5 != 0 && !*everyDamage {
						continue
					}
					// Alternate between stopped and running processes: all combinations
					// take too long.
					running := (d+n)%2 == 0
					t.Run(fmt.Sprintf("%s/%s/%d/%s/running=%t", remote, strings.ReplaceAll(kind, "/", "_"), n, damage, running), func(t *testing.T) {
						t.Parallel()
						b := newBench(t, "dev*")
						b.fillMirror(history)
						b.tryDamage(history, b.mirrorFiles()[kind][n], damage, running)
					})
				}
			}
		}
	}
}

// damageHistory is a repository at the times at which it is pushed.
type damageHistory struct {
	imported, changed      *gittest.Snapshot // for fillMirror
	moved, branched, again *gittest.Snapshot // for tryDamage
}

// newDamageHistory creates the repository of all benches, once for all of them.
func newDamageHistory(t *testing.T) (h damageHistory) {
	repo := gittest.New(t)
	var many []string
	for i := range 120 { // more objects than git unpacks
		many = append(many, fmt.Sprintf("d%d/%d", i%3, i), fmt.Sprintf("%d\n", i))
	}
	repo.CommitFiles(many...)
	repo.Git("branch", "dev1")
	repo.Git("repack", "-adq")
	h.imported = repo.Snapshot()
	repo.CommitFiles("d0/0", "changed\n", "loose", "loose\n")
	h.changed = repo.Snapshot()
	// Files of earlier pushes move, so that their blobs are read again.
	repo.Git("mv", "d0", "e0")
	repo.Git("mv", "loose", "moved.go")
	repo.CommitFiles("e0/3", "changed, too\n")
	h.moved = repo.Snapshot()
	repo.Git("checkout", "--quiet", "dev1")
	repo.CommitFiles("new", "new\n")
	repo.Git("checkout", "--quiet", "main")
	h.branched = repo.Snapshot()
	repo.CommitFiles("d1/1", "4\n")
	h.again = repo.Snapshot()
	return h
}

// fillMirror makes a mirror with packs, loose objects, packed and loose refs.
func (b *bench) fillMirror(h damageHistory) {
	b.t.Helper()
	b.repo.Restore(h.imported)
	b.registerRepository()
	b.push("dev1")
	git := exec.Command("git", "--git-dir", filepath.Join(b.mirrorDir(), "git"), "pack-refs", "--all")
	if out, err := git.CombinedOutput(); err != nil {
		b.t.Fatalf("pack-refs: %v: %s", err, out)
	}
	// Quarry packs no refs. If a ref exists in both forms, the packed one is older.
	packed := filepath.Join(b.mirrorDir(), "git", "packed-refs")
	text, err := os.ReadFile(packed)
	if err != nil {
		b.t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool { return strings.Contains(line, "refs/heads/main/-") })
	if err := os.WriteFile(packed, []byte(strings.Join(lines, "")), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.repo.Restore(h.changed)
	b.push("main")
	b.check("main", "dev1")
}

// tryDamage damages a file and pushes three times.
func (b *bench) tryDamage(h damageHistory, path, damage string, running bool) {
	b.t.Helper()
	if err := damages[damage](path); err != nil {
		b.t.Fatal(err)
	}
	if !running {
		b.reopenMirrors()
	}
	b.repo.Restore(h.moved)
	b.push("main")
	b.checkAll()
	b.repo.Restore(h.branched)
	b.push("dev1")
	b.checkAll()
	b.repo.Restore(h.again)
	b.push("main")
	b.checkAll()
}

// checkAll checks the index, and that no file was skipped because the mirror lacked it.
func (b *bench) checkAll() {
	b.t.Helper()
	b.check("main", "dev1")
	for ref, manifest := range b.refs {
		for path, c := range manifest {
			if c.Skipped != "" {
				b.t.Errorf("%s: %s is skipped: %s", ref, path, c.Skipped)
			}
		}
	}
}
