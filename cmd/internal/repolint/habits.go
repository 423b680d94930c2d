package repolint

import (
	"fmt"
	"go/ast"
	"go/token"
)

// MaxFileLines bounds the lines of a code file; tests may be longer.
const MaxFileLines = 500

// checkGlobals reports init functions and package variables to which a function of the
// package assigns.
func (t *Tree) checkGlobals(p *Package) []Finding {
	variables := packageVariables(p)
	var findings []Finding
	for _, f := range p.Files {
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if d.Recv == nil && d.Name.Name == "init" {
				findings = append(findings, Finding{Rule: "globals", Where: f.Name, What: "has an init function", Line: t.lineNumber(d.Pos())})
			}
			for _, name := range assignedGlobals(d, variables) {
				findings = append(findings, Finding{Rule: "globals", Where: f.Name, What: fmt.Sprintf("%s changes the package variable %s", d.Name.Name, name.Name), Line: t.lineNumber(name.Pos())})
			}
		}
	}
	return findings
}

func packageVariables(p *Package) map[string]bool {
	variables := map[string]bool{}
	for _, f := range p.Files {
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					variables[name.Name] = name.Name != "_"
				}
			}
		}
	}
	return variables
}

// assignedGlobals returns the package variables that d changes, by assignment to the
// variable, an element or a field of it. A local name in d hides the package variable; a
// name declared anywhere in d counts as local.
func assignedGlobals(d *ast.FuncDecl, variables map[string]bool) []*ast.Ident {
	if d.Body == nil {
		return nil
	}
	local := declaredNames(d)
	var names []*ast.Ident
	note := func(target ast.Expr) {
		if name := rootIdent(target); name != nil && variables[name.Name] && !local[name.Name] {
			names = append(names, name)
		}
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				for _, target := range s.Lhs {
					note(target)
				}
			}
		case *ast.IncDecStmt:
			note(s.X)
		}
		return true
	})
	return names
}

// rootIdent returns the variable v in an expression such as v.field[3].other.
func rootIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func declaredNames(d *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.Field:
			for _, name := range s.Names {
				names[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, target := range s.Lhs {
				if name, ok := target.(*ast.Ident); ok && s.Tok == token.DEFINE {
					names[name.Name] = true
				}
			}
		case *ast.RangeStmt:
			for _, target := range []ast.Expr{s.Key, s.Value} {
				if name, ok := target.(*ast.Ident); ok && s.Tok == token.DEFINE {
					names[name.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// checkSleeps reports tests that sleep.
func (t *Tree) checkSleeps(p *Package) []Finding {
	var findings []Finding
	for _, f := range p.TestFiles {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || selector.Sel.Name != "Sleep" {
				return true
			}
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == "time" {
				findings = append(findings, Finding{Rule: "sleep", Where: f.Name, What: "calls time.Sleep", Line: t.lineNumber(selector.Pos())})
			}
			return true
		})
	}
	return findings
}

// checkLengths reports code files with more than MaxFileLines lines.
func (t *Tree) checkLengths(p *Package) []Finding {
	var findings []Finding
	for _, f := range p.Files {
		if f.Lines > MaxFileLines && !ast.IsGenerated(f.Syntax) {
			findings = append(findings, Finding{Rule: "length", Where: f.Name, What: fmt.Sprintf("has more than %d lines", MaxFileLines)})
		}
	}
	return findings
}
