package server

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/backup"
)

// releaseSample is a data directory that the last release wrote, with three repositories,
// an owner, a key, a decision and an audit log. "tasks upgrade-sample" creates it.
var releaseSample = filepath.Join("testdata", "upgrade", "v0.0.0-20261122040823.tar.gz")

// maxSampleBytes bounds a file of the sample.
const maxSampleBytes = 1 << 20

// releaseNote contains the credentials in the sample.
type releaseNote struct{ Key, Email, Password string }

// unpackRelease unpacks the sample to a data directory and returns its files.
func unpackRelease(t *testing.T, data string) (releaseNote, map[string]string) {
	t.Helper()
	f, err := os.Open(releaseSample)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var note releaseNote
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(io.LimitReader(r, maxSampleBytes))
		if err != nil {
			t.Fatal(err)
		}
		if head.Name == "SAMPLE.json" {
			if err := json.Unmarshal(b, &note); err != nil {
				t.Fatal(err)
			}
			continue
		}
		path := filepath.Join(data, head.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		files[head.Name] = string(b)
	}
	return note, files
}

// backUpOffline backs up a data directory whose server is stopped.
func backUpOffline(t *testing.T, c *config.Config, dir string) {
	t.Helper()
	d, err := backup.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	src := backup.Source{Log: c.LogDir(), Segments: c.SegmentsDir(), Secret: filepath.Join(c.Data, backup.SecretName), Release: "test"}
	if r, err := d.Write(t.Context(), src, backup.Options{}); err != nil || r.Manifest.Missing > 0 {
		t.Fatalf("backup: %d objects are missing: %v", r.Manifest.Missing, err)
	}
}

func restoreTo(t *testing.T, dir string, c *config.Config) {
	t.Helper()
	d, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	to := backup.Target{Data: c.Data, Log: c.LogDir(), Segments: c.SegmentsDir()}
	if _, _, err := d.Restore(t.Context(), 1, to, backup.RestoreOptions{Compare: true}); err != nil {
		t.Fatal(err)
	}
}

// TestUpgradeFromTheLastRelease opens and uses the data directory of the last release.
func TestUpgradeFromTheLastRelease(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "git.allowedRoots="+t.TempDir())
	note, _ := unpackRelease(t, c.Data)
	useUpgraded(t, c, note)
	equalToLog(t, c)
}

// TestRollBackByTheBackup restores a backup that this release made of the last release's
// directory before the upgrade. Log, objects and secret equal those of the last release,
// byte for byte, so both releases can continue with them.
func TestRollBackByTheBackup(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	note, files := unpackRelease(t, c.Data)
	backups := filepath.Join(t.TempDir(), "backups")
	backUpOffline(t, c, backups)
	useUpgraded(t, c, note)
	restored := testConfig(t)
	restoreTo(t, backups, restored)
	compared := 0
	for name, text := range files {
		first, _, _ := strings.Cut(name, "/")
		if first != "log" && first != "segments" && first != "secret.key" {
			continue
		}
		compared++
		if b, err := os.ReadFile(filepath.Join(restored.Data, name)); err != nil || string(b) != text {
			t.Errorf("%s: restored %d bytes, want %d: %v", name, len(b), len(text), err)
		}
	}
	if compared < 10 {
		t.Errorf("%d files were compared", compared)
	}
	useUpgraded(t, restored, note)
}

// TestRestoreOfAnUpgradedDirectory backs up and restores a directory after this release
// has written to it: nothing is lost.
func TestRestoreOfAnUpgradedDirectory(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "orchard")
	head := g.commitFiles("apple.go", "package orchard // russet\n")
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir))
	note, _ := unpackRelease(t, c.Data)
	t.Run("upgraded", func(t *testing.T) {
		s := runServer(t, c)
		s.registerAt(t, g, head)
	})
	backups := filepath.Join(t.TempDir(), "backups")
	backUpOffline(t, c, backups)
	restored := testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir))
	restoreTo(t, backups, restored)
	t.Run("restored", func(t *testing.T) {
		s := runServer(t, restored)
		waitUntil(t, func() bool { status, _ := getURL(t, s.URL()+"/readyz"); return status == http.StatusOK })
		wantMatches(t, s, note.Key, "russet", 1)
		next := g.commitFiles("pear.go", "package orchard // conference\n")
		if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return s.defaultAt(g.ID) == next })
		wantMatches(t, s, note.Key, "conference", 1)
	})
}

// useUpgraded runs and stops a server on the data directory of the last release.
func useUpgraded(t *testing.T, c *config.Config, note releaseNote) {
	t.Run("use", func(t *testing.T) {
		s := runServer(t, c)
		waitUntil(t, func() bool { status, _ := getURL(t, s.URL()+"/readyz"); return status == http.StatusOK })
		for word, want := range map[string]int{"teapot": 1, "buzzword": 1, "leaf": 1010, "file:boil.go Boil": 2} {
			wantMatches(t, s, note.Key, word, want)
		}
		wantMatches(t, s, "", "teapot", 1)
		wantMatches(t, s, "", "buzzword", 0) // a decision made this repository private
		status, body := postWith(t, s, "", "/api/auth/sign_in", fmt.Sprintf(`{"email":%q,"password":%q}`, note.Email, note.Password))
		if status != http.StatusOK {
			t.Errorf("sign in: %d %s", status, body)
		}
		status, body = postWith(t, s, note.Key, "/api/ee/audit/verifications", `{}`)
		if status != http.StatusOK || !strings.Contains(body, `"findings":0`) || strings.Contains(body, `"type":"finding"`) {
			t.Errorf("verify the audit log: %d %s", status, body)
		}
		if _, body = getURL(t, s.URL()+"/api/repos"); !strings.Contains(body, `"repoId":1,"repoName":"kettle"`) {
			t.Errorf("repositories: %s", body)
		}
	})
}

// wantMatches searches with a key, or anonymously.
func wantMatches(t *testing.T, s *Server, key, query string, want int) {
	t.Helper()
	status, body := postWith(t, s, key, "/api/search", fmt.Sprintf(`{"query":%q,"matches":2000}`, query))
	var answer struct {
		Stats struct{ ActualMatchCount int }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.Stats.ActualMatchCount != want {
		t.Errorf("%s: %d: %d matches, want %d: %v", query, status, answer.Stats.ActualMatchCount, want, err)
	}
}

func postWith(t *testing.T, s *Server, key, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := (&http.Client{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// equalToLog compares every row of the live version with a rebuild from the log.
func equalToLog(t *testing.T, c *config.Config) {
	t.Helper()
	registry := prometheus.NewRegistry()
	r, err := OpenRebuild(t.Context(), Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.Verify(t.Context(), func(int64, int64) {})
	if err := errors.Join(err, r.Close()); err != nil || rows == 0 {
		t.Errorf("%d rows are equal to the log: %v", rows, err)
	}
}
