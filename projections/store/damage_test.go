package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/store"
)

// Found by the chaos suite: a store whose files are damaged says what to do.
func TestDamagedStoreNamesTheRemedy(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("%v, %v", manifests, err)
	}
	for _, manifest := range manifests {
		if err := os.WriteFile(manifest, bytes.Repeat([]byte("garbage "), 64), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Open(dir, store.Options{}); err == nil || !strings.Contains(err.Error(), "quarry replay") {
		t.Errorf("%v, want an error that names quarry replay", err)
	}
}
