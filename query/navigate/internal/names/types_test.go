package names_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestTypes runs the scripts of testdata/types, one for each language family:
//
//	define LANGUAGE
//	text
//	----
//	LINE NAME facts about each definition
//
// The facts are the number of arguments of a function (in Go the numbers of parameters and results),
// whether it is static or extends a type from outside, the types that a type extends, with their
// arguments, and its members, with their lines.
func TestTypes(t *testing.T) {
	datadriven.Walk(t, "testdata/types", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "define" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return listTypes(code.Language(d.CmdArgs[0].Key), d.Input+"\n")
		})
	})
}

// listTypes prints facts about each definition of a text.
func listTypes(language code.Language, text string) string {
	f := read(language, text)
	var out strings.Builder
	for k := range f.Definitions {
		d := &f.Definitions[k]
		i, ok := f.TokenAt(int(d.Offset))
		if !ok {
			continue
		}
		fmt.Fprintf(&out, "%d %s", d.Line, d.Name)
		if names.IsFunction(d.Kind) {
			fmt.Fprintf(&out, "/%d", f.Arguments(i))
			if language == "Go" {
				parameters, results := f.CountParameters(i)
				fmt.Fprintf(&out, " %d to %d", parameters, results)
			}
			for fact, holds := range map[string]bool{" static": f.IsStatic(i), " extension": f.IsExtension(i)} {
				if holds {
					out.WriteString(fact) // at most one of them
				}
			}
			if extended := f.ExtendedType(i); extended.Name != "" {
				out.WriteString(" of " + describeType(extended))
			}
		}
		if names.IsType(d.Kind) {
			for _, heir := range f.Heirs(d) {
				out.WriteString(" < " + describeType(heir))
			}
			writeMembers(&out, f, d, text)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// writeMembers prints the members of a type that have any name in the text.
func writeMembers(out *strings.Builder, f *names.File, d *code.Definition, text string) {
	seen := map[string]bool{}
	for at := 0; ; {
		i, ok := f.TokenFrom(at)
		if !ok {
			return
		}
		_, at = f.Range(i)
		if word := f.Word(i); !seen[word] && unicode.IsLetter(rune(word[0])) {
			seen[word] = true
			for _, m := range f.Members(d, word) {
				start, _ := f.Range(m)
				fmt.Fprintf(out, " .%s=%d", word, 1+strings.Count(text[:start], "\n"))
			}
		}
	}
}

func describeType(t names.Type) string {
	var args []string
	for _, a := range t.Args {
		args = append(args, describeType(a))
	}
	if len(args) == 0 {
		return t.Name
	}
	return t.Name + "[" + strings.Join(args, " ") + "]"
}
