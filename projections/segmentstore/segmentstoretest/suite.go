// Package segmentstoretest contains the conformance suite that every driver of the
// segment store must pass.
//
// It answers the question "does this driver fulfill the contract of segmentstore.Store?".
// A driver's test calls Run with a function that opens an empty store. The suite starts
// goroutines only inside a test and waits for them. It does not test durability, which
// would require a crash of the driver's medium.
package segmentstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Run runs the suite. open returns an empty store, and is called once for each test.
func Run(t *testing.T, open func(t *testing.T) segmentstore.Driver) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s segmentstore.Driver)
	}{
		{"put and get", testPutGet},
		{"put takes the file", testPutTakes},
		{"put twice", testPutTwice},
		{"fetch", testFetch},
		{"not found", testNotFound},
		{"bounds", testBounds},
		{"delete", testDelete},
		{"list", testList},
		{"names", testNames},
		{"check and quarantine", testQuarantine},
		{"canceled", testCanceled},
		{"concurrent", testConcurrent},
		{"folder", testFolder},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

var ctx = context.Background()

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tempFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "object")
	must(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func wantBytes(t *testing.T, s segmentstore.Store, name, want string) {
	t.Helper()
	got, err := s.GetBytes(ctx, name, 1<<20)
	must(t, err)
	if string(got) != want {
		t.Fatalf("%s holds %q, want %q", name, got, want)
	}
}

func testPutGet(t *testing.T, s segmentstore.Driver) {
	for i, content := range []string{"", "a", strings.Repeat("0123456789abcdef", 10000)} {
		name := fmt.Sprintf("object-%d", i)
		must(t, s.PutBytes(ctx, name, []byte(content)))
		wantBytes(t, s, name, content)
	}
}

func testPutTakes(t *testing.T, s segmentstore.Driver) {
	path := tempFile(t, "content")
	must(t, s.Put(ctx, "a", path))
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the file is still there: %v", err)
	}
	wantBytes(t, s, "a", "content")
}

func testPutTwice(t *testing.T, s segmentstore.Driver) {
	must(t, s.PutBytes(ctx, "a", []byte("first")))
	must(t, s.PutBytes(ctx, "a", []byte("second")))
	path := tempFile(t, "third")
	must(t, s.Put(ctx, "a", path))
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the file is still there: %v", err)
	}
	wantBytes(t, s, "a", "first")
}

func testFetch(t *testing.T, s segmentstore.Driver) {
	must(t, s.PutBytes(ctx, "a", []byte("content")))
	path := filepath.Join(t.TempDir(), "fetched")
	must(t, s.Fetch(ctx, "a", path))
	got, err := os.ReadFile(path)
	must(t, err)
	if string(got) != "content" {
		t.Fatalf("fetched %q", got)
	}
	if err := s.Fetch(ctx, "a", path); err == nil {
		t.Fatal("fetched over a file")
	}
	must(t, os.Remove(path))
	wantBytes(t, s, "a", "content")
	must(t, s.Fetch(ctx, "a", path))
	must(t, s.Delete(ctx, "a"))
	if got, err = os.ReadFile(path); err != nil || string(got) != "content" {
		t.Fatalf("after the object's end the file holds %q, %v", got, err)
	}
}

func testNotFound(t *testing.T, s segmentstore.Driver) {
	path := filepath.Join(t.TempDir(), "fetched")
	if err := s.Fetch(ctx, "a", path); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("fetch: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a failed fetch left a file: %v", err)
	}
	if _, err := s.GetBytes(ctx, "a", 1); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("get: %v", err)
	}
	if err := s.Put(ctx, "a", path); err == nil {
		t.Fatal("put a file that is not there")
	}
	if _, err := s.GetBytes(ctx, "a", 1); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("get after a failed put: %v", err)
	}
}

func testBounds(t *testing.T, s segmentstore.Driver) {
	must(t, s.PutBytes(ctx, "a", []byte("12345")))
	if _, err := s.GetBytes(ctx, "a", 4); !errors.Is(err, segmentstore.ErrTooLarge) {
		t.Fatalf("get of 5 bytes into 4: %v", err)
	}
	if b, err := s.GetBytes(ctx, "a", 5); err != nil || len(b) != 5 {
		t.Fatalf("get of 5 bytes into 5: %q, %v", b, err)
	}
}

func testDelete(t *testing.T, s segmentstore.Driver) {
	must(t, s.PutBytes(ctx, "a", []byte("1")))
	must(t, s.PutBytes(ctx, "b", []byte("2")))
	must(t, s.Delete(ctx, "a"))
	must(t, s.Delete(ctx, "a"))
	if _, err := s.GetBytes(ctx, "a", 9); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("get: %v", err)
	}
	wantBytes(t, s, "b", "2")
	must(t, s.PutBytes(ctx, "a", []byte("again")))
	wantBytes(t, s, "a", "again")
}

func listNames(t *testing.T, s segmentstore.Store) string {
	t.Helper()
	var b bytes.Buffer
	for info, err := range s.List(ctx) {
		must(t, err)
		fmt.Fprintf(&b, "%s=%d ", info.Name, info.SizeBytes)
	}
	return b.String()
}

func testList(t *testing.T, s segmentstore.Driver) {
	if got := listNames(t, s); got != "" {
		t.Fatalf("an empty store lists %q", got)
	}
	for _, name := range []string{"b", "a-2", "a", "c"} {
		must(t, s.PutBytes(ctx, name, []byte(name)))
	}
	must(t, s.Delete(ctx, "c"))
	if got := listNames(t, s); got != "a=1 a-2=3 b=1 " {
		t.Fatalf("list: %q", got)
	}
	for info, err := range s.List(ctx) {
		must(t, err)
		if info.Name != "a" {
			t.Fatalf("first is %q", info.Name)
		}
		break
	}
}

func testNames(t *testing.T, s segmentstore.Driver) {
	for _, name := range []string{"", ".", "..", "../a", "a/b", "/a", "A", "~a", "-a", "a b", "a\x00", "é", strings.Repeat("a", segmentstore.MaxNameBytes+1)} {
		path := tempFile(t, "x")
		for verb, err := range map[string]error{
			"put":       s.Put(ctx, name, path),
			"put bytes": s.PutBytes(ctx, name, nil),
			"fetch":     s.Fetch(ctx, name, path+".out"),
			"get":       errorOf(s.GetBytes(ctx, name, 1)),
			"delete":    s.Delete(ctx, name),
		} {
			if !errors.Is(err, segmentstore.ErrName) {
				t.Errorf("%s %q: %v, want ErrName", verb, name, err)
			}
		}
	}
	must(t, s.PutBytes(ctx, "a"+strings.Repeat("z", segmentstore.MaxNameBytes-1), nil))
}

func errorOf(_ []byte, err error) error { return err }

func testCanceled(t *testing.T, s segmentstore.Driver) {
	must(t, s.PutBytes(ctx, "a", []byte("1")))
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	path := tempFile(t, "x")
	for verb, err := range map[string]error{
		"put bytes": s.PutBytes(canceled, "b", nil),
		"put":       s.Put(canceled, "b", path),
		"fetch":     s.Fetch(canceled, "a", path+".out"),
		"get":       errorOf(s.GetBytes(canceled, "a", 9)),
		"delete":    s.Delete(canceled, "a"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", verb, err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a canceled put took the file: %v", err)
	}
	wantBytes(t, s, "a", "1")
}

// testQuarantine damages a manifest, whose name is its checksum. It must be removed, and
// an intact copy can then be stored under its name.
func testQuarantine(t *testing.T, s segmentstore.Driver) {
	name, good, err := segmentstore.EncodeChanges([]event.Change{{Path: "a.go", Language: "Go", SizeBytes: 3}})
	must(t, err)
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 8
	must(t, s.PutBytes(ctx, name, bad))
	if err := s.Check(ctx, name, nil); !errors.Is(err, segmentstore.ErrCorrupt) {
		t.Fatalf("check of a damaged object: %v", err)
	}
	if moved, err := s.Quarantine(ctx, name); !moved || err != nil {
		t.Fatalf("quarantine: %v, %v", moved, err)
	}
	if err := s.Check(ctx, name, nil); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("check of an object in quarantine: %v", err)
	}
	if got := listNames(t, s); got != "" {
		t.Fatalf("list: %q", got)
	}
	if moved, err := s.Quarantine(ctx, name); moved || err != nil {
		t.Fatalf("quarantine of what is not there: %v, %v", moved, err)
	}
	must(t, s.PutBytes(ctx, name, good))
	must(t, s.Check(ctx, name, nil))
	if moved, err := s.Quarantine(ctx, name); moved || err != nil {
		t.Fatalf("quarantine of an intact object: %v, %v", moved, err)
	}
	wantBytes(t, s, name, string(good))
}

// testFolder checks that a folder is a store of its objects alone, with the identity of the
// store around it.
func testFolder(t *testing.T, s segmentstore.Driver) {
	id := strings.Repeat("0123456789abcdef", 2)
	must(t, s.WriteIdentity(ctx, id))
	s.RequireIdentity(id)
	f := s.Folder("below")
	if got := listNames(t, f); got != "" {
		t.Fatalf("a new folder lists %q", got)
	}
	must(t, s.PutBytes(ctx, "a", []byte("outside")))
	must(t, f.PutBytes(ctx, "a", []byte("inside")))
	must(t, f.Put(ctx, "b", tempFile(t, "file")))
	release := s.Hold()
	must(t, f.Delete(ctx, "b"))
	release()
	wantBytes(t, s, "a", "outside")
	if b, err := f.GetBytes(ctx, "a", 9); err != nil || string(b) != "inside" {
		t.Fatalf("get: %q, %v", b, err)
	}
	if got := listNames(t, f); got != "a=6 " {
		t.Fatalf("the folder lists %q", got)
	}
	must(t, s.Delete(ctx, "a"))
	if got := listNames(t, s); strings.Contains(got, "below") || strings.Contains(got, "a=") {
		t.Fatalf("the store lists %q", got)
	}
	s.RequireIdentity(strings.Repeat("f", 32))
	if _, err := f.GetBytes(ctx, "absent", 9); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Fatalf("get from the folder of another store: %v, want %v", err, segmentstore.ErrOtherStore)
	}
}

// testConcurrent runs writers of the same objects concurrently with readers: an object
// must be either absent or complete.
func testConcurrent(t *testing.T, s segmentstore.Driver) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	dir := t.TempDir()
	var g errgroup.Group
	for w := range 4 {
		g.Go(func() error {
			for i := range 20 {
				name := fmt.Sprintf("object-%d", i)
				if err := s.PutBytes(ctx, name, content); err != nil {
					return err
				}
				path := filepath.Join(dir, fmt.Sprintf("%d-%d", w, i))
				if err := s.Fetch(ctx, name, path); err != nil {
					return err
				}
				if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
					return fmt.Errorf("fetched %d bytes of %s: %w", len(got), name, err)
				}
			}
			return nil
		})
	}
	must(t, g.Wait())
}
