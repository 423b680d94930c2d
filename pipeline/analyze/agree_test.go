package analyze

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	enry "github.com/go-enry/go-enry/v2"

	"github.com/quarrysearch/quarry/schemas/code"
)

var treeFlag = flag.String("analyze.tree", "", "a source tree: compare all of it with go-enry, and time the analysis")

// file is a file of the sample, with a path as in a repository.
type file struct {
	path string
	text []byte
}

// readTree reads at most limit files below dir, evenly spread.
func readTree(t testing.TB, dir string, limit int) []file {
	var paths []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			paths = append(paths, path)
		}
		return nil
	})
	step := max(1, len(paths)/limit)
	var files []file
	for i := 0; i < len(paths); i += step {
		text, err := os.ReadFile(paths[i])
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(dir, paths[i])
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{filepath.ToSlash(rel), text})
	}
	return files
}

// TestAgreesWithEnry compares detected languages with go-enry's on the source code
// available on this machine. docs/languages.md lists the few files that may differ.
func TestAgreesWithEnry(t *testing.T) {
	dirs, limit := []string{goSource(t), "/usr/include", "/usr/lib/python3", "/usr/share/doc", "/usr/lib/node_modules", "/usr/share/perl5"}, 250
	if *treeFlag != "" {
		dirs, limit = []string{*treeFlag}, 5000
	}
	a := New(Options{})
	compared, differ := 0, 0
	for _, dir := range dirs {
		for _, f := range readTree(t, dir, limit) {
			compared++
			got, flags := a.Place(f.path, f.text)
			want := code.Language(enry.GetLanguage(f.path, f.text))
			if got != want {
				differ++
				t.Logf("%s/%s: %q, go-enry on the whole content: %q", dir, f.path, got, want)
			}
			if vendored := enry.IsVendor(f.path); vendored != (flags&code.FlagVendored != 0) {
				t.Errorf("%s/%s: vendored %v, go-enry %v", dir, f.path, !vendored, vendored)
			}
			if enry.IsTest(f.path) && flags&code.FlagTest == 0 {
				t.Errorf("%s/%s: no test, but for go-enry", dir, f.path)
			}
		}
	}
	if compared == 0 {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal("no source files on this machine")
		}
		t.Skip("no source files on this machine")
	}
	t.Logf("%d files, %d differ", compared, differ)
	if differ*100 > compared {
		t.Errorf("%d of %d files differ; want at most 1 %%", differ, compared)
	}
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTree measures the parts of the analysis on a tree given by flag, and counts how
// often the results for generated files agree with go-enry.
func TestTree(t *testing.T) {
	if *treeFlag == "" {
		t.Skip("no -analyze.tree given")
	}
	files := readTree(t, *treeFlag, 1<<30)
	bytes := 0
	for _, f := range files {
		bytes += len(f.text)
	}
	a := New(Options{})
	perExt := map[string]time.Duration{}
	var place, whole, decoding time.Duration
	symbols := 0
	skipped := map[code.SkipReason]int{}
	failed := map[string]int{}
	flags := map[code.Flags]int{}
	for _, f := range files {
		start := time.Now()
		a.Place(f.path, f.text)
		d := time.Since(start)
		place += d
		perExt[strings.ToLower(filepath.Ext(f.path))] += d
	}
	for _, f := range files {
		start := time.Now()
		decode(f.text)
		decoding += time.Since(start)
	}
	start, startCPU := time.Now(), cpuTime(t)
	for _, f := range files {
		r := a.Document(f.path, f.text)
		symbols += len(r.Symbols)
		if r.Skipped != "" {
			skipped[r.Skipped]++
		}
		if r.SymbolsFailed != nil {
			failed[r.SymbolsFailed.Error()]++
		}
		for bit := code.Flags(1); bit != 0; bit <<= 1 {
			if r.Flags&bit != 0 {
				flags[bit]++
			}
		}
	}
	whole = time.Since(start)
	cpu := cpuTime(t) - startCPU
	t.Logf("%d files, %.1f MB: place %v, decode %v, document %v, %v of CPU (%.0f MB/s); %d symbols, skipped %v, failed %v, flags %v",
		len(files), float64(bytes)/1e6, place, decoding, whole, cpu, float64(bytes)/1e6/cpu.Seconds(), symbols, skipped, failed, flags)
	exts := make([]string, 0, len(perExt))
	for e := range perExt {
		exts = append(exts, e)
	}
	sort.Slice(exts, func(i, j int) bool { return perExt[exts[i]] > perExt[exts[j]] })
	for _, e := range exts[:min(12, len(exts))] {
		t.Logf("%-10s %v", e, perExt[e])
	}
}

// goSource returns the directory of Go's standard library.
func goSource(t testing.TB) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("the go command is missing")
	}
	if err != nil {
		t.Fatal("the go command is missing: ", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}
