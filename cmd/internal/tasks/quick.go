package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

type quickTask struct {
	Ref     string `default:"main" help:"What differs from this commit, or from the last one that it shares with HEAD, has changed."`
	LeftOut string `placeholder:"REGEXP" help:"Vet packages whose import path matches, but do not test them."`
}

// Run implements the task: vet and tests of the packages that changed and of those that
// import them.
func (q *quickTask) Run(ctx context.Context) error {
	leftOut, err := regexp.Compile(q.LeftOut)
	if err != nil {
		return err
	}
	files, err := listChangedFiles(ctx, q.Ref)
	if err != nil {
		return err
	}
	list, err := runOutput(ctx, ".", "go", "list", "-json=Dir,ImportPath,Imports,TestImports,XTestImports,Module", "./...")
	if err != nil {
		return err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(list)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("decode go list: %w", err)
		}
		packages = append(packages, p)
	}
	affected := selectAffected(packages, files)
	if len(affected) == 0 {
		fmt.Printf("no package differs from %s\n", q.Ref)
		return nil
	}
	fmt.Printf("%d files differ from %s: vet and test the %d packages that contain or import them\n", len(files), q.Ref, len(affected))
	if err := newCommand(ctx, ".", "go", append([]string{"vet"}, affected...)...).Run(); err != nil {
		return fmt.Errorf("go vet: %w", err)
	}
	tested := slices.DeleteFunc(affected, func(name string) bool { return q.LeftOut != "" && leftOut.MatchString(name) })
	if len(tested) == 0 {
		return nil
	}
	if err := newCommand(ctx, ".", "go", append([]string{"test", "-vet=off", "-short"}, tested...)...).Run(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// listChangedFiles returns the files that differ from the last commit that HEAD shares with
// ref, or from HEAD if there is no ref, and those that git does not know.
func listChangedFiles(ctx context.Context, ref string) ([]string, error) {
	base, err := runOutput(ctx, ".", "git", "merge-base", "HEAD", ref)
	if err != nil {
		base = "HEAD"
	}
	var files []string
	for _, args := range [][]string{{"diff", "--name-only", "--no-renames", base}, {"ls-files", "--others", "--exclude-standard"}} {
		out, err := runOutput(ctx, ".", "git", args...)
		if err != nil {
			return nil, err
		}
		files = append(files, strings.Fields(out)...)
	}
	return files, nil
}

// goPackage is a package of the module, as go list prints it.
type goPackage struct {
	Dir, ImportPath                    string
	Imports, TestImports, XTestImports []string
	Module                             struct{ Dir string }
}

// selectAffected returns the import paths of the packages that contain one of the files, and
// of those that import them. A file belongs to the package in the nearest directory that
// has one, such as that above testdata. A change of the modules affects every package.
func selectAffected(packages []goPackage, files []string) []string {
	byDir := map[string]string{}
	for i := range packages {
		p := &packages[i]
		byDir[strings.TrimPrefix(strings.TrimPrefix(p.Dir, p.Module.Dir), "/")] = p.ImportPath
	}
	all := slices.ContainsFunc(files, func(f string) bool { return f == "go.mod" || f == "go.sum" })
	changed := map[string]bool{}
	for _, file := range files {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if name := byDir[dir]; name != "" {
				changed[name] = true
				break
			}
		}
	}
	isChanged := func(name string) bool { return changed[name] }
	var affected []string
	for i := range packages {
		p := &packages[i]
		if all || changed[p.ImportPath] || slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), isChanged) {
			affected = append(affected, p.ImportPath)
		}
	}
	return affected
}
