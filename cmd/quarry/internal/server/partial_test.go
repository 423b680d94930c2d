package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestPartialSymbols indexes a file that is nested too deeply. It is searchable, and
// listed with the reason.
func TestPartialSymbols(t *testing.T) {
	t.Parallel()
	const depth = 1000
	dir := gitTree(t, map[string]string{
		"deep.rb": "# trombone\n" + strings.Repeat("module Deep\n", depth) + strings.Repeat("end\n", depth),
		"flat.rb": "module Flat\nend\n", "logo.png": "\x89PNG\r\n\x1a\n\x00\x00",
	})
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "access.anonymous=on"))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"deep"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	repo := fmt.Sprintf("/repos/%d", r.RepoID)
	const partial = `{"path":"deep.rb","ref":"refs/heads/main","reason":"symbols_limit","symbols":"partial","sizeBytes":`
	for _, c := range []struct {
		address, says string
		not           string
	}{
		{"/api" + repo + "/skipped", partial, "flat.rb"},
		{"/api" + repo + "/skipped", `"reason":"binary"`, "flat.rb"},
		{"/api" + repo + "/skipped?reason=symbols_limit", partial, "logo.png"},
		{"/api" + repo + "/skipped?reason=symbols_timeout", `[]`, "deep.rb"},
		{"/api" + repo + "/status", partial, "flat.rb"},
		{"/api/symbols?repo=deep&path=deep.rb&prefix=Deep", `"name":"Deep"`, ""},
		{repo + "/skipped", "symbols: partial", "flat.rb"},
		{"/why?file=deep/deep.rb", "The file is searchable. Some of its symbols are missing.", ""},
		{"/why?file=deep/flat.rb", "The file is searchable.", "symbols are missing"},
		{"/browse/deep/-/blob/deep.rb", "Some symbols of this file are missing.", ""},
		{"/search?q=trombone", "deep.rb", ""},
	} {
		status, text := getURL(t, s.URL()+c.address)
		if status != http.StatusOK || !strings.Contains(text, c.says) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %d, want %q and no %q:\n%.1500s", c.address, status, c.says, c.not, text)
		}
	}
	if _, h, _ := askedAs(t, "GET", s.URL()+"/api"+repo+"/skipped?perPage=1", ""); h.Get("X-Total-Count") != "2" {
		t.Errorf("total %q, want 2", h.Get("X-Total-Count"))
	}
}
