package segmentstore_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/segmentstore/segmentstoretest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestDirectoryConforms(t *testing.T) {
	segmentstoretest.Run(t, func(t *testing.T) segmentstore.Driver {
		d, err := segmentstore.OpenDirectory(filepath.Join(t.TempDir(), "segments"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

func TestOpenDirectoryRemovesLeftovers(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, "~1"), filepath.Join(dir, "~2")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if _, err := segmentstore.OpenDirectory(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Error("the old leftover is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("the file of a living writer is gone")
	}
}

func TestSegmentName(t *testing.T) {
	id := segment.ID{1, 2, 0xff}
	name := segmentstore.SegmentName(id)
	got, ok := segmentstore.ParseSegmentName(name)
	if !ok || got != id || segmentstore.ValidateName(name) != nil {
		t.Fatalf("%s parses as %s, %v", name, got, ok)
	}
	for _, other := range []string{"", "segment-", "segment-00", segmentstore.ManifestName(id.String())} {
		if _, ok := segmentstore.ParseSegmentName(other); ok {
			t.Errorf("%q is taken for a segment", other)
		}
	}
}

var samples = [][]event.Change{
	{},
	{{Path: "a.go", Blob: code.BlobID{1, 2, 3}, Language: "Go", Flags: code.FlagTest, SizeBytes: 12}},
	{
		{Path: "bin", Skipped: code.SkipBinary, SizeBytes: 1 << 40},
		{Path: "gone"},
		{Path: "line\nfeed \"quoted\" \\ <&> \u2028", Blob: code.BlobID{9}, Language: "C++"},
		{Path: "z\xff\xfe", Blob: code.BlobID{0xff}, Flags: 255},
		{Path: "ß/日本語.txt", Blob: code.BlobID{7}},
	},
}

func TestChangesRoundTrip(t *testing.T) {
	for _, want := range append(samples, randomChanges(20000)) {
		name, b, err := segmentstore.EncodeChanges(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := segmentstore.ValidateName(name); err != nil {
			t.Fatal(err)
		}
		got, err := segmentstore.DecodeChanges(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%d changes come back as %d", len(want), len(got))
		}
	}
}

func randomChanges(n int) []event.Change {
	r := rand.New(rand.NewPCG(1, 2))
	changes := make([]event.Change, n)
	for i := range changes {
		c := &changes[i]
		c.Path = fmt.Sprintf("drivers/net/ethernet/vendor%04d/chip_%06d.c", i/50, i)
		binary.BigEndian.PutUint64(c.Blob[:], r.Uint64())
		binary.BigEndian.PutUint64(c.Blob[12:], r.Uint64())
		c.Language, c.Flags, c.SizeBytes = "C", code.FlagASCII, int64(r.IntN(1<<20))
	}
	return changes
}

func TestEncodeChangesRefuses(t *testing.T) {
	for _, bad := range [][]event.Change{
		{{Path: "b"}, {Path: "a"}},
		{{Path: "a"}, {Path: "a"}},
		{{Path: "/a"}},
		{{Path: "../a"}},
		{{Path: "a", SizeBytes: -1}},
	} {
		if _, _, err := segmentstore.EncodeChanges(bad); err == nil {
			t.Errorf("%+v was encoded", bad)
		}
	}
}

// TestDecodeChangesOfEveryFormat checks the decoder with the objects of every
// released format.
func TestDecodeChangesOfEveryFormat(t *testing.T) {
	for version, want := range map[int][]event.Change{1: samples[2]} {
		path := filepath.Join("testdata", fmt.Sprintf("changes.v%d", version))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := segmentstore.DecodeChanges(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v, nil", path, got, err, want)
		}
	}
}

func TestDecodeChangesCorrupt(t *testing.T) {
	_, good, err := segmentstore.EncodeChanges(samples[2])
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		b := append([]byte(nil), good...)
		b[i] ^= 0x41
		if _, err := segmentstore.DecodeChanges(b); !errors.Is(err, segmentstore.ErrCorrupt) {
			t.Fatalf("byte %d changed: %v, want %v", i, err, segmentstore.ErrCorrupt)
		}
		if _, err := segmentstore.DecodeChanges(good[:i]); !errors.Is(err, segmentstore.ErrCorrupt) {
			t.Fatalf("cut at %d: %v, want %v", i, err, segmentstore.ErrCorrupt)
		}
	}
}

func FuzzDecodeChanges(f *testing.F) {
	for _, changes := range samples {
		_, b, err := segmentstore.EncodeChanges(changes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		changes, err := segmentstore.DecodeChanges(b)
		if err != nil {
			if !errors.Is(err, segmentstore.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		_, again, err := segmentstore.EncodeChanges(changes)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := segmentstore.DecodeChanges(again); err != nil || len(same) != len(changes) {
			t.Fatalf("%d changes come back as %d: %v", len(changes), len(same), err)
		}
	})
}

// FuzzChangesJSON compares the fast path of the parser with encoding/json.
func FuzzChangesJSON(f *testing.F) {
	for _, changes := range samples {
		b, err := json.Marshal(changes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`[{"path":"a","flags":01}]`))
	f.Add([]byte(`[{"path":"a"},]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := segmentstore.ParseChanges(b)
		if !ok {
			return
		}
		var want []event.Change
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%q: encoding/json refuses: %v", b, err)
		}
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v", b, got, want)
		}
	})
}

func BenchmarkDecodeChanges(b *testing.B) {
	_, object, err := segmentstore.EncodeChanges(randomChanges(80000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := segmentstore.DecodeChanges(object); err != nil {
			b.Fatal(err)
		}
	}
}
