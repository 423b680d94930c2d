package main

import (
	"archive/tar"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/image"
)

// TestArchiveFails checks the errors for files that cannot be packed.
func TestArchiveFails(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere", "sample.tar.gz")
	if err := packSample(nowhere, dir, &sampleNote{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("pack into a folder that does not exist: error %v", err)
	}
	if err := packSample(filepath.Join(dir, "sample.tar.gz"), filepath.Join(dir, "nothing"), &sampleNote{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("pack a data directory that does not exist: error %v", err)
	}
	failure := errors.New("no more files")
	if err := writeArchive(filepath.Join(dir, "a.tar.gz"), func(*tar.Writer) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("fill an archive without success: error %v, want its own", err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := image.WriteBOM(text, "v1.2.3", filepath.Join(dir, "bom.json")); err == nil {
		t.Error("a bill of materials is written of a file that is no binary")
	}
	if err := packRelease(filepath.Join(dir, "r.tar.gz"), "quarry-1.2.3", filepath.Join(dir, "nothing"), time.Unix(0, 0)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("pack a release without its binary: error %v", err)
	}
}
