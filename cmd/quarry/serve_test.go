package main

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissingRoots checks that a server that starts warns of the allowed directories that do
// not exist, and of no others.
func TestMissingRoots(t *testing.T) {
	var out bytes.Buffer
	present := t.TempDir()
	missing := filepath.Join(present, "missing")
	warnOfMissingRoots([]string{present, missing}, slog.New(slog.NewTextHandler(&out, nil)))
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "path="+missing) {
		t.Errorf("warnings %q, want one about %s", text, missing)
	}
}
