package indexer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/schemas/code"
)

// readingAt returns the i'th reading and its key.
func readingAt(i int) (readingKey, reading) {
	k := keyOfReading(code.BlobID{byte(i), byte(i >> 8), byte(i >> 16), 7}, fmt.Sprint("class", i%3))
	if i%5 == 0 {
		return k, reading{skipped: code.SkipBinary}
	}
	return k, reading{Reading: analyze.Reading{Language: code.Language(fmt.Sprint("Language ", i%7)), Generated: i%2 == 0}}
}

// table is a readings table together with the readings added to it.
type table struct {
	*testing.T
	readings
	added int
}

func newTable(t *testing.T) *table {
	dir := t.TempDir()
	return &table{T: t, readings: readings{filepath.Join(dir, "readings"), filepath.Join(dir, "readings.tail"), maxReadings}}
}

// fill adds n readings more.
func (t *table) fill(n int) {
	t.Helper()
	news := map[readingKey]reading{}
	for range n {
		k, r := readingAt(t.added)
		news[k], t.added = r, t.added+1
	}
	if err := t.add(news); err != nil {
		t.Fatal(err)
	}
}

// count looks up the readings added in a range, and as many unknown keys, and returns how
// many it found. It fails if a reading differs from the one added.
func (t *table) count(from, to int) int {
	t.Helper()
	keys, want := map[readingKey]struct{}{}, map[readingKey]reading{}
	for i := from; i < to; i++ {
		k, r := readingAt(i)
		strange, _ := readingAt(i + 1<<20)
		keys[k], keys[strange], want[k] = struct{}{}, struct{}{}, r
	}
	found := map[readingKey]bool{}
	if err := t.findReadings(keys, func(k readingKey, r reading) {
		if w, ok := want[k]; !ok || w != r {
			t.Errorf("found %+v under %x, want %+v", r, k, w)
		}
		found[k] = true
	}); err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestReadingsAreFoundAgain adds few and many readings, so that both files have some, and
// looks up few and all of them.
func TestReadingsAreFoundAgain(t *testing.T) {
	b := newTable(t)
	if n := b.count(0, 3); n != 0 {
		t.Errorf("%d found in no file", n)
	}
	for _, n := range []int{1, 10, readingsUnsorted / readingBytes, 17} {
		b.fill(n)
		if got := b.count(0, b.added); got != b.added {
			t.Errorf("%d of %d found", got, b.added)
		}
	}
	if fileSize(b.sorted) == 0 || fileSize(b.unsorted) != 17*readingBytes {
		t.Errorf("the files have %d and %d bytes", fileSize(b.sorted), fileSize(b.unsorted))
	}
	for i := range b.added / 100 {
		if got := b.count(100*i, 100*i+1); got != 1 {
			t.Fatalf("reading %d is not found by itself", 100*i)
		}
	}
	if err := b.removeFiles(); err != nil || b.count(0, b.added) != 0 {
		t.Errorf("after removal: %v", err)
	}
}

// TestDamagedReadingsDoNotCount flips bits in both files and truncates them: readings
// that are found are correct, and a merged file contains no damaged ones.
func TestDamagedReadingsDoNotCount(t *testing.T) {
	const unsorted = 100
	b := newTable(t)
	b.fill(readingsUnsorted/readingBytes + 1)
	b.fill(unsorted)
	rng := rand.New(rand.NewPCG(1, 22))
	damaged := map[string]map[int]bool{}
	for _, path := range []string{b.sorted, b.unsorted} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged[path] = map[int]bool{}
		for range 40 {
			at := rng.IntN(len(content))
			content[at] ^= 1 << rng.IntN(8)
			damaged[path][at/readingBytes] = true
		}
		if err := os.WriteFile(path, append(content, "torn"...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	intact := b.added - len(damaged[b.sorted]) - len(damaged[b.unsorted])
	if got := b.count(0, b.added); got < intact || got == b.added {
		t.Errorf("%d found, %d are intact of %d", got, intact, b.added)
	}
	for i := range b.added {
		b.count(i, i+1) // by binary search, which a damaged key may lead astray
	}
	b.fill(2 * readingsUnsorted / readingBytes) // overwrites torn records, and merges
	content, err := os.ReadFile(b.sorted)
	if err != nil || fileSize(b.unsorted) != 0 || len(content)%readingBytes != 0 {
		t.Fatalf("%d bytes, %d not merged, %v", len(content), fileSize(b.unsorted), err)
	}
	for last := []byte(nil); len(content) > 0; content = content[readingBytes:] {
		if _, ok := parseReading(content[:readingBytes]); !ok || bytes.Compare(last, content[:readingKeyLen]) >= 0 {
			t.Fatalf("the merged file has a record that is damaged or out of order")
		}
		last = content[:readingKeyLen]
	}
}

// TestFullReadingsStayAsTheyAre fills the table: it does not grow, and its readings are
// found.
func TestFullReadingsStayAsTheyAre(t *testing.T) {
	b := newTable(t)
	b.most = 5000
	b.fill(4000)
	b.fill(900)
	for range 3 {
		b.fill(101) // they do not all fit and are left out
	}
	if size := fileSize(b.sorted) + fileSize(b.unsorted); size != 4900*readingBytes {
		t.Errorf("%d bytes, want %d", size, 4900*readingBytes)
	}
	if got := b.count(0, b.added); got != 4900 {
		t.Errorf("%d found of the 4,900 that fit", got)
	}
	b.fill(100)
	if got := b.count(0, b.added); got != 5000 {
		t.Errorf("%d found of the 5,000 that fit", got)
	}
}

// TestLostReadingsCostReadingAgain damages the table of a mirror: a push of a file that
// another branch contains reads the file again, and is correct.
func TestLostReadingsCostReadingAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	b.registerRepository()
	branchAt(b.repo, "one", "main")
	b.repo.CommitFiles("b.go", largeText(1))
	b.must(b.pushOf("one", 2))
	table := readingsOf(b.mirrors.Mirror(b.code.ID))
	if fileSize(table.unsorted) == 0 {
		t.Fatal("no readings are kept")
	}
	if err := os.WriteFile(table.unsorted, bytes.Repeat([]byte{0xa5}, 5*readingBytes+3), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, branch := range []string{"two", "three"} {
		branchAt(b.repo, branch, "main")
		b.repo.CommitFiles("b.go", largeText(1))
		c := b.measureCosts(func() { b.must(b.pushOf(branch, int64(3+i))) })
		if read := c.readBytes > 100_000; read != (branch == "two") {
			t.Errorf("%s: %d bytes read", branch, c.readBytes)
		}
	}
	b.check("main", "one", "two", "three")
}
