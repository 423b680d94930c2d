package server

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// verified holds the output of a verification: "REF KIND PATH COUNT" for each difference
// and each ref that was not compared, and the summary.
type verified struct {
	lines   []string
	summary verification.Counts
}

func (v *verified) addFrame(f *verification.Finding) error {
	switch f.Type {
	case verification.Difference:
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s %d", f.Ref.Short(), f.Kind, f.Path, f.Count))
		if f.AfterRepair {
			line += " still"
		}
		v.lines = append(v.lines, line)
	case verification.Unchecked:
		v.lines = append(v.lines, f.Ref.Short()+" unchecked")
	case verification.Summary:
		v.summary = *f.Counts
	}
	return nil
}

func verifyNow(t *testing.T, s *Server, r verification.Request) *verified {
	t.Helper()
	v := new(verified)
	if err := s.verifier.Verify(t.Context(), r, v.addFrame); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestVerifyFindsExactlyWhatDiffers damages one thing at a time and repairs it.
func TestVerifyFindsExactlyWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		remote bool
		damage func(t *testing.T, c *config.Config, g *gitRepository)
		want   []string
	}{
		{"nothing", true, func(*testing.T, *config.Config, *gitRepository) {}, nil},
		{"a row is gone", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			eachRow(t, c, "pe", func(b *store.Batch, key, _ []byte) error {
				if bytes.Contains(key, []byte("lib/b.txt\x00")) {
					return b.Delete(key)
				}
				return nil
			})
		}, []string{"main counts  0", "main missing lib/b.txt 1"}},
		{"a row has another content", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			var other []byte
			for range 2 {
				eachRow(t, c, "pe", func(b *store.Batch, key, value []byte) error {
					switch {
					case bytes.Contains(key, []byte("a.txt\x00")):
						other = bytes.Clone(value)
					case bytes.Contains(key, []byte("lib/b.txt\x00")) && other != nil:
						return b.Set(key, other)
					}
					return nil
				})
			}
		}, []string{"main content lib/b.txt 1"}},
		{"the counts are others", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			eachRow(t, c, "pr", func(b *store.Batch, key, value []byte) error {
				return b.Set(key, bytes.Replace(value, []byte(`"files":3`), []byte(`"files":7`), 1))
			})
		}, []string{"main counts  0"}},
		{"the mirror has recorded another commit", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			mirrorGit(t, c, g, "update-ref", "refs/quarry/indexed/refs/heads/main/-", g.runGitCommand("rev-parse", "main~1"))
		}, []string{"main commit  0"}},
		{"the mirror forgot a ref", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			mirrorGit(t, c, g, "update-ref", "-d", "refs/quarry/indexed/refs/heads/main/-")
		}, []string{"main extra  0"}},
		{"another default branch", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			mirrorGit(t, c, g, "symbolic-ref", "HEAD", "refs/heads/trunk")
		}, []string{"trunk default  0"}},
		{"a segment was lost", false, func(t *testing.T, c *config.Config, g *gitRepository) {
			// The store is rebuilt and finds no segments in its directory.
			if err := os.RemoveAll(c.ProjectionsDir()); err != nil {
				t.Fatal(err)
			}
			removeSegments(t, c.SegmentsDir())
		}, []string{"main unheld a.txt 3"}},
		{"a push was lost", true, func(t *testing.T, c *config.Config, g *gitRepository) {
			g.commitFiles("new.txt", "new\n")
		}, []string{"main remote  0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGitRepository(t, "anvil")
			g.commitFiles("a.txt", "alpha\n", "gone.txt", "gone\n")
			last := g.commitFiles("lib/b.txt", "beta\n", "bin", "\x00\x01", "c.txt", "gamma\n", "gone.txt", "gone\n")
			g.runGitCommand("rm", "--quiet", "gone.txt")
			last = g.commitFiles()
			if err := os.Symlink("a.txt", filepath.Join(g.dir, "link")); err != nil {
				t.Fatal(err)
			}
			last = g.commitFiles()
			c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
			t.Run("import", func(t *testing.T) {
				s := runServer(t, c)
				s.registerAt(t, g, last)
				s.awaitWorkers(t) // the next server would handle the rest, which mends the mirror
			})
			test.damage(t, c, g)

			s := runServer(t, c)
			<-s.versions.Live().Runner.CaughtUp()
			found := verifyNow(t, s, verification.Request{Remote: test.remote})
			if !slices.Equal(found.lines, test.want) || found.summary.Differences != len(test.want) || found.summary.Repositories != 1 {
				t.Fatalf("found %q and %+v, want %q", found.lines, found.summary, test.want)
			}
			if len(test.want) == 0 && (found.summary.Files != 5 || found.summary.Refs != 1) {
				t.Errorf("compared %+v, want 5 files of 1 ref", found.summary)
			}
			mended := verifyNow(t, s, verification.Request{Remote: test.remote, Repair: true})
			if !slices.Equal(mended.lines, test.want) || mended.summary.Differences != 0 || mended.summary.Repaired != len(test.want) {
				t.Errorf("a repair said %q and %+v", mended.lines, mended.summary)
			}
			if again := verifyNow(t, s, verification.Request{Remote: test.remote}); len(again.lines) != 0 {
				t.Errorf("after the repair: %q", again.lines)
			}
		})
	}
}

// TestVerifyOverADamagedMirror damages the mirror. Wrong output of git is not a
// difference of the index, and a repair restores the mirror.
func TestVerifyOverADamagedMirror(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir string){
		"index of a pack": func(t *testing.T, dir string) {
			paths, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.idx"))
			if err != nil || len(paths) != 1 {
				t.Fatalf("%v, %v", paths, err)
			}
			// Rotating the offsets gives every object the size of another one.
			b, err := os.ReadFile(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			n := int(binary.BigEndian.Uint32(b[8+255*4:]))
			offsets := b[8+256*4+n*24:][:n*4]
			rotated := slices.Concat(offsets[4:], offsets[:4])
			copy(offsets, rotated)
			replaceFile(t, paths[0], b)
		},
		"pack": func(t *testing.T, dir string) {
			paths, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
			if err != nil || len(paths) != 1 {
				t.Fatalf("%v, %v", paths, err)
			}
			replaceFile(t, paths[0], []byte("PACK"))
		},
		"configuration": func(t *testing.T, dir string) {
			replaceFile(t, filepath.Join(dir, "config"), []byte("[core\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepository(t, "anvil")
			files := []string{}
			for i := range 20 {
				files = append(files, fmt.Sprintf("%d.txt", i), strings.Repeat("alpha\n", i+1))
			}
			first := g.commitFiles(files...)
			g.runGitCommand("repack", "-adq")
			c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
			t.Run("import", func(t *testing.T) { runServer(t, c).registerAt(t, g, first) })
			damage(t, filepath.Join(c.MirrorsDir(), fmt.Sprintf("%02x", byte(g.ID)), g.ID.String(), "git"))
			s := runServer(t, c)
			<-s.versions.Live().Runner.CaughtUp()
			found := verifyNow(t, s, verification.Request{Repair: true})
			isUnchecked := func(line string) bool { return strings.HasSuffix(line, " unchecked") }
			if found.summary.Differences != 0 || !slices.ContainsFunc(found.lines, isUnchecked) {
				t.Errorf("found %q and %+v, want what cannot be checked", found.lines, found.summary)
			}
			if found.summary.Unchecked != 0 {
				t.Errorf("%q could not be compared after the repair either: %+v", found.lines, found.summary)
			}
			eventuallyOr(t, func() bool {
				found = verifyNow(t, s, verification.Request{})
				return found.summary.Refs == 1 && found.summary.Unchecked == 0 && found.summary.Differences == 0
			}, func() string { return fmt.Sprintf("%q and %+v", found.lines, found.summary) })
			if n := metricValue(t, s, "quarry_mirror_resets_total"); n != 1 {
				t.Errorf("%d mirrors were reset, want 1", n)
			}
		})
	}
}

// replaceFile replaces a file that may be open.
func replaceFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// eachRow changes rows of the live store while the server is stopped.
func eachRow(t *testing.T, c *config.Config, prefix string, change func(b *store.Batch, key, value []byte) error) {
	t.Helper()
	home, err := projections.OpenHome(c.ProjectionsDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := home.Current()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	it, err := s.Iter([]byte(prefix), store.Successor([]byte(prefix)))
	if err != nil {
		t.Fatal(err)
	}
	b := s.NewBatch()
	for ok := it.First(); ok; ok = it.Next() {
		if err := change(b, bytes.Clone(it.Key()), it.Value()); err != nil {
			t.Fatal(err)
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

func mirrorGit(t *testing.T, c *config.Config, g *gitRepository, args ...string) {
	t.Helper()
	dir := filepath.Join(c.MirrorsDir(), fmt.Sprintf("%02x", byte(g.ID)), g.ID.String(), "git")
	if out, err := exec.Command("git", append([]string{"--git-dir", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func removeSegments(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPushesMeanwhileAreNoDifference verifies while pushes arrive.
func TestPushesMeanwhileAreNoDifference(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil")
	first := g.commitFiles("a.txt", "alpha\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0"))
	s.registerAt(t, g, first)
	refs := 0
	for i := range 20 {
		g.commitFiles("a.txt", fmt.Sprint("alpha ", i, "\n"), fmt.Sprint(i, ".txt"), "more\n")
		if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		found := verifyNow(t, s, verification.Request{})
		refs += found.summary.Refs
		if found.summary.Differences != 0 {
			t.Fatalf("while a push was under way: %q", found.lines)
		}
	}
	if refs == 0 {
		t.Error("nothing was ever compared")
	}
}

// TestRepairTakesBackWhatIsNowhere repairs a ref that queries show but that neither the
// mirror nor the repository has.
func TestRepairTakesBackWhatIsNowhere(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil", "release/*")
	first := g.commitFiles("a.txt", "alpha\n")
	g.runGitCommand("branch", "release/1")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0")
	t.Run("import", func(t *testing.T) {
		s := runServer(t, c)
		s.registerAt(t, g, first)
		waitUntil(t, func() bool { return verifyNow(t, s, verification.Request{Remote: true}).summary.Refs == 2 })
	})
	g.runGitCommand("branch", "--delete", "--force", "release/1")
	mirrorGit(t, c, g, "update-ref", "-d", "refs/quarry/indexed/refs/heads/release/1/-")
	s := runServer(t, c)
	<-s.versions.Live().Runner.CaughtUp()
	mended := verifyNow(t, s, verification.Request{Repair: true})
	if want := []string{"release/1 extra  0"}; !slices.Equal(mended.lines, want) || mended.summary.Differences != 0 || mended.summary.Repaired != 1 {
		t.Errorf("a repair said %q and %+v, want %q", mended.lines, mended.summary, want)
	}
}

func TestVerifyOverHTTP(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil")
	first := g.commitFiles("a.txt", "alpha\n")
	c := testConfig(t, "git.allowedRoots="+g.dir)
	t.Run("server", func(t *testing.T) {
		s := runServer(t, c)
		s.registerAt(t, g, first)
		ask := func(body string) (int, string) {
			t.Helper()
			response, err := http.Post(s.URL()+"/api/verifications", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			var answer bytes.Buffer
			if _, err := answer.ReadFrom(response.Body); err != nil {
				t.Fatal(err)
			}
			return response.StatusCode, answer.String()
		}
		if status, body := ask(`{"repositories":["anvil"],"remote":true}`); status != 200 || !strings.Contains(body, `"type":"summary"`) ||
			!strings.Contains(body, `"files":1,"differences":0`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
			t.Errorf("%d %s", status, body)
		}
		if status, body := ask(`{"repositories":["nobody"]}`); status != 404 {
			t.Errorf("an unknown repository: %d %s", status, body)
		}
		// Start a second verification at the first finding of the first one.
		first := true
		err := s.verifier.Verify(t.Context(), verification.Request{}, func(*verification.Finding) error {
			if first {
				if status, body := ask(`{}`); status != 503 || !strings.Contains(body, "another verification is running") {
					t.Errorf("a second verification: %d %s", status, body)
				}
			}
			first = false
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("offline", func(t *testing.T) {
		mirrorGit(t, c, g, "update-ref", "-d", "refs/quarry/indexed/refs/heads/main/-")
		for _, repair := range []bool{false, true} {
			registry := prometheus.NewRegistry()
			o := Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry}
			var last *wire.VerificationFrame
			keepLast := func(f *wire.VerificationFrame) error { last = f; return nil }
			if err := Verify(t.Context(), o, []string{"anvil"}, verification.Request{Repair: repair}, keepLast); err != nil {
				t.Fatal(err)
			}
			want := wire.VerificationCounts{Repositories: 1, RepositoriesTotal: 1, Refs: 1, Files: 1, Differences: 1}
			if repair {
				want.Differences, want.Repaired = 0, 1
			}
			if last.Counts == nil || *last.Counts != want {
				t.Errorf("repair %t: %+v, want the summary %+v", repair, last, want)
			}
		}
	})
	t.Run("without mirrors", func(t *testing.T) {
		c := testConfig(t)
		c.Roles = []string{config.RoleQuery} // as if the workers ran in another process
		s := runServer(t, c)
		response, err := http.Post(s.URL()+"/api/verifications", "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		var failure struct{ Message string }
		if err := json.NewDecoder(response.Body).Decode(&failure); err != nil || response.StatusCode != 503 || !strings.Contains(failure.Message, "no mirrors") {
			t.Errorf("%d %+v %v", response.StatusCode, failure, err)
		}
	})
}

// TestVerifySaysWhatItCannotCompare checks that refs that the mirror lacks are reported
// but not counted as differences.
func TestVerifySaysWhatItCannotCompare(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil")
	first := g.commitFiles("a.txt", "alpha\n")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0")
	t.Run("import", func(t *testing.T) { runServer(t, c).registerAt(t, g, first) })
	if err := os.RemoveAll(c.MirrorsDir()); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, c)
	<-s.versions.Live().Runner.CaughtUp()
	found := verifyNow(t, s, verification.Request{Repositories: []code.RepositoryID{g.ID}})
	if want := []string{" unchecked"}; !slices.Equal(found.lines, want) || found.summary.Unchecked != 1 || found.summary.Differences != 0 {
		t.Errorf("found %q and %+v, want %q", found.lines, found.summary, want)
	}
}
