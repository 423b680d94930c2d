package segmentstore_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestQuarantineOfSegments flips bits of a sealed segment: Check must detect them, and
// Quarantine must keep the damaged bytes separately.
func TestQuarantineOfSegments(t *testing.T) {
	dir := t.TempDir()
	d, err := segmentstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	d.NotifyQuarantine(func(name, path string, cause error) { said = append(said, name, path, cause.Error()) })
	b := segment.NewBuilder(segment.Options{})
	for i := range 50 {
		if err := b.Add(segment.Document{Key: code.DocumentKey{Blob: code.BlobID{byte(i)}}, Text: bytes.Repeat([]byte("some text\n"), 200)}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "segment")
	meta, err := b.Finish(path)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := segmentstore.SegmentName(meta.ID)
	const places = 40
	for i := range places {
		bad := bytes.Clone(good)
		bad[len(bad)*i/places] ^= 1 << (i % 8)
		if err := d.PutBytes(t.Context(), name, bad); err != nil {
			t.Fatal(err)
		}
		if moved, err := d.Quarantine(t.Context(), name); !moved || err != nil {
			t.Fatalf("byte %d of %d: quarantine: %v, %v", len(bad)*i/places, len(bad), moved, err)
		}
	}
	if len(said) != 3*places || said[0] != name || !strings.Contains(said[2], "checksum mismatch") {
		t.Errorf("notified of %q", said)
	}
	if kept, err := os.ReadFile(said[1]); err != nil || len(kept) != len(good) {
		t.Errorf("%s has %d bytes, %v", said[1], len(kept), err)
	}
	if err := d.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "quarantine")); err != nil || len(entries) > 0 {
		t.Errorf("%d copies of a deleted object are left, %v", len(entries), err)
	}
	if err := d.PutBytes(t.Context(), segmentstore.SegmentName(segment.ID{1}), good); err != nil {
		t.Fatal(err)
	}
	if moved, err := d.Quarantine(t.Context(), segmentstore.SegmentName(segment.ID{1})); !moved || err != nil {
		t.Errorf("a segment under the name of another: %v, %v", moved, err)
	}
}

// TestQuarantineIsBounded opens a store whose quarantine contains too many and too old
// objects.
func TestQuarantineIsBounded(t *testing.T) {
	dir := t.TempDir()
	quarantine := filepath.Join(dir, "quarantine")
	if err := os.Mkdir(quarantine, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range segmentstore.MaxQuarantined + 10 {
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		if i == 5 {
			at = at.Add(-segmentstore.QuarantineAge)
		}
		if err := os.WriteFile(segmentstore.QuarantinePath(dir, "segment-x", at), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := segmentstore.OpenDirectory(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(quarantine)
	if err != nil || len(entries) != segmentstore.MaxQuarantined {
		t.Errorf("%d objects are left, %v", len(entries), err)
	}
}

// TestPreciseIndexIsChecked checks that the checksum of a precise index is taken from its
// name.
func TestPreciseIndexIsChecked(t *testing.T) {
	d, err := segmentstore.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	content := []byte("a precise index")
	sum := xxh3.Hash128(content).Bytes()
	good := segmentstore.ScipName(7, hex.EncodeToString(sum[:]))
	bad := segmentstore.ScipName(7, strings.Repeat("0", 32))
	for _, name := range []string{good, bad} {
		if err := d.PutBytes(t.Context(), name, content); err != nil {
			t.Fatal(err)
		}
		if id, ok := segmentstore.ParseScipName(name); !ok || id != 7 {
			t.Errorf("%s is of repository %d, %t", name, id, ok)
		}
	}
	if err := d.Check(t.Context(), good, nil); err != nil {
		t.Error(err)
	}
	if err := d.Check(t.Context(), bad, nil); !errors.Is(err, segmentstore.ErrCorrupt) {
		t.Errorf("a precise index under another name: %v", err)
	}
	for _, name := range []string{"scip-", "scip-7-" + strings.Repeat("0", 32), "segment-0", "scip-0000000000000007-00"} {
		if id, ok := segmentstore.ParseScipName(name); ok {
			t.Errorf("%s counts as a precise index of %d", name, id)
		}
	}
}
