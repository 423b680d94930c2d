package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestMeasureFindsEverySpeed(t *testing.T) {
	b := MeasureBandwidth([]byte("return a\n"), 1<<16)
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

func TestDiskBytesCountsLinksOnce(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, path := range []string{"a/one", "mirrors/two"} {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "a/one"), filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	got, err := DiskBytes(dir, filepath.Join(dir, "mirrors"))
	if err != nil || got < 100_000 || got > 130_000 {
		t.Errorf("%d bytes %v, want one file of 100000 and two folders", got, err)
	}
}
