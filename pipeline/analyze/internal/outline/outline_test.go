package outline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestExtract runs the scripts of testdata/outline: "outline LANGUAGE" and a source, followed
// by its symbols, one per line.
func TestExtract(t *testing.T) { runScripts(t, "testdata/outline") }

// TestDeclaringForms runs the scripts of testdata/forms, which have one example of every form
// of declaration in the reference of a language.
func TestDeclaringForms(t *testing.T) { runScripts(t, "testdata/forms") }

func runScripts(t *testing.T, directory string) {
	datadriven.Walk(t, directory, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "outline" || len(d.CmdArgs) != 1 {
				d.Fatalf(t, "want: outline LANGUAGE")
			}
			language := code.Language(strings.ReplaceAll(d.CmdArgs[0].Key, "_", " "))
			if !Supported(language) {
				d.Fatalf(t, "language %q is not supported", language)
			}
			symbols, err := Extract(language, []byte(d.Input), time.Time{})
			if err != nil {
				return err.Error() + "\n"
			}
			checkInvariants(t, []byte(d.Input), symbols)
			return format(symbols)
		})
	})
}

// format prints symbols as "line[-end] kind name [< parentKind parent]".
func format(symbols []code.Symbol) string {
	var b strings.Builder
	for _, s := range symbols {
		fmt.Fprintf(&b, "%d", s.Line)
		if s.EndLine != 0 {
			fmt.Fprintf(&b, "-%d", s.EndLine)
		}
		fmt.Fprintf(&b, " %s %s", s.Kind, s.Name)
		if s.Parent != "" {
			fmt.Fprintf(&b, " < %s %s", s.ParentKind, s.Parent)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// checkInvariants checks symbols against the invariants of doc.go.
func checkInvariants(t testing.TB, text []byte, symbols []code.Symbol) {
	t.Helper()
	if len(symbols) > code.MaxSymbolsPerDocument {
		t.Fatalf("%d symbols", len(symbols))
	}
	last, line, counted := uint32(0), uint32(1), 0
	for _, s := range symbols {
		end := int(s.Offset) + len(s.Name)
		if s.Name == "" || len(s.Name) > code.MaxSymbolBytes || end > len(text) || string(text[s.Offset:end]) != s.Name {
			t.Fatalf("%q is not the text at offset %d", s.Name, s.Offset)
		}
		if strings.ContainsAny(s.Name, "\n\r") {
			t.Fatalf("line break in %q", s.Name)
		}
		if s.Offset < last {
			t.Fatalf("%q at %d stands after offset %d", s.Name, s.Offset, last)
		}
		last = s.Offset
		line += uint32(strings.Count(string(text[counted:s.Offset]), "\n"))
		counted = int(s.Offset)
		if s.Line != line || s.EndLine != 0 && s.EndLine < s.Line {
			t.Fatalf("%q on line %d to %d, want line %d", s.Name, s.Line, s.EndLine, line)
		}
		if s.Kind == "" || (s.Parent == "") != (s.ParentKind == "") {
			t.Fatalf("%q has kind %q, parent %q, parent kind %q", s.Name, s.Kind, s.Parent, s.ParentKind)
		}
	}
}
