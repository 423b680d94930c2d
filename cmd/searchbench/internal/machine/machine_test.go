package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestMeasureFindsEverySpeed(t *testing.T) {
	b := measureWith([]byte("return a\n"), 1<<16)
	if b.Count <= 0 || b.Index <= 0 || b.Copy <= 0 {
		t.Errorf("%+v, want three speeds", b)
	}
}

// TestDropFiles checks that a new file is in memory and that DropFiles evicts it, or
// reports that it did not.
func TestDropFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "file")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if share, err := residentShare(dir); err != nil || share < 0.9 {
		t.Errorf("written: %v resident, %v", share, err)
	}
	d, err := DropFiles(dir)
	if share, residentErr := residentShare(dir); err == nil && (share > coldEnough || residentErr != nil || d.Method == "") {
		t.Errorf("%+v, but %v is resident (%v)", d, share, residentErr)
	}
	if err != nil {
		t.Logf("files cannot be made cold here: %v", err)
	}
	if _, err := DropFiles(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is cold")
	}
}
