package names_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestImports runs the scripts of testdata/imports, one for each language family. The input
// is the file a/b/c, and each line of the output is an import:
//
//	NAME = MODULE MEMBER: PLACE…
//
// The name is "*" for all names of the module. A place ends with a slash if it is a
// directory, and with "/..." if files at any depth below it count. "=" before it means that
// no path precedes it, and "@" that it is the root of the repository with that name.
func TestImports(t *testing.T) {
	datadriven.Walk(t, "testdata/imports", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "imports" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			f := read(code.Language(d.CmdArgs[0].Key), d.Input+"\n")
			var out strings.Builder
			for i := range f.Imports {
				one := &f.Imports[i]
				name := one.Name
				if one.All {
					name = "*"
				}
				fmt.Fprintf(&out, "%s = %s %s:", name, one.Module, one.Member)
				for _, p := range f.Places(one) {
					out.WriteString(" " + describePlace(p))
				}
				out.WriteByte('\n')
			}
			return out.String()
		})
	})
}

func describePlace(p names.Place) string {
	out := p.Path
	if p.Exact {
		out = "=" + out
	}
	if p.Root {
		out = "@" + out
	}
	switch {
	case p.Below:
		out += "/..."
	case p.Directory:
		out += "/"
	}
	return out
}
