package repolint

import "go/ast"

// passesRegisterer reports whether f uses client_golang's prometheus only for the
// Registerer interface, which Options pass to newMetrics, and for a new registry if
// Options have none.
func passesRegisterer(f *File, path string) bool {
	if path != registererOnly {
		return false
	}
	only := true
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == "prometheus" {
			only = only && (selector.Sel.Name == "Registerer" || selector.Sel.Name == "NewRegistry")
		}
		return true
	})
	return only
}
