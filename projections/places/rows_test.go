package places

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestEntries(t *testing.T) {
	for _, c := range []event.Change{
		{Path: "gone"},
		{Path: "a", Blob: code.BlobID{1, 2}, Language: "Go", Flags: code.FlagTest, SizeBytes: 1 << 40},
		{Path: "b", Blob: code.BlobID{0xff}},
		{Path: "c", Skipped: code.SkipBinary, SizeBytes: 7},
		{Path: "d", Skipped: code.SkipSubmodule, Blob: code.BlobID{9}},
	} {
		e, err := decodeEntry(entryOf(&c))
		if err != nil {
			t.Fatal(err)
		}
		want := entry{}
		switch {
		case c.Skipped != "":
			want = entry{kind: entrySkipped, flags: c.Flags, size: c.SizeBytes, skipped: c.Skipped}
		case c.Blob != code.BlobID{}:
			want = entry{kind: entryDocument, flags: c.Flags, size: c.SizeBytes, document: code.DocumentKey{Blob: c.Blob, Language: c.Language}}
		}
		if e != want {
			t.Errorf("%s: %+v, want %+v", c.Path, e, want)
		}
	}
}

func TestKeysOrderAsPathsDo(t *testing.T) {
	paths := []string{"\x01", "a", "a\x01", "a-b", "a.go", "a/b", "a0", "ab", "b", "\xff\xff"}
	var last []byte
	for _, path := range paths {
		for _, version := range []uint32{neverSuperseded, 7, 1} {
			k := entryKey(kindEntry, 3, 4, []byte(path), version)
			if bytes.Compare(last, k) >= 0 {
				t.Fatalf("%q@%d does not come last", path, version)
			}
			if p, v := parseEntry(k); string(p) != path || v != version {
				t.Fatalf("%q@%d parses as %q@%d", path, version, p, v)
			}
			last = k
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte{0})
	f.Add(entryOf(&event.Change{Blob: code.BlobID{1}, Language: "C++", SizeBytes: 300}))
	f.Add(entryOf(&event.Change{Skipped: code.SkipTooLarge, SizeBytes: 300}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := decodeEntry(b); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

func FuzzDecodeDocumentRow(f *testing.F) {
	row := documentRow{count: 300, holders: []location{{1, 2}, {300, 70000}}}
	f.Add(row.append(nil))
	f.Add([]byte(strings.Repeat("\xff", 12)))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeDocumentRow(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeDocumentRow(d.append(nil))
		if err != nil || !reflect.DeepEqual(again, d) {
			t.Fatalf("%+v comes back as %+v: %v", d, again, err)
		}
	})
}
