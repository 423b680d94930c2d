package repolint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkRealTime reports tests that fail if a duration of real time is not as expected: the
// result of time.Since, or a variable that got it, in a file that does not use a bubble of
// testing/synctest. Such a test fails on a slow machine although the code is right.
// Logging a duration is allowed, and so is a loop that ends after one.
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

// comparedDurations returns the comparisons that decide in d whether the test fails, with
// an operand that is a result of time.Since, or a variable that got one.
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
		switch s := n.(type) {
		case *ast.IfStmt:
			if failsTest(s.Body.List) {
				found = append(found, comparisonsOf(durations, s.Cond)...)
			}
		case *ast.CaseClause:
			if failsTest(s.Body) {
				found = append(found, comparisonsOf(durations, s.List...)...)
			}
		}
		return true
	})
	return found
}

// comparisonsOf returns the comparisons in conditions of which an operand is a duration.
func comparisonsOf(durations map[string]bool, conditions ...ast.Expr) (found []*ast.BinaryExpr) {
	for _, condition := range conditions {
		ast.Inspect(condition, func(n ast.Node) bool {
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
	}
	return found
}

// failsTest reports whether a statement is a call of a method such as t.Errorf.
func failsTest(statements []ast.Stmt) bool {
	return slices.ContainsFunc(statements, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}, method.Sel.Name)
	})
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
