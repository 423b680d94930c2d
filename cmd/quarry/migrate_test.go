package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "config.json"), filepath.Join(dir, "quarry.yaml")
	text := `{"connections": {"hub": {"type": "github", "orgs": ["meadow"], "token": {"env": "HUB_TOKEN"}}}, "models": []}`
	if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	migrateFile := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := run(t.Context(), append([]string{"migrate"}, args...), streams{out: &out, err: &errs})
		return status, out.String(), errs.String()
	}
	status, out, errs := migrateFile("sourcebot", from)
	if status != exitOK || !strings.Contains(out, "token: env:HUB_TOKEN") || !strings.Contains(errs, "models: ") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	status, out, errs = migrateFile("sourcebot", from, "-o", to)
	written, err := os.ReadFile(to)
	if status != exitOK || out != "" || err != nil || !strings.Contains(string(written), "- meadow") || !strings.Contains(errs, "1 connections; start with: quarry serve --config "+to) {
		t.Errorf("status %d, %q, %v\n%s", status, out, err, errs)
	}
	if status, _, errs = migrateFile("sourcebot", from, "-o", to); status != exitFailed || !strings.Contains(errs, "exists") {
		t.Errorf("a second time: status %d, %s", status, errs)
	}
	if status, _, errs = migrateFile("hound", from); status != exitFailed || !strings.Contains(errs, "it has no repos") {
		t.Errorf("another format: status %d, %s", status, errs)
	}
	if status, _, _ = migrateFile("grep", from); status != exitUsage {
		t.Errorf("unknown format: status %d, want %d", status, exitUsage)
	}
}
