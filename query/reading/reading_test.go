package reading

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/syntax"
)

// TestRecognize runs testdata/recognize. Commands:
//
//	recognize          what each line is recognized as
//	recognize all      what the input is recognized as
//	template line=…    the best template of each line of the input for a message
func TestRecognize(t *testing.T) {
	datadriven.RunTest(t, "testdata/recognize", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		switch d.Cmd {
		case "recognize":
			texts := strings.Split(d.Input, "\n")
			if d.HasArg("all") {
				texts = []string{d.Input}
			}
			for _, text := range texts {
				if len(texts) > 1 {
					b.WriteString(text + "\n")
				}
				b.WriteString(describeReading(t, text))
			}
		case "template":
			message, lines, _ := strings.Cut(d.Input, "\n")
			w := (&Paste{Text: message}).Words()
			for line := range strings.SplitSeq(lines, "\n") {
				template, ok := w.BestTemplate(line)
				fmt.Fprintf(&b, "%v %d letters, %d words, %d gaps, %d ends: %q\n", ok, template.Weight, template.Words, template.Gaps, template.Ends, template.Literal)
			}
		default:
			d.Fatalf(t, "unknown command")
		}
		return b.String()
	})
}

func describeReading(t *testing.T, text string) string {
	parsed, err := syntax.Parse(text, syntax.Options{})
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	literal, err := syntax.Parse(parsed.PrintLiteral(parsed.Options), parsed.Options)
	if err != nil || !syntax.Equal(literal.Root, parsed.Root) || Recognize(literal) != nil {
		t.Errorf("%s: %s does not give the literal reading: %v", text, parsed.PrintLiteral(parsed.Options), err)
	}
	p := Recognize(parsed)
	if p == nil {
		return "    literal\n"
	}
	var b strings.Builder
	doubt := ""
	if !p.Sure {
		doubt = ", if the literal reading finds nothing"
	}
	for _, kind := range p.Kinds {
		switch kind {
		case Code:
			fmt.Fprintf(&b, "    code%s: %s\n", doubt, Expression(p.Lines))
		case Message:
			fmt.Fprintf(&b, "    message%s:", doubt)
			w := p.Words()
			for _, run := range w.Runs {
				fmt.Fprintf(&b, " [%s]", w.Text[run[0].Start:run[len(run)-1].End])
			}
			b.WriteByte('\n')
		case Trace:
			for _, f := range p.Frames {
				fmt.Fprintf(&b, "    frame%s: %s path=%q line=%d package=%q type=%q function=%q\n", doubt, f.Language, f.Path, f.Line, f.Package, f.Type, f.Function)
				if f.Revision != "" {
					fmt.Fprintf(&b, "        revision %s\n", f.Revision)
				}
			}
		}
	}
	if len(p.Filters) > 0 {
		fmt.Fprintf(&b, "    filters %v, text %q\n", p.Filters, p.Text)
	}
	return b.String()
}

// TestDocumentedPastes checks docs/query-language.md: each block that begins with
// ```paste KIND must be recognized as that kind.
func TestDocumentedPastes(t *testing.T) {
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for i, block := range strings.Split(string(page), "```") {
		info, text, _ := strings.Cut(block, "\n")
		kind, ok := strings.CutPrefix(info, "paste ")
		if i%2 == 0 || !ok {
			continue
		}
		blocks++
		texts := []string{strings.TrimSuffix(text, "\n")}
		if kind != "trace" && kind != "lines" {
			texts = strings.Split(texts[0], "\n")
		}
		if kind == "lines" {
			kind = "code"
		}
		for _, text := range texts {
			parsed, err := syntax.Parse(text, syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			have := "literal"
			if p := Recognize(parsed); p != nil {
				have = string(p.Kinds[0])
			}
			if have != kind {
				t.Errorf("%s is read as %s, not as %s", text, have, kind)
			}
		}
	}
	if blocks < 4 {
		t.Errorf("only %d blocks found", blocks)
	}
}

func BenchmarkRecognize(b *testing.B) {
	for _, text := range []string{"mutex_lock", "token bucket lang:go", "repo:x (kmalloc or kfree) -test", "stack level too deep"} {
		parsed, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				Recognize(parsed)
			}
		})
	}
}

func FuzzRecognize(f *testing.F) {
	for _, text := range []string{"func (d *DB) x(b *Batch) error {", "at a.B.c(B.java:1)", `open "x": no such file %d`, "x.go:1", "\n+ a\n+ b(", "…"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			return
		}
		p := Recognize(parsed)
		if p == nil {
			return
		}
		if _, err := regexp.Compile(Expression(p.Lines)); err != nil {
			t.Error(err)
		}
		w := p.Words()
		for _, run := range w.Runs {
			if run[0].Start >= run[len(run)-1].End || run[len(run)-1].End > len(w.Text) {
				t.Errorf("%q: run %v", text, run)
			}
		}
		w.BestTemplate(text)
		literal, err := syntax.Parse(parsed.PrintLiteral(parsed.Options), parsed.Options)
		if err != nil || Recognize(literal) != nil {
			t.Errorf("%q: %q is not literal: %v", text, parsed.PrintLiteral(parsed.Options), err)
		}
	})
}
