package jsonout

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// reference returns the output of encoding/json for a string.
func reference(t testing.TB, s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var samples = []string{
	"", "plain", `a "quoted" \ path`, "<b>&amp;</b>", "\x00\x01\x1f\x7f\b\f\n\r\t", "naïve 世界 \U0001f600", "\u2028\u2029\u202a", "\ufffd",
	"\xff", "a\xe2\x82", "\xe2\x82\xac\xe2", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "12345678\"", "1234567\x01", "\x1f\x20\x21\x22\x23\x24\x25\x26",
	"\x21\x20\x1f\x20\x21\x20\x1f\x20", "!\"!\"!\"!\"", "[\\]\\[\\]\\", strings.Repeat("\x80", 9),
}

func TestStringsAreThoseOfEncodingJSON(t *testing.T) {
	for _, s := range samples {
		for _, pad := range []string{"", "1", "1234567", "12345678", "é"} {
			for _, s := range []string{pad + s, s + pad} {
				if got, want := string(AppendString(nil, s)), reference(t, s); got != want {
					t.Errorf("%q: %s, want %s", s, got, want)
				}
			}
		}
	}
	for c := range 256 {
		for at := range 9 {
			s := []byte("abcdefghi")
			s[at] = byte(c)
			if got, want := string(AppendString(nil, string(s))), reference(t, string(s)); got != want {
				t.Errorf("%q: %s, want %s", s, got, want)
			}
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		want := reference(t, string(s))
		if got := string(AppendString(nil, string(s))); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
		for n := utf8.UTFMax; n < len(s); n++ {
			at := cutBoundary(s, n)
			if at > n || at <= n-4 || string(appendText(AppendString(nil, "")[:1], s[:at]))+string(appendText(nil, s[at:]))+`"` != want {
				t.Errorf("%q cut at %d for %d changes", s, at, n)
			}
		}
	})
}

// pieces records writes, and fails from the given piece on.
type pieces struct {
	sizes  []int
	text   bytes.Buffer
	broken int
}

var errBroken = errors.New("broken")

func (p *pieces) Write(b []byte) (int, error) {
	if p.broken > 0 && len(p.sizes)+1 >= p.broken {
		return 0, errBroken
	}
	p.sizes = append(p.sizes, len(b))
	return p.text.Write(b)
}

func TestLargeTextLeavesInBoundedPieces(t *testing.T) {
	for _, unit := range []string{"\x01", "é", "plain text. ", "\xff\x80", "\u2028"} {
		text := strings.Repeat(unit, 3<<20/len(unit))
		p := &pieces{}
		o := New(p)
		o.Text([]byte(text))
		if _, whole := o.Whole(); whole {
			t.Errorf("%q: no piece has left", unit)
		}
		if err := o.Flush(); err != nil {
			t.Fatal(err)
		}
		o.Free()
		for _, n := range p.sizes {
			if n > PieceBytes+maxGrowth {
				t.Errorf("%q: a piece of %d bytes", unit, n)
			}
		}
		if p.text.String() != reference(t, text) {
			t.Errorf("%q: pieces do not make the string", unit)
		}
	}
}

func TestNothingIsWrittenAfterAnError(t *testing.T) {
	p := &pieces{broken: 2}
	o := New(p)
	defer o.Free()
	for range 5 {
		o.Text(bytes.Repeat([]byte("x"), 2*PieceBytes))
	}
	if err := o.Flush(); !errors.Is(err, errBroken) || !errors.Is(o.Err(), errBroken) || len(p.sizes) != 1 {
		t.Errorf("%v after %v", err, p.sizes)
	}
}

func TestValuesStandAsTheyAreGiven(t *testing.T) {
	p := &pieces{}
	o := New(p)
	defer o.Free()
	o.Raw(`{"a":`)
	o.Raw("-3")
	o.Raw(`,"b":`)
	o.Uint(1 << 63)
	o.Raw(`,"c":`)
	o.String("<d>\n")
	for _, v := range []any{map[string]any{"e": "<f>"}, struct{}{}, map[string]any{"g": []int{}}} {
		if err := o.Members(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Members(func() {}); err == nil {
		t.Error("a function became JSON")
	}
	o.Append(func(b []byte) []byte { return append(b, '}') })
	if n, whole := o.Whole(); !whole || n == 0 {
		t.Errorf("%d bytes, whole %v", n, whole)
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := p.text.String(), `{"a":-3,"b":9223372036854775808,"c":"<d>\n","e":"<f>","g":[]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkString(b *testing.B) {
	code := strings.Repeat("\tif err := foo(a, \"b\"); err != nil {\n\t\treturn fmt.Errorf(\"x: %w\", err)\n\t}\n", 200)
	minified := strings.Repeat("function(e,t,n){return e.exports=t(n)},", 400)
	for name, text := range map[string]string{"code": code, "minified": minified} {
		b.Run(name+"/encoding", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var out bytes.Buffer
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(false)
			for b.Loop() {
				out.Reset()
				_ = e.Encode(text)
			}
		})
		b.Run(name+"/append", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var out []byte
			for b.Loop() {
				out = AppendString(out[:0], text)
			}
		})
	}
}
