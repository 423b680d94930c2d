package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/backup"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/accounts"
	"github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/numbers"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
)

// upgradePage lists every version of the stored formats, and the release that introduced
// it.
var upgradePage = filepath.Join("..", "..", "..", "..", "docs", "upgrade.md")

// TestStoredVersionsAreListed compares the table in docs/upgrade.md with the code. A new
// event type or format version needs a row that describes what it means for an upgrade
// and for a return to the previous release.
func TestStoredVersionsAreListed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(upgradePage)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\| (\\d+) \\| [^|]+ \\| [^|]+ \\|$")
	var listed []string
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1]+" "+m[2])
	}
	stored := storedVersions(t)
	for _, s := range stored {
		if !slices.Contains(listed, s) {
			t.Errorf("docs/upgrade.md does not list %s: add a row that says since which release it is written, and what the release before does with it", s)
		}
	}
	for _, s := range listed {
		if !slices.Contains(stored, s) {
			t.Errorf("docs/upgrade.md lists %s, which this tree does not write", s)
		}
	}
}

// storedVersions returns the name and version of every format in a data directory, a log
// or a backup.
func storedVersions(t *testing.T) []string {
	t.Helper()
	versions := map[string]int{
		"backup": backup.FormatVersion, "eventlog": embeddedlog.FormatVersion, "scip": scip.FormatVersion, "segment": segment.FormatVersion, "store": store.FormatVersion,
		"snapshot":    snapshots.Format,
		"rows.places": places.SchemaVersion, "rows.catalog": catalog.SchemaVersion, "rows.deliveries": deliveries.SchemaVersion,
		"rows.accounts": accounts.SchemaVersion, "rows.audit": audit.SchemaVersion, "rows.numbers": numbers.SchemaVersion,
	}
	_, changes, err := segmentstore.EncodeChanges(nil)
	if err != nil {
		t.Fatal(err)
	}
	versions["changes"] = int(changes[2])
	versions["pebble.eventlog"], versions["pebble.store"] = pebbleVersions(t)
	schemas, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "schemas", "events", "*.schema.json"))
	if err != nil || len(schemas) == 0 {
		t.Fatalf("no schemas of events: %v", err)
	}
	var out []string
	for _, path := range schemas {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".schema.json"), ".v")
		out = append(out, "event."+name+" "+version)
	}
	for name, version := range versions {
		out = append(out, fmt.Sprint(name, " ", version))
	}
	slices.Sort(out)
	return out
}

// pebbleVersions returns Pebble's format versions of a new log and a new store.
func pebbleVersions(t *testing.T) (ofLog, ofStore int) {
	t.Helper()
	dir := t.TempDir()
	l, err := embeddedlog.Open(filepath.Join(dir, "log"), embeddedlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(dir, "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err1, err2 := l.Close(), s.Close(); err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return pebbleVersion(t, filepath.Join(dir, "log")), pebbleVersion(t, filepath.Join(dir, "store"))
}

// pebbleVersion reads the version from the name of Pebble's marker file.
func pebbleVersion(t *testing.T, dir string) int {
	t.Helper()
	markers, err := filepath.Glob(filepath.Join(dir, "marker.format-version.*"))
	if err != nil || len(markers) != 1 {
		t.Fatalf("%s has the markers %v: %v", dir, markers, err)
	}
	version, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(markers[0]), "."))
	if err != nil {
		t.Fatal(err)
	}
	return version
}
