package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoticesIsCurrent compares the committed notices with the linked modules.
func TestNoticesIsCurrent(t *testing.T) {
	const root = "../../.."
	want, err := collectNotices(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, noticesFile)
	if os.Getenv("QUARRY_GENERATE") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the linked modules say; run make generate", noticesFile)
	}
}
