package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/analyze/ctags"
)

// TestCtags indexes files in languages that only ctags parses. Symbols are found, and a
// file with too many symbols is searchable and listed with the reason.
func TestCtags(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("ctags")
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("universal-ctags is missing: ", err)
	}
	dir := gitTree(t, map[string]string{
		"horn.tcl": "proc trombone {} {}\n", "many.tcl": "# tuba\n" + strings.Repeat("proc many {} {}\n", 1<<16+1),
		"a.go": "package flute\n",
	})
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "access.anonymous=on", "pipeline.ctags="+program))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"horns"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	for _, c := range []struct{ url, says string }{
		{s.URL() + "/search?q=sym:trombone+kind:function", "horn.tcl"},
		{s.URL() + "/search?q=tuba", "many.tcl"},
		{fmt.Sprintf("%s/api/repos/%d/skipped", s.URL(), r.RepoID), `{"path":"many.tcl","ref":"refs/heads/main","reason":"symbols_limit","symbols":"partial"`},
		{s.MetricsURL() + "/metrics", `quarry_ctags_files_total{result="complete"} 1`},
		{s.MetricsURL() + "/metrics", `quarry_ctags_files_total{result="limit"} 1`},
		{s.MetricsURL() + "/metrics", `quarry_ctags_restarts_total{reason="limit"} 1`},
	} {
		if status, text := getURL(t, c.url); status != http.StatusOK || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d, want %q:\n%.1500s", c.url, status, c.says, text)
		}
	}
}

// TestUnusableCtags checks that a server does not start if its ctags lacks a needed
// feature, and that the error names the setting to change.
func TestUnusableCtags(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	_, err := Open(t.Context(), Options{
		Config: testConfig(t, "pipeline.ctags="+filepath.Join(t.TempDir(), "none")), Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry, Version: "test",
	})
	if !errors.Is(err, ctags.ErrUnusable) || !strings.Contains(err.Error(), "pipeline.ctags: ") {
		t.Error(err)
	}
}
