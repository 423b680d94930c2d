package repolint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the import path of the checked tree.
const Module = "github.com/quarrysearch/quarry"

// Tree contains every package of the module, as go list reports it.
type Tree struct {
	Packages []*Package
	fset     *token.FileSet
}

// Package is one package with its files parsed.
type Package struct {
	// Path is the import path without the module, such as "pipeline/worker".
	Path string
	// Imports are the imports of the code, TestImports those that only tests have.
	Imports, TestImports []string
	Files, TestFiles     []*File
}

// File is one parsed file. Name is relative to the root of the tree.
type File struct {
	Name   string
	Lines  int
	Syntax *ast.File
}

type listedPackage struct {
	ImportPath, Dir                    string
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

// Load reads the tree below root with go list.
func Load(ctx context.Context, root string) (*Tree, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", "list", "-json", "./...")
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w: %s", root, err, stderr.Bytes())
	}
	t := &Tree{fset: token.NewFileSet()}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listedPackage
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode go list: %w", err)
		}
		p, err := t.parsePackage(root, l)
		if err != nil {
			return nil, err
		}
		t.Packages = append(t.Packages, p)
	}
}

func (t *Tree) parsePackage(root string, l listedPackage) (*Package, error) {
	p := &Package{
		Path:        strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, Module), "/"),
		Imports:     l.Imports,
		TestImports: append(l.TestImports, l.XTestImports...),
	}
	var err error
	if p.Files, err = t.parseFiles(root, l.Dir, l.GoFiles, l.CgoFiles, l.IgnoredGoFiles); err != nil {
		return nil, err
	}
	p.TestFiles, err = t.parseFiles(root, l.Dir, l.TestGoFiles, l.XTestGoFiles)
	return p, err
}

func (t *Tree) parseFiles(root, dir string, lists ...[]string) ([]*File, error) {
	var files []*File
	for _, list := range lists {
		for _, base := range list {
			full := filepath.Join(dir, base)
			syntax, err := parser.ParseFile(t.fset, full, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", full, err)
			}
			name, err := filepath.Rel(root, full)
			if err != nil {
				return nil, err
			}
			files = append(files, &File{Name: filepath.ToSlash(name), Lines: t.fset.File(syntax.FileStart).LineCount(), Syntax: syntax})
		}
	}
	return files, nil
}

// lineNumber returns the line number of pos.
func (t *Tree) lineNumber(pos token.Pos) int { return t.fset.Position(pos).Line }
