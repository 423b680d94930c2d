package integrity_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quarrysearch/quarry/projections/integrity"
)

// makeStore creates a store with a manifest of several edits and a log of several
// records, and returns its directory and its files by kind.
func makeStore(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	dir = t.TempDir()
	options := &pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation}
	for round := range 3 {
		db, err := pebble.Open(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			if err := db.Set(fmt.Appendf(nil, "key%d-%d", round, i), bytes.Repeat([]byte{byte(i)}, 100), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files = map[string]string{}
	for kind, pattern := range map[string]string{"manifest": "MANIFEST-*", "log": "*.log", "table": "*.sst"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files[kind] = found[len(found)-1]
	}
	return dir, files
}

// TestOneBit flips every bit of a manifest, and some bits of a write-ahead log and a
// table, and checks that each flip is detected.
func TestOneBit(t *testing.T) {
	dir, files := makeStore(t)
	if err := integrity.CheckRecords(dir); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"manifest", "log", "table"} {
		t.Run(kind, func(t *testing.T) {
			good, err := os.ReadFile(files[kind])
			if err != nil {
				t.Fatal(err)
			}
			missed := 0
			for i := range 8 * len(good) {
				if i%map[string]int{"manifest": 1, "log": 131, "table": 61}[kind] > 0 {
					continue
				}
				bad := bytes.Clone(good)
				bad[i/8] ^= 1 << (i % 8)
				if err := os.WriteFile(files[kind], bad, 0o600); err != nil {
					t.Fatal(err)
				}
				if kind == "table" {
					err = integrity.CheckTable(t.Context(), files[kind], nil)
				} else {
					err = integrity.CheckRecords(dir)
				}
				if !errors.Is(err, integrity.ErrDamaged) {
					missed++
					if missed < 10 {
						t.Logf("bit %d of byte %d of %d is not found: %v", i%8, i/8, len(good), err)
					}
				}
			}
			if err := os.WriteFile(files[kind], good, 0o600); err != nil {
				t.Fatal(err)
			}
			// Flips at the end of a log, which no chunk follows, and in the padding of a
			// table's footer cannot be detected.
			if most := map[string]int{"manifest": 0, "log": 4, "table": 12}[kind]; missed > most {
				t.Errorf("%d bits are not found, want at most %d", missed, most)
			}
		})
	}
}

// TestTornEnd truncates a manifest and a write-ahead log: a torn end after a crash is not
// damage.
func TestTornEnd(t *testing.T) {
	dir, files := makeStore(t)
	for _, kind := range []string{"manifest", "log"} {
		good, err := os.ReadFile(files[kind])
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut < len(good); cut += map[string]int{"manifest": 1, "log": 53}[kind] {
			for _, tail := range []int{0, 700} { // with and without reserved space
				if err := os.WriteFile(files[kind], append(bytes.Clone(good[:cut]), make([]byte, tail)...), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := integrity.CheckRecords(dir); err != nil {
					t.Fatalf("%s cut at %d, then %d zeroes: %v", kind, cut, tail, err)
				}
			}
		}
		if err := os.WriteFile(files[kind], good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
