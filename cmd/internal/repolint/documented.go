package repolint

import (
	"go/ast"
	"strings"
)

// checkDocs reports packages without doc.go and exported names without a comment.
func (t *Tree) checkDocs(p *Package) []Finding {
	var findings []Finding
	if len(p.Files) > 0 && !hasDocFile(p) {
		findings = append(findings, Finding{Rule: "doc", Where: p.Path, What: "has no doc.go with a package comment"})
	}
	promised := promisedMethods(p)
	for _, f := range p.Files {
		for _, decl := range f.Syntax.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil && promised[d.Name.Name] {
				continue
			}
			for _, name := range undocumentedNames(decl) {
				findings = append(findings, Finding{Rule: "doc", Where: f.Name, What: name.Name + " has no comment", Line: t.lineNumber(name.Pos())})
			}
		}
	}
	return findings
}

// hasDocFile reports whether p has a doc.go with a package comment. A package with one
// file may have the comment in that file.
func hasDocFile(p *Package) bool {
	if len(p.Files) == 1 {
		return p.Files[0].Syntax.Doc != nil
	}
	for _, f := range p.Files {
		if strings.HasSuffix("/"+f.Name, "/doc.go") && f.Syntax.Doc != nil {
			return true
		}
	}
	return false
}

// undocumentedNames returns the undocumented exported names that decl declares. A comment
// on a group applies to all of its names; a constant or variable may have its comment at
// the end of the line.
func undocumentedNames(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			return nil
		}
		return undocumentedSpecs(d.Specs)
	}
	return nil
}

// undocumentedSpecs skips constants that continue a documented iota sequence.
func undocumentedSpecs(specs []ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	began := false
	for _, spec := range specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			if began && v.Values == nil && v.Type == nil {
				continue
			}
			began = v.Doc != nil || v.Comment != nil
		}
		names = append(names, undocumentedSpec(spec)...)
	}
	return names
}

func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
			return s.Names[:1]
		}
	}
	return nil
}

// promisedMethods returns the names of methods that need no comment: those that every
// reader of Go knows, and those that the package documents once, on an interface or on
// the first of the types that have them.
func promisedMethods(p *Package) map[string]bool {
	promised := map[string]bool{"String": true, "Error": true, "Unwrap": true}
	for _, f := range p.Files {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.FuncDecl:
				if x.Recv != nil && x.Doc != nil {
					promised[x.Name.Name] = true
				}
			case *ast.InterfaceType:
				for _, method := range x.Methods.List {
					for _, name := range method.Names {
						promised[name.Name] = promised[name.Name] || method.Doc != nil || method.Comment != nil
					}
				}
			}
			return true
		})
	}
	return promised
}

// exportedReceiver reports whether d is a function or a method of an exported type. A
// method of an unexported type implements an interface that has the comment.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	for {
		switch x := receiver.(type) {
		case *ast.StarExpr:
			receiver = x.X
		case *ast.IndexExpr:
			receiver = x.X
		case *ast.IndexListExpr:
			receiver = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}
