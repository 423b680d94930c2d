package scip_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
)

// maxUploadMemory is the memory that one upload may take, as docs/format/scip.md states.
const maxUploadMemory = 100 << 20

// heapMeter measures the peak of the heap while an index is read and an object written.
type heapMeter struct {
	r     io.Reader
	base  uint64
	peak  uint64
	bytes int64 // of the object
	moved int   // since the last measurement
}

func newHeapMeter(r io.Reader) *heapMeter {
	runtime.GC()
	m := &heapMeter{r: r}
	m.measure()
	m.base, m.peak = m.peak, 0
	return m
}

func (m *heapMeter) measure() {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	m.peak = max(m.peak, s.HeapInuse)
}

func (m *heapMeter) count(n int) {
	if m.moved += n; m.moved >= 512<<10 {
		m.moved = 0
		m.measure()
	}
}

func (m *heapMeter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.count(n)
	return n, err
}

func (m *heapMeter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	m.count(len(p))
	return len(p), nil
}

// hostileShape generates an index piece by piece, so that the index itself is not in memory.
type hostileShape struct {
	// piece returns the parts of the index with number i; nil at the end.
	piece func(i int) message
	want  error // nil if the upload is accepted
}

// shapeReader reads a shape.
type shapeReader struct {
	shape hostileShape
	i     int
	left  message
}

func (r *shapeReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.left = r.shape.piece(r.i); r.left == nil {
			return 0, io.EOF
		}
		r.i++
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// external returns an external symbol with relationships.
func external(symbol string, targets ...string) message {
	m := message{}.Text(1, symbol)
	for _, target := range targets {
		m = m.Part(4, message{}.Text(1, target).Number(3, 1))
	}
	return message{}.Part(3, m)
}

// hostileShapes returns indexes of several tens of megabytes that are small in the file and
// large in memory, unless what they contain is charged or written to disk.
func hostileShapes() map[string]hostileShape {
	head := message{}.Part(1, sciptest.NewMetadata("x"))
	// many returns n parts after the metadata, in groups.
	many := func(n, group int, part func(i int) message) func(int) message {
		return func(i int) message {
			if i == 0 {
				return head
			}
			var out message
			for k := (i - 1) * group; k < min(i*group, n); k++ {
				out = append(out, part(k)...)
			}
			return out
		}
	}
	targets := make([]string, 9000)
	for i := range targets {
		targets[i] = fmt.Sprint("t ", i)
	}
	relations := external("", targets...)
	_, _, size := protowire.ConsumeField(relations)
	shared := relations[:size]
	long := strings.Repeat("n", scip.MaxNameBytes-20)
	name := func(i int) string { return fmt.Sprintf("s m p v %d", i) }
	// document returns one document with n copies of a field.
	document := func(n int, field func(i int) message) func(int) message {
		total := 0
		for i := range n {
			total += len(field(i))
		}
		path := message{}.Text(1, "a")
		const group = 100
		return func(i int) message {
			switch {
			case i == 0:
				return append(bytes.Clone(head), append(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), uint64(total+len(path))), path...)...)
			case (i-1)*group >= n:
				return nil
			}
			var out message
			for k := (i - 1) * group; k < min(i*group, n); k++ {
				out = append(out, field(k)...)
			}
			return out
		}
	}
	occurrence := func(symbol string) message { return message{}.Part(2, sciptest.NewOccurrence(symbol, 0, 0, 0, 1)) }
	return map[string]hostileShape{
		"relationships": {many(200, 1, func(i int) message {
			return message{}.Part(3, append(message{}.Text(1, name(i)), shared[relationshipsAt(shared):]...))
		}), nil},
		"relationships to one symbol":  {many(500_000, 1000, func(i int) message { return external(name(i), "t") }), nil},
		"relationships of a long name": {many(9000, 10, func(i int) message { return external(fmt.Sprint(long, i%1000), targets[:10]...) }), nil},
		"relationships to long names":  {many(8, 1, func(i int) message { return external(name(i), longNames(long, 1000)...) }), scip.ErrTooLarge},
		"external symbols":             {many(1_500_000, 1000, func(i int) message { return external(name(i)) }), nil},
		"long names":                   {many(8000, 10, func(i int) message { return external(fmt.Sprint(long, i)) }), nil},
		"long texts": {many(2000, 10, func(i int) message {
			return message{}.Part(3, message{}.Text(1, name(i)).Text(3, long+long).Text(6, long).Part(7, message{}.Text(5, long+long)))
		}), nil},
		"empty documents":              {many(200_000, 1000, func(i int) message { return message{}.Part(2, sciptest.NewDocument(fmt.Sprintf("%0100d", i))) }), nil},
		"documents with long paths":    {many(200_000, 100, func(i int) message { return message{}.Part(2, sciptest.NewDocument(fmt.Sprintf("%04000d", i))) }), scip.ErrTooLarge},
		"occurrences":                  {document(1_000_000, func(int) message { return occurrence("s") }), scip.ErrTooLarge},
		"occurrences of many symbols":  {document(300_000, func(i int) message { return occurrence(name(i)) }), scip.ErrTooLarge},
		"the most occurrences":         {document(590_000, func(int) message { return occurrence("s") }), nil},
		"symbols of a document":        {document(900_000, func(i int) message { return message{}.Part(3, message{}.Text(1, name(i))) }), nil},
		"local symbols of a document":  {document(500_000, func(i int) message { return message{}.Part(3, message{}.Text(1, fmt.Sprint("local ", i))) }), nil},
		"one symbol with a great text": {greatField(head, 3), scip.ErrTooLarge},
		"diagnostics": {document(6000, func(int) message {
			return message{}.Part(2, append(sciptest.NewOccurrence("s", 0, 0, 0, 1), message{}.Part(6, message{}.Text(3, strings.Repeat("x", 8<<10)))...))
		}), nil},
		"the text of a document": {greatField(head, 5), nil},
		"one name in documents and again": {many(50_000, 100, func(i int) message {
			return message{}.Part(2, sciptest.NewDocument(fmt.Sprint(i), occurrence(fmt.Sprint("s m p v ", strings.Repeat("n", 1000)))))
		}), nil},
	}
}

// greatField returns a document with one field of 60 MiB.
func greatField(head message, field protowire.Number) func(int) message {
	const size = 60 << 20
	text := message(strings.Repeat("x", 1<<20))
	return func(i int) message {
		switch {
		case i == 0:
			fields := protowire.AppendVarint(protowire.AppendTag(message{}.Text(1, "a"), field, protowire.BytesType), size)
			part := protowire.AppendVarint(protowire.AppendTag(bytes.Clone(head), 2, protowire.BytesType), uint64(len(fields)+size))
			return append(part, fields...)
		case i > size/len(text):
			return nil
		}
		return text
	}
}

// relationshipsAt returns the offset of the first relationship in an external symbol with an
// empty name.
func relationshipsAt(part message) int {
	_, _, n := protowire.ConsumeTag(part)
	_, m := protowire.ConsumeVarint(part[n:])
	return n + m + 2
}

func longNames(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

// TestHostileShapes checks that no shape of an index takes more memory than stated. It
// measures bytes of the heap, which the garbage collector lets grow to twice what is used.
func TestHostileShapes(t *testing.T) {
	percent := debug.SetGCPercent(100) // what servers run with
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	for name, shape := range hostileShapes() {
		t.Run(name, func(t *testing.T) {
			m := newHeapMeter(&shapeReader{shape: shape})
			b := builder{scip.NewBuilder(m, scip.Header{Repository: 7, Commit: "c0"}, scip.Limits{}), "x\n"}
			defer b.Close()
			err := scip.ReadIndex(m, scip.Limits{}, b)
			m.measure()
			if err == nil {
				_, _, _, err = b.Finish()
			}
			m.measure()
			runtime.KeepAlive(b)
			if !errors.Is(err, shape.want) {
				t.Errorf("%v, want %v", err, shape.want)
			}
			grown := int64(m.peak) - int64(m.base)
			t.Logf("%d MiB of memory, %d MiB of the object, %v", grown>>20, m.bytes>>20, err)
			if grown > maxUploadMemory {
				t.Errorf("the heap grew by %d MiB, want at most %d MiB", grown>>20, maxUploadMemory>>20)
			}
		})
	}
}

// TestSymbolsOnDisk builds an object whose records do not fit in memory, and reads each
// symbol with its documents, its description and the symbols that implement it.
func TestSymbolsOnDisk(t *testing.T) {
	const symbols, perDocument = 4000, 200
	name := func(i int) string { return fmt.Sprintf("s m p v%d %s%04d", i%3, strings.Repeat("n", 3000), i) }
	index := message{}.Part(1, sciptest.NewMetadata("x"))
	for d := range symbols / perDocument {
		document := message{}.Text(1, fmt.Sprint("f", d))
		for i := d * perDocument; i < (d+1)*perDocument; i++ {
			document = document.Part(2, sciptest.NewOccurrence(name(i), 1, 0, 0, 1)).Part(2, sciptest.NewOccurrence(name((i+perDocument)%symbols), 0, 0, 0, 1)).
				Part(3, message{}.Text(1, name(i)).Text(3, fmt.Sprint("text ", i)).Part(4, message{}.Text(1, name(i/2)).Number(3, 1)))
		}
		index = index.Part(2, document)
	}
	object, header, err := build(bytes.NewReader(index), "x\n", scip.Limits{Directory: t.TempDir()})
	if err != nil || header.Symbols != symbols {
		t.Fatalf("%+v, %v", header, err)
	}
	r := openObject(t, object)
	for i := 0; i < symbols; i += 37 {
		found, err := r.FindSymbols(name(i), false, 2)
		if err != nil || len(found) != 1 || len(found[0].Documents) != 2 {
			t.Fatalf("symbol %d: %d found, %v", i, len(found), err)
		}
		for _, d := range found[0].Documents {
			if want := d.Number == i/perDocument; d.Defined != want {
				t.Errorf("symbol %d: document %d, defined: %t", i, d.Number, d.Defined)
			}
		}
		if text, err := r.ReadInformation(&found[0]); err != nil || text == nil || text.Documentation != fmt.Sprint("text ", i) {
			t.Errorf("symbol %d: %v, %v", i, text, err)
		}
		implementers, err := r.Implementers(&found[0], 10)
		var got, want []string
		for k := range implementers {
			got = append(got, implementers[k].Name)
		}
		for _, k := range []int{2 * i, 2*i + 1} {
			if k < symbols {
				want = append(want, name(k))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("symbol %d has %d implementers, want %d, %v", i, len(got), len(want), err)
		}
	}
}
