package names_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestBindings runs the scripts of testdata/bindings, one for each language family:
//
//	bind LANGUAGE
//	text
//	----
//	LINE: NAME… the names that are bound in the line, and name=LINE for names that are used
//
// A parameter is in parentheses. The type of a bound name follows after a colon if it is
// written, or the expression that has the type, with the number of the result: "#1", or "[]"
// for an element. Names without a binding, and members after a dot, are not printed. If a
// name is bound more than once in a line, the column follows.
func TestBindings(t *testing.T) {
	datadriven.Walk(t, "testdata/bindings", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "bind" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return listBindings(code.Language(d.CmdArgs[0].Key), d.Input+"\n")
		})
	})
}

// listBindings prints the names in each line that bind, or that refer to a binding.
func listBindings(language code.Language, text string) string {
	f := read(language, text)
	place := func(i int) (line, column int) {
		start, _ := f.Range(i)
		return 1 + strings.Count(text[:start], "\n"), start - strings.LastIndexByte(text[:start], '\n')
	}
	bound := map[string][]int{} // the bindings of a name in a line
	lines := make([][]string, strings.Count(text, "\n")+1)
	for pass := range 2 {
		for at := 0; ; {
			i, ok := f.TokenFrom(at)
			if !ok {
				break
			}
			_, at = f.Range(i)
			b := f.Binding(f.Word(i), i)
			if b == nil || i > 0 && (slices.Contains([]string{".", "?.", "::"}, f.Word(i-1)) || f.Word(i-1) == "->" && language[0] == 'C') {
				continue
			}
			line, column := place(b.At)
			key := fmt.Sprint(line, " ", b.Name)
			if pass == 0 {
				if b.At == i {
					bound[key] = append(bound[key], i)
				}
				continue
			}
			name := b.Name
			if b.At != i {
				name += fmt.Sprint("=", line)
			}
			if len(bound[key]) > 1 {
				name += fmt.Sprint(".", column)
			}
			if b.At == i {
				name += describeSource(f.ValueType(b))
				if b.Parameter {
					name = "(" + name + ")"
				}
			}
			used, _ := place(i)
			lines[used-1] = append(lines[used-1], name)
		}
	}
	var out strings.Builder
	for n, list := range lines {
		if len(list) > 0 {
			fmt.Fprintf(&out, "%d: %s\n", n+1, strings.Join(list, " "))
		}
	}
	return out.String()
}

// describeSource prints where the type of a name comes from.
func describeSource(s names.Source) string {
	out := ""
	switch {
	case s.Self:
		return ":self"
	case s.Type.IsKnown():
		out = ":" + s.Type.Name
		for i := range s.Type.Args {
			out += "," + s.Type.Args[i].Name
		}
		return out
	case s.Expr == nil:
		return ""
	}
	for x := s.Expr; x != nil; x = x.X {
		out = "." + x.Name + []string{"?", "", "self", "super", "", "()", "[i]", "new " + x.Type.Name, "literal"}[x.Kind] + out
	}
	out = ":" + strings.ReplaceAll(strings.TrimPrefix(out, "."), ".()", "()")
	if s.Element {
		out += "[]"
	}
	if s.Index > 0 {
		out += fmt.Sprint("#", s.Index)
	}
	return out
}

// TestClassAround finds the class around a name. The name of a class belongs to it.
func TestClassAround(t *testing.T) {
	text := "class Outer {\n  class Inner { int field; }\n  int later;\n}\nclass Next { }\n"
	f := read("Java", text)
	for name, want := range map[string]string{"Outer": "Outer", "Inner": "Inner", "field": "Inner", "later": "Outer", "Next": "Next"} {
		i, ok := f.TokenFrom(strings.Index(text, name))
		if have, _ := f.Class(i); !ok || have != want {
			t.Errorf("the class around %s is %q, want %q", name, have, want)
		}
	}
}
