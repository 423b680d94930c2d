package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/store"
)

// TestDamagedStoreNamesTheRemedy checks that the error of a damaged store explains what
// to do. Found by the chaos suite.
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

// TestDamagedTablesCanBeLookedAt checks that a damaged store can be read for a rebuild
// without a crash of the process. Found by the chaos suite.
func TestDamagedTablesCanBeLookedAt(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := s.NewBatch()
	for i := range 1000 {
		if err := b.Set(fmt.Appendf(nil, "l%04d", i), bytes.Repeat([]byte{byte(i)}, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Commit(), s.Close()); err != nil {
		t.Fatal(err)
	}
	// Opening and closing the store again converts the log to tables.
	if s, err = store.Open(dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%v, %v", tables, err)
	}
	for _, table := range tables {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(table, append(text[:len(text)/2], make([]byte, len(text)-len(text)/2)...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err = store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return // Open reports the damage and does not crash
	}
	defer s.Close()
	if v, _, err := s.Get([]byte("l0001")); err == nil {
		t.Errorf("a damaged table gives %q", v)
	}
}
