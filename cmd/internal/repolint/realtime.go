package repolint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkRealTime reports tests that compare a duration of real time: the result of
// time.Since, or a variable that got it, in a file that does not use a bubble of
// testing/synctest. Such a test fails on a slow machine although the code is right.
// Logging a duration is allowed.
func (t *Tree) checkRealTime(p *Package) []Finding {
	var findings []Finding
	for _, f := range p.TestFiles {
		if importsPath(f, "testing/synctest") {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			for _, comparison := range comparedDurations(d) {
				findings = append(findings, Finding{Rule: "realtime", Where: f.Name, What: d.Name.Name + " compares time.Since outside a bubble of testing/synctest", Line: t.lineNumber(comparison.Pos())})
			}
		}
	}
	return findings
}

func importsPath(f *File, path string) bool {
	return slices.ContainsFunc(f.Syntax.Imports, func(spec *ast.ImportSpec) bool { return strings.Trim(spec.Path.Value, `"`) == path })
}

// comparedDurations returns the comparisons in d with an operand that contains time.Since
// or is a variable to which an expression with time.Since was assigned.
func comparedDurations(d *ast.FuncDecl) []*ast.BinaryExpr {
	durations := map[string]bool{}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		s, ok := n.(*ast.AssignStmt)
		if !ok || len(s.Lhs) != len(s.Rhs) {
			return true
		}
		for i, value := range s.Rhs {
			if name, ok := s.Lhs[i].(*ast.Ident); ok && callsSince(value) {
				durations[name.Name] = true
			}
		}
		return true
	})
	var found []*ast.BinaryExpr
	ast.Inspect(d.Body, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || !isComparison(b.Op) {
			return true
		}
		for _, operand := range []ast.Expr{b.X, b.Y} {
			name, ok := operand.(*ast.Ident)
			if ok && durations[name.Name] || callsSince(operand) {
				found = append(found, b)
				break
			}
		}
		return true
	})
	return found
}

func isComparison(op token.Token) bool {
	switch op {
	case token.LSS, token.GTR, token.LEQ, token.GEQ, token.EQL, token.NEQ:
		return true
	}
	return false
}

// callsSince reports whether an expression is the result of time.Since, of a method of
// that result, or a sum or product with one of them.
func callsSince(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return callsSince(x.X)
	case *ast.BinaryExpr:
		return !isComparison(x.Op) && (callsSince(x.X) || callsSince(x.Y))
	case *ast.CallExpr:
		method, ok := x.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := method.X.(*ast.Ident)
		return ok && from.Name == "time" && method.Sel.Name == "Since" || callsSince(method.X)
	}
	return false
}
