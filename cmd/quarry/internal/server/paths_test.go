package server

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// writeTree writes a tree object from entries of the form "MODE NAME" and from object
// names, in git's order. git's own commands would refuse such entries.
func (g *gitRepository) writeTree(entries ...string) string {
	g.t.Helper()
	var b strings.Builder
	for i := 0; i < len(entries); i += 2 {
		id, err := hex.DecodeString(entries[i+1])
		if err != nil {
			g.t.Fatal(err)
		}
		b.WriteString(entries[i] + "\x00" + string(id))
	}
	file := filepath.Join(g.t.TempDir(), "tree")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return g.runGitCommand("hash-object", "-t", "tree", "-w", "--literally", file)
}

// commitTree commits a tree to main.
func (g *gitRepository) commitTree(tree string) code.CommitID {
	g.t.Helper()
	args := []string{"commit-tree", "-m", "crafted", tree}
	if parent := g.runGitCommand("for-each-ref", "--format=%(objectname)", "refs/heads/main"); parent != "" {
		args = append(args, "-p", parent)
	}
	commit := g.runGitCommand(args...)
	g.runGitCommand("update-ref", "refs/heads/main", commit)
	return code.CommitID(commit)
}

// TestNoFileVanishes indexes a tree with every kind of path that cannot be indexed
// unchanged: each is either listed as skipped with a remedy, or found under the spelling
// of its name. A second commit changes and removes files of the first.
func TestNoFileVanishes(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "odd")
	g.commitFiles("plain.txt", "needle\n")
	blob := g.runGitCommand("rev-parse", "HEAD:plain.txt")
	directory := strings.Repeat("d", 200)
	deep := func(leaf string) string {
		tree := g.writeTree("100644 "+leaf, blob)
		for range 21 {
			tree = g.writeTree("40000 "+directory, tree)
		}
		return tree
	}
	long := strings.Repeat(directory+"/", 21) + "leaf"
	dots := g.writeTree("100644 passwd", blob)
	first := g.commitTree(g.writeTree(
		"40000 ..", dots, "100644 /abs", blob, "100644 caf\xe9", blob, "40000 deep", deep("leaf"),
		"120000 link", blob, "100644 plain.txt", blob, "160000 sub", strings.Repeat("5", 40)))

	s := runServer(t, testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0"))
	s.registerAt(t, g, first)
	name, valid := code.NamePath("deep/" + long)
	if valid || len(name) > code.MaxPathBytes {
		t.Fatalf("the name of the long path has %d bytes", len(name))
	}
	want := map[string]code.SkipReason{
		`\x2e\x2e/passwd`: code.SkipInvalidPath, `\x2f/abs`: code.SkipInvalidPath, name: code.SkipInvalidPath,
		"link": code.SkipSymlink, "sub": code.SkipSubmodule,
	}
	skipped := func() map[string]code.SkipReason {
		files, _, err := s.newStatusReader().Skipped(t.Context(), g.ID, "refs/heads/main", "", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]code.SkipReason{}
		for _, f := range files {
			if got[f.Path] = f.Reason; f.Reason.Advice() == "Not indexed." {
				t.Errorf("no remedy for %s", f.Reason)
			}
		}
		return got
	}
	if got := skipped(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
	v := s.versions.Live().Places.Acquire()
	for _, path := range []string{"plain.txt", `caf\xe9`} {
		if place, err := v.Lookup(g.ID, "refs/heads/main", path); err != nil || place.Skipped != "" {
			t.Errorf("%s: %+v, %v", path, place, err)
		}
	}
	v.Release()
	if got := verifyNow(t, s, verification.Request{}); len(got.lines) != 0 {
		t.Errorf("differences: %q", got.lines)
	}

	second := g.commitTree(g.writeTree("40000 deep", deep("leaf2"), "100644 plain.txt", blob))
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == second })
	name, _ = code.NamePath("deep/" + long + "2")
	if got := skipped(); len(got) != 1 || got[name] != code.SkipInvalidPath {
		t.Errorf("skipped after the second commit: %v", got)
	}
	if got := verifyNow(t, s, verification.Request{}); len(got.lines) != 0 {
		t.Errorf("differences after the second commit: %q", got.lines)
	}
}
