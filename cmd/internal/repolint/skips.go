package repolint

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// checkSkips reports functions by which a test may be skipped in CI. A function that skips a test
// names QUARRY_REQUIRE_ALL, with which a missing program is a failure, or testing.Short, or does so
// because a flag is not set.
func (t *Tree) checkSkips(p *Package) []Finding {
	var findings []Finding
	files := slices.Concat(p.Files, p.TestFiles)
	flags := flagsOf(files)
	for _, f := range files {
		if !importsPath(f, "testing") {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Body == nil || mentionsRequirement(d.Body) {
				continue
			}
			for _, skip := range skipsOf(d.Body, flags) {
				findings = append(findings, Finding{
					Rule: "skips", Where: f.Name, Line: t.lineNumber(skip.Pos()),
					What: fmt.Sprintf("%s skips a test in CI: fail if QUARRY_REQUIRE_ALL is 1", d.Name.Name),
				})
			}
		}
	}
	return findings
}

// mentionsRequirement reports whether a body names QUARRY_REQUIRE_ALL or testing.Short.
func mentionsRequirement(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BasicLit:
			found = found || x.Value == `"QUARRY_REQUIRE_ALL"`
		case *ast.SelectorExpr:
			from, ok := x.X.(*ast.Ident)
			found = found || ok && from.Name == "testing" && x.Sel.Name == "Short"
		}
		return !found
	})
	return found
}

// flagsOf returns the package variables whose value is a call of a function of package flag.
func flagsOf(files []*File) map[string]bool {
	flags := map[string]bool{}
	for _, f := range files {
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || len(v.Values) != len(v.Names) {
					continue
				}
				for i, name := range v.Names {
					if call, ok := v.Values[i].(*ast.CallExpr); ok && strings.HasPrefix(types.ExprString(call.Fun), "flag.") {
						flags[name.Name] = true
					}
				}
			}
		}
	}
	return flags
}

// skipsOf returns the calls of methods such as t.Skip, but for those below a condition with the
// value of a flag.
func skipsOf(body ast.Node, flags map[string]bool) (found []*ast.CallExpr) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.IfStmt:
			byFlag := false
			ast.Inspect(x.Cond, func(n ast.Node) bool {
				if star, ok := n.(*ast.StarExpr); ok {
					name, ok := star.X.(*ast.Ident)
					byFlag = byFlag || ok && flags[name.Name]
				}
				return !byFlag
			})
			return !byFlag
		case *ast.CallExpr:
			method, ok := x.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
				return true
			}
			test, ok := method.X.(*ast.Ident)
			if of, isField := method.X.(*ast.SelectorExpr); isField { // w.t.Skip
				test, ok = of.Sel, true
			}
			if ok && slices.Contains([]string{"t", "b", "f", "tb"}, test.Name) {
				found = append(found, x)
			}
		}
		return true
	})
	return found
}
