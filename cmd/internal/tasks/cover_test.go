package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCoverageByPackage(t *testing.T) {
	const profile = `mode: set
m/a/x.go:1.1,2.2 3 0
m/a/x.go:3.1,4.2 1 1
m/b/y.go:1.1,2.2 2 0
m/b/y.go:1.1,2.2 2 5
m/b/y.go:5.1,6.2 2 1
`
	packages, err := readCoverage(strings.NewReader(profile))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err = (&coverTask{Least: 70}).printCoverage(&b, packages, nil)
	const want = " 25.0 %       4  m/a\n100.0 %       4  m/b\n 62.5 %       8  all\n"
	if b.String() != want {
		t.Errorf("printed\n%swant\n%s", b.String(), want)
	}
	if err == nil || !strings.Contains(err.Error(), "m/a") || strings.Contains(err.Error(), "m/b") {
		t.Errorf("error %v, want one that names m/a alone", err)
	}
	if err := (&coverTask{Least: 25, All: 62.5}).printCoverage(&b, packages, nil); err != nil {
		t.Errorf("packages with 25 %% and 62.5 %% over all fail floors of just that: %v", err)
	}
	if err := (&coverTask{Least: 25, All: 63}).printCoverage(&b, packages, nil); err == nil || !strings.Contains(err.Error(), "62.5 % of all") {
		t.Errorf("62.5 %% over all, want at least 63 %%: error %v", err)
	}
	for _, broken := range []string{"m/a/x.go 3 0\n", "m/a/x.go:1.1,2.2 x 0\n", "m/a/x.go:1.1,2.2 3\n"} {
		if _, err := readCoverage(strings.NewReader(broken)); err == nil {
			t.Errorf("%q is read without an error", broken)
		}
	}
}

// TestCoverReadsAProfile runs the task on files.
func TestCoverReadsAProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cover.out")
	if err := (&coverTask{Profile: path}).Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a profile that does not exist: error %v", err)
	}
	for text, want := range map[string]string{
		"mode: set\nm/a/x.go:1.1,2.2 9 1\nm/a/x.go:3.1,4.2 1 0\n": "",
		"mode: set\nm/a/x.go:1.1,2.2 1 1\nm/a/x.go:3.1,4.2 9 0\n": "m/a",
		"mode: set\nm/a/x.go 9 1\n":                               "line 2",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := (&coverTask{Profile: path, Least: 70, All: 85}).Run(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("cover --least 70 --all 85 of %q: error %v, want %q in it", text, err, want)
		}
	}
}

// TestFloorsOfPackages gives one package another minimum than the others.
func TestFloorsOfPackages(t *testing.T) {
	dir := t.TempDir()
	profile, path := filepath.Join(dir, "cover.out"), filepath.Join(dir, "floors")
	if err := os.WriteFile(profile, []byte("mode: set\nm/a/x.go:1.1,2.2 1 1\nm/a/x.go:3.1,4.2 1 0\nm/b/y.go:1.1,2.2 1 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for floors, want := range map[string]string{
		"# below\n\nm/a 50\n": "",
		"m/a 51\n":            "50.0 % of the statements of m/a are covered, want 51 %",
		"m/b 50\n":            "m/a are covered, want 70 %",
		"m/a 50\nm/c 10\n":    "m/c has its own floor, and is not in the profile",
		"m/a\n":               "floors:1: want PACKAGE PERCENT",
		"m/a half\n":          "floors:1: strconv",
	} {
		if err := os.WriteFile(path, []byte(floors), 0o644); err != nil {
			t.Fatal(err)
		}
		err := (&coverTask{Profile: profile, Least: 70, Floors: path}).Run(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("cover --least 70 with the floors %q: error %v, want %q in it", floors, err, want)
		}
	}
	if err := (&coverTask{Profile: profile, Floors: path + "s"}).Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("floors that do not exist: error %v", err)
	}
}

// TestCoverCommand runs the task with the flags of the Makefile.
func TestCoverCommand(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, flags, _ := strings.Cut(string(makefile), "./cmd/internal/tasks cover ")
	flags, _, _ = strings.Cut(flags, " .cache/cover.out")
	profile := filepath.Join(t.TempDir(), "cover.out")
	for text, want := range map[string]string{"m/a/x.go:1.1,2.2 3 0": "m/a", "m/a/x.go:1.1,2.2 3 1": "m/a"} {
		if err := os.WriteFile(profile, []byte("mode: set\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"cover"}, strings.Fields(strings.ReplaceAll(flags, ".ci/", "../../../.ci/"))...)
		err := execute(t.Context(), append(args, profile))
		covered := strings.HasSuffix(text, "1")
		if err == nil || strings.Contains(err.Error(), want) == covered || !strings.Contains(err.Error(), "is not in the profile") {
			t.Errorf("%s: error %v; want one that names %s: %t", text, err, want, !covered)
		}
	}
	if err := execute(t.Context(), []string{"cover", "--flor", "70", profile}); err == nil {
		t.Error("a flag that is not known is taken")
	}
}
