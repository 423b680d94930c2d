package scip_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/schemas/code"
)

type message = sciptest.Message

const (
	potText = "package pot\n\nfunc Boil() {}\n\nfunc run() { é, 𝄞 := 1, 2; Boil() }\n"
	boil    = "scip-go gomod example.com/pot v1 `pot`/Boil()."
	kettle  = "scip-go gomod example.com/ware v2 `ware`/Kettle#"
	ware    = "scip-go gomod example.com/ware v2 `ware`/Ware#"
)

func potDocument() message {
	return message{}.Text(1, "pot.go").
		Part(2, sciptest.NewOccurrence(boil, 1, 2, 5, 9)).
		Part(2, sciptest.NewOccurrence(kettle, 0, 0, 8, 11)).
		Part(2, sciptest.NewOccurrence("local 0", 1, 4, 17, 4, 21)).
		Part(2, message{}.Part(8, message{}.Number(1, 4).Number(2, 32).Number(3, 36)).Text(2, boil)).
		Part(3, message{}.Text(1, boil).Text(3, "```go\nfunc Boil()\n```").Text(3, "Boil boils.").Part(4, message{}.Text(1, ware).Number(3, 1))).
		Part(3, message{}.Text(1, "local 0").Text(6, "note")).
		Number(6, 1)
}

func potIndex() message {
	return message{}.Part(1, sciptest.NewMetadata("scip-go")).Part(2, potDocument()).
		Part(3, message{}.Text(1, kettle).Part(7, message{}.Text(5, "type Kettle struct")))
}

// builder is a Visitor that adds every document with the same text.
type builder struct {
	*scip.Builder
	text string
}

func (b builder) VisitMetadata(m *scip.Metadata) error { b.SetTool(m); return nil }
func (b builder) VisitDocument(d *scip.Document) error {
	blob, err := code.ParseBlobID(strings.Repeat("ab", 20))
	if err != nil {
		return err
	}
	return b.AddDocument(d, d.Path, blob, []byte(b.text))
}
func (b builder) VisitExternal(i *scip.Information) error { return b.AddExternal(i) }

// build converts an index to an object.
func build(r io.Reader, text string, l scip.Limits) ([]byte, scip.Header, error) {
	var object bytes.Buffer
	b := builder{scip.NewBuilder(&object, scip.Header{Repository: 7, Commit: "c0"}, l), text}
	defer b.Close()
	if err := scip.ReadIndex(r, l, b); err != nil {
		return nil, scip.Header{}, err
	}
	h, size, _, err := b.Finish()
	if err == nil && size != int64(object.Len()) {
		err = fmt.Errorf("Finish reports %d bytes of %d", size, object.Len())
	}
	return object.Bytes(), h, err
}

func openObject(t *testing.T, object []byte) *scip.Reader {
	t.Helper()
	r, err := scip.Open(bytes.NewReader(object), int64(len(object)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	object, header, err := build(iotest.OneByteReader(bytes.NewReader(potIndex())), potText, scip.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := scip.Header{Repository: 7, Commit: "c0", Tool: "scip-go", ToolVersion: "v1", Documents: 1, Occurrences: 4, Symbols: 3}
	if header != want {
		t.Errorf("header %+v, want %+v", header, want)
	}
	r := openObject(t, object)
	number, ok := r.FindDocument("pot.go")
	if !ok || r.Header() != want || r.DocumentPath(number) != "pot.go" {
		t.Fatalf("document %d, %t, header %+v", number, ok, r.Header())
	}
	c, err := r.ReadContents(number)
	if err != nil {
		t.Fatal(err)
	}
	places := []scip.Occurrence{
		{Start: scip.Point{0, 8}, End: scip.Point{0, 11}, Symbol: kettle},
		{Start: scip.Point{2, 5}, End: scip.Point{2, 9}, Symbol: boil, Roles: scip.RoleDefinition},
		{Start: scip.Point{4, 17}, End: scip.Point{4, 21}, Symbol: "local 0", Roles: scip.RoleDefinition},
		{Start: scip.Point{4, 32}, End: scip.Point{4, 36}, Symbol: boil},
	}
	if !slices.Equal(c.Occurrences, places) {
		t.Errorf("occurrences %+v, want %+v", c.Occurrences, places)
	}
	if !slices.Equal(c.Lines, scip.HashLines([]byte(potText))) {
		t.Error("the lines have other hashes than those of the text")
	}
	found, err := r.FindSymbols(boil, false, 10)
	if err != nil || len(found) != 1 || !slices.Equal(found[0].Documents, []scip.DocumentUse{{number, true}}) {
		t.Fatalf("found %+v, %v", found, err)
	}
	i, err := r.ReadInformation(&found[0])
	if err != nil || i.Signature != "func Boil()" || i.Documentation != "Boil boils." {
		t.Errorf("information %+v, %v", i, err)
	}
	if found, err = r.FindSymbols(ware, false, 10); err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	if found, err = r.Implementers(&found[0], 10); err != nil || len(found) != 1 || found[0].Name != boil {
		t.Errorf("implementers %+v, %v", found, err)
	}
	if i, err = r.ReadLocalInformation(number, "local 0"); err != nil || i.DisplayName != "note" {
		t.Errorf("local information %+v, %v", i, err)
	}
	if found, err = r.FindSymbols(kettle, false, 10); err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	if i, err = r.ReadInformation(&found[0]); err != nil || i.Signature != "type Kettle struct" {
		t.Errorf("information %+v, %v", i, err)
	}
}

// TestEncodings checks that columns are returned in bytes, regardless of the unit of the
// index.
func TestEncodings(t *testing.T) {
	const text = "é𝄞 Boil\n"
	for _, c := range []struct {
		tool       string
		encoding   uint64
		start, end uint64
	}{
		{"scip-go", 0, 7, 11}, {"scip-typescript", 0, 4, 8}, {"x", 1, 7, 11}, {"x", 2, 4, 8}, {"scip-typescript", 3, 3, 7},
	} {
		index := message{}.Part(1, sciptest.NewMetadata(c.tool)).Part(2, message{}.Part(2, sciptest.NewOccurrence(boil, 1, 0, c.start, c.end)).Text(1, "a").Number(6, c.encoding))
		object, _, err := build(bytes.NewReader(index), text, scip.Limits{})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		contents, err := openObject(t, object).ReadContents(0)
		if err != nil {
			t.Fatal(err)
		}
		if o := contents.Occurrences[0]; text[o.Start.Column:o.End.Column] != "Boil" {
			t.Errorf("%+v: %+v", c, o)
		}
	}
}

// TestTruncated cuts an index at each byte: it is valid only if cut between two parts.
func TestTruncated(t *testing.T) {
	index := potIndex()
	ends := map[int]bool{}
	for rest := []byte(index); len(rest) > 0; {
		_, _, n := protowire.ConsumeField(rest)
		rest = rest[n:]
		ends[len(index)-len(rest)] = true
	}
	for n := range index {
		_, _, err := build(bytes.NewReader(index[:n]), potText, scip.Limits{})
		if ends[n] != (err == nil) || err != nil && !errors.Is(err, scip.ErrInvalid) {
			t.Errorf("%d of %d bytes: %v", n, len(index), err)
		}
	}
}

func TestHostileIndexes(t *testing.T) {
	m := message{}.Part(1, sciptest.NewMetadata("x"))
	document := func(parts ...message) message {
		d := message{}.Text(1, "a")
		for _, p := range parts {
			d = append(d, p...)
		}
		return append(slices.Clone(m), message{}.Part(2, d)...)
	}
	small := scip.Limits{MaxBytes: 4096, MaxDocuments: 2, MaxDocumentBytes: 1024, MaxOccurrences: 2, MaxSymbols: 2, MaxSymbolBytes: 60}
	o := func(symbol string) message { return message{}.Part(2, sciptest.NewOccurrence(symbol, 0, 0, 0, 1)) }
	for name, c := range map[string]struct {
		index message
		want  error
	}{
		"empty":                     {nil, scip.ErrInvalid},
		"text":                      {message("this is no index at all\n"), scip.ErrInvalid},
		"no metadata":               {message{}.Part(2, potDocument()), scip.ErrInvalid},
		"metadata twice":            {slices.Concat(m, m), scip.ErrInvalid},
		"a group":                   {append(slices.Clone(m), 0x13), scip.ErrInvalid},
		"endless number":            {bytes.Repeat([]byte{0xff}, 20), scip.ErrInvalid},
		"announces a gigabyte":      {protowire.AppendVarint(append(slices.Clone(m), 0x12), 1<<30), scip.ErrTooLarge},
		"announces the most":        {protowire.AppendVarint(append(slices.Clone(m), 0x12), 1<<64-1), scip.ErrTooLarge},
		"no path":                   {append(slices.Clone(m), message{}.Part(2, o("s"))...), scip.ErrInvalid},
		"the same path twice":       {append(document(), document()[len(m):]...), scip.ErrInvalid},
		"three documents":           {append(document(), slices.Concat(message{}.Part(2, message{}.Text(1, "b")), message{}.Part(2, message{}.Text(1, "c")))...), scip.ErrTooLarge},
		"three occurrences":         {document(o("s"), o("s"), o("s")), scip.ErrTooLarge},
		"three symbols":             {append(document(o("s"), o("t")), message{}.Part(2, append(message{}.Text(1, "b"), o("u")...))...), scip.ErrTooLarge},
		"long names":                {document(o(strings.Repeat("s", 61))), scip.ErrTooLarge},
		"a name that is not UTF-8":  {document(o("s\xff")), scip.ErrInvalid},
		"a name of two lines":       {document(o("s\nt")), scip.ErrInvalid},
		"a line beyond the file":    {document(message{}.Part(2, sciptest.NewOccurrence("s", 0, 9, 0, 1))), scip.ErrInvalid},
		"a column beyond the line":  {document(message{}.Part(2, sciptest.NewOccurrence("s", 0, 0, 0, 99))), scip.ErrInvalid},
		"a negative line":           {document(message{}.Part(2, sciptest.NewOccurrence("s", 0, 1<<64-1, 0, 1))), scip.ErrInvalid},
		"a range backwards":         {document(message{}.Part(2, sciptest.NewOccurrence("s", 0, 0, 2, 1))), scip.ErrInvalid},
		"a range of five":           {document(message{}.Part(2, sciptest.NewOccurrence("s", 0, 0, 0, 0, 1, 1))), scip.ErrInvalid},
		"a range of none":           {document(message{}.Part(2, sciptest.NewOccurrence("s", 0))), scip.ErrInvalid},
		"an unknown encoding":       {document(message{}.Number(6, 9)), scip.ErrInvalid},
		"a symbol without a name":   {document(message{}.Part(3, message{}.Text(6, "x"))), scip.ErrInvalid},
		"a group in a document":     {document(message{0x13, 0x14}), scip.ErrInvalid},
		"more bytes than the limit": {append(slices.Clone(m), bytes.Repeat(message{}.Number(15, 1), 3000)...), scip.ErrTooLarge},
	} {
		if _, _, err := build(bytes.NewReader(c.index), "0123456789\n", small); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	broken := errors.New("the connection broke")
	if _, _, err := build(io.MultiReader(bytes.NewReader(potIndex()[:40]), iotest.ErrReader(broken)), potText, scip.Limits{}); !errors.Is(err, broken) || errors.Is(err, scip.ErrInvalid) {
		t.Errorf("a broken connection: %v", err)
	}
}

// TestDamagedObject flips each byte of an object: reads return either the written contents
// or ErrCorrupt.
func TestDamagedObject(t *testing.T) {
	object, _, err := build(bytes.NewReader(potIndex()), potText, scip.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range object {
		damaged := slices.Clone(object)
		damaged[n] ^= 0x55
		r, err := scip.Open(bytes.NewReader(damaged), int64(len(damaged)))
		if err == nil {
			_, errA := r.ReadContents(0)
			_, errB := r.FindSymbols(boil, false, 10)
			_, errC := r.ReadLocalInformation(0, "none")
			err = errors.Join(errA, errB, errC)
		}
		if err != nil && !errors.Is(err, scip.ErrCorrupt) {
			t.Fatalf("byte %d: %v", n, err)
		}
	}
}

// TestManySymbols finds each of thousands of symbols by exact name and in any version.
func TestManySymbols(t *testing.T) {
	name := func(i int, version string) string {
		return fmt.Sprintf("scip-go gomod example.com/m  w %s `p`/F%05d().", version, i)
	}
	index := message{}.Part(1, sciptest.NewMetadata("scip-go"))
	for i := range 20 {
		d := message{}.Text(1, fmt.Sprintf("f%d", i))
		for k := range 100 {
			d = d.Part(2, sciptest.NewOccurrence(name(100*i+k, "v1"), 1, 0, 0, 1)).Part(2, sciptest.NewOccurrence(name(100*i+k, "v2"), 0, 0, 0, 1))
		}
		index = index.Part(2, d)
	}
	object, _, err := build(bytes.NewReader(index), "x\n", scip.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := openObject(t, object)
	for i := range 2000 {
		exact, errA := r.FindSymbols(name(i, "v2"), false, 10)
		all, errB := r.FindSymbols(name(i, "v7"), true, 10)
		if errA != nil || errB != nil || len(exact) != 1 || exact[0].Name != name(i, "v2") || len(all) != 2 || !all[0].Documents[0].Defined {
			t.Fatalf("symbol %d: %+v, %v; %+v, %v", i, exact, errA, all, errB)
		}
	}
	if none, err := r.FindSymbols(name(1, "v3"), false, 10); err != nil || len(none) > 0 {
		t.Errorf("found %+v, %v", none, err)
	}
}

func TestMapLines(t *testing.T) {
	for _, c := range []struct{ old, later, want string }{
		{"abc", "abc", "012"},
		{"abc", "xabc", "123"},
		{"abc", "axc", "0-2"},
		{"a}b}c}", "a}X}b}c}", "014567"},
		{"abcdef", "defabc", "---012"},
		{"", "abc", ""},
		{"abc", "", "---"},
		{"}}}", "}}", "01-"},
	} {
		var got strings.Builder
		for _, n := range scip.MapLines(scip.HashLines(lines(c.old)), scip.HashLines(lines(c.later))) {
			if n < 0 {
				got.WriteByte('-')
			} else {
				fmt.Fprint(&got, n)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s to %s: %s, want %s", c.old, c.later, got.String(), c.want)
		}
	}
}

// lines puts each byte of s on its own line.
func lines(s string) []byte {
	var b []byte
	for i := range len(s) {
		b = append(b, s[i], '\n')
	}
	return b
}

// hostileMessages returns indexes whose messages are nested too deeply or have lengths that
// do not match the bytes that follow.
func hostileMessages() map[string]message {
	head := sciptest.NewIndex("scip-go")
	lie := func(field protowire.Number, size uint64, b message) message {
		return append(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), size), b...)
	}
	with := func(b message) message { return append(slices.Clone(head), b...) }
	out := map[string]message{
		"a document longer than the index":            with(lie(2, 1<<20, potDocument())),
		"a document shorter than its fields":          with(lie(2, 3, potDocument())),
		"an occurrence longer than its document":      with(message{}.Part(2, append(message{}.Text(1, "a"), lie(2, 1<<20, nil)...))),
		"an occurrence of the most bytes":             with(message{}.Part(2, append(message{}.Text(1, "a"), lie(2, 1<<64-1, nil)...))),
		"a symbol longer than its occurrence":         with(message{}.Part(2, append(message{}.Text(1, "a"), message{}.Part(2, lie(2, 1<<62, nil))...))),
		"a range longer than its occurrence":          with(message{}.Part(2, append(message{}.Text(1, "a"), message{}.Part(2, lie(1, 9, message{0}))...))),
		"a relationship longer than its symbol":       with(message{}.Part(3, append(message{}.Text(1, "s"), lie(4, 1<<31, nil)...))),
		"metadata longer than the index":              lie(1, 1<<40, nil),
		"a tool longer than its metadata":             message{}.Part(1, message{}.Part(2, lie(1, 1<<33, nil))),
		"a part of an unknown field without its text": with(lie(15, 1<<18, nil)),
	}
	for _, field := range []protowire.Number{1, 2, 3, 4, 7, 15} {
		nested := message{}.Text(field, "x")
		for range 400 {
			nested = message{}.Part(field, nested)
		}
		out[fmt.Sprintf("field %d in itself, 400 deep", field)] = with(message{}.Part(2, append(message{}.Text(1, "a"), nested...)))
		out[fmt.Sprintf("field %d in itself, 400 deep, of an external symbol", field)] = with(message{}.Part(3, append(message{}.Text(1, "s"), nested...)))
	}
	out["groups in one another"] = with(message(bytes.Repeat([]byte{0x13}, 1<<16)))
	return out
}

// TestHostileMessages checks that hostile messages take memory only in proportion to their
// size, and that those with wrong lengths are rejected.
func TestHostileMessages(t *testing.T) {
	for name, m := range hostileMessages() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := build(bytes.NewReader(m), potText, scip.Limits{})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes of memory for an index of %d", name, n, len(m))
		}
		if deep := strings.Contains(name, "deep"); !deep && err == nil || err != nil && !errors.Is(err, scip.ErrInvalid) && !errors.Is(err, scip.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadIndex(f *testing.F) {
	f.Add([]byte(potIndex()))
	for _, m := range hostileMessages() {
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		small := scip.Limits{MaxBytes: 1 << 20, MaxDocumentBytes: 1 << 18}
		object, _, err := build(bytes.NewReader(index), potText, small)
		if err != nil {
			if !errors.Is(err, scip.ErrInvalid) && !errors.Is(err, scip.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		r := openObject(t, object)
		for n := range r.Header().Documents {
			if _, err := r.ReadContents(n); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	object, _, err := build(bytes.NewReader(potIndex()), potText, scip.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(object)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := scip.Open(bytes.NewReader(b), int64(len(b))); err != nil && !errors.Is(err, scip.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
