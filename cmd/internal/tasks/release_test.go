package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/image"
)

// TestReleaseIsReproducible packs twice, at different times, and compares the bytes.
func TestReleaseIsReproducible(t *testing.T) {
	t.Chdir("../../..")
	dir := t.TempDir()
	binary := filepath.Join(dir, "quarry")
	if err := os.WriteFile(binary, []byte("a binary"), 0o700); err != nil {
		t.Fatal(err)
	}
	var archives [2][]byte
	for i := range archives {
		if err := os.Chtimes(binary, time.Unix(int64(i), 0), time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "quarry.tar.gz")
		if err := packRelease(out, "quarry-1.2.3", binary, time.Unix(1_700_000_000, 0).UTC()); err != nil {
			t.Fatal(err)
		}
		var err error
		if archives[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of the same files differ")
	}
}

// TestBOMNamesLinkedModules reads the bill of materials of this test's own binary.
func TestBOMNamesLinkedModules(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "bom.json")
	if err := image.WriteBOM(self, "v1.2.3", out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct{ Components []image.Component }
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range bom.Components {
		found = found || c.Name == "github.com/alecthomas/kong" && c.PURL == "pkg:golang/"+c.Name+"@"+c.Version
	}
	if !found {
		t.Errorf("the bill does not name kong, which this program links: %s", text)
	}
}

// TestReleaseRefusesVersions checks that a version must have three numbers, as Go and
// semver require.
func TestReleaseRefusesVersions(t *testing.T) {
	for version, want := range map[string]bool{"v1.2.3": true, "v0.10.0": true, "1.2.3": false, "v1.2": false, "v01.2.3": false, "v1.2.3-rc1": false} {
		if got := releaseVersion.MatchString(version); got != want {
			t.Errorf("%s: taken %v, want %v", version, got, want)
		}
	}
}

// TestReleaseWantsACleanTree checks a tree before its release. It expects the time of the
// commit, or the step that must be done first.
func TestReleaseWantsACleanTree(t *testing.T) {
	t.Chdir(t.TempDir())
	began := time.Now().Truncate(time.Second) // git stores seconds
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(version, want string) {
		t.Helper()
		when, err := (&releaseTask{Version: version}).checkTree(t.Context())
		switch {
		case want == "" && (err != nil || when.Before(began) || when.After(time.Now())):
			t.Errorf("release %s: %v, %v; want the time of the commit", version, when, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("release %s: error %v, want one with %q", version, err, want)
		}
	}
	check("1.2.3", "write v1.2.3")
	check("v1.2.3", "CHANGELOG.md")
	write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n")
	check("v1.2.3", "no section 1.2.3")
	write("CHANGELOG.md", "# Changelog\n\n## 1.2.3 / 2026-03-04\n")
	if err := commitTree(t.Context(), ".", ".", "first"); err != nil {
		t.Fatal(err)
	}
	check("v1.2.3", "")
	check("v1.2.4", "no section 1.2.4")
	write("new.go", "package x\n")
	check("v1.2.3", "new.go")
}

// TestTreeVersion checks that an image and packages have the version that Go gives to a build.
func TestTreeVersion(t *testing.T) {
	tree := treeState{revision: "035cb01b0c8d6e0f", committed: time.Date(2026, 11, 22, 13, 35, 17, 0, time.UTC)}
	for _, tc := range []struct{ newest, tagged, want string }{
		{"", "", "v0.0.0-20261122133517-035cb01b0c8d"},
		{"v1.2.3", "v1.2.3", "v1.2.3"},
		{"v1.2.3", "", "v1.2.4-0.20261122133517-035cb01b0c8d"},
		{"v1.2", "", "v0.0.0-20261122133517-035cb01b0c8d"},
	} {
		if got := treeVersion(tc.newest, tc.tagged, tree); got != tc.want {
			t.Errorf("newest tag %q, tag %q: %s, want %s", tc.newest, tc.tagged, got, tc.want)
		}
	}
}
