package meaning

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of what is drawn from.
const (
	maxFileBytes = 512 << 10
	maxFiles     = 20_000
	perFile      = 3  // cases of one file
	drawsPerCase = 30 // names that the oracle is asked about, for each case that is wanted
)

// extensions are the files of a language.
var extensions = map[string][]string{
	"Go": {".go"}, "Java": {".java"}, "TypeScript": {".ts", ".tsx"}, "JavaScript": {".js", ".mjs"}, "Python": {".py"},
	"Rust": {".rs"}, "C++": {".cc", ".cpp", ".h", ".hpp"}, "C": {".c", ".h"}, "C#": {".cs"},
}

// Source is a tree of files that is indexed under Name.
type Source struct{ Name, Dir string }

// Place is a line of a file of a source; columns count from 1, in characters.
type Place struct {
	Path         string
	Line, Column int
}

// Case is a name at a position.
type Case struct {
	Source   *Source
	Language string
	Name     string
	At       Place
	Right    []Place // the oracle's; Column is not set
	// Local says that it is a local name or parameter: no outline has it.
	Local bool
}

// Draw draws n cases of a language from a source.
func Draw(ctx context.Context, s *Source, language string, o Oracle, seed uint64, n int) ([]Case, error) {
	files, err := listFiles(s.Dir, language)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(files))))
	var out []Case
	seen := map[Place]bool{}
	ofFile := map[string]int{}
	for draws := 0; draws < n*drawsPerCase && len(out) < n && ctx.Err() == nil; draws++ {
		file := files[r.IntN(len(files))]
		if ofFile[file] >= max(perFile, 2*n/len(files)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.Dir, file))
		if err != nil {
			return nil, err
		}
		c, ok := drawName(r, code.Language(language), text)
		if c.At.Path = file; !ok || seen[c.At] {
			continue
		}
		seen[c.At] = true
		c.Source, c.Language = s, language
		if c.Right, err = o.Define(ctx, text, c.At); err != nil {
			return nil, fmt.Errorf("ask the oracle about %s:%d:%d: %w", file, c.At.Line, c.At.Column, err)
		}
		if isCase(&c, s.Dir) {
			c.Local = isLocal(&c, s.Dir)
			out = append(out, c)
			ofFile[file]++
		}
	}
	return out, ctx.Err()
}

// listFiles returns the files of a language, by name. Tests, generated and vendored files are left out.
func listFiles(dir, language string) (out []string, err error) {
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && p != dir && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "testdata" || e.Name() == "vendor") {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileBytes || len(out) >= maxFiles {
			return err
		}
		for _, extension := range extensions[language] {
			if strings.HasSuffix(p, extension) && !strings.HasSuffix(p, ".d.ts") && !strings.Contains(path.Base(p), "_test.") && !strings.Contains(path.Base(p), ".test.") && !strings.Contains(path.Base(p), ".min.") {
				rel, err := filepath.Rel(dir, p)
				if err != nil {
					return err
				}
				out = append(out, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return out, err
}

// drawName draws an identifier that is no definition.
func drawName(r *rand.Rand, language code.Language, text []byte) (Case, bool) {
	tokens, _ := analyze.Outline{}.Tokens(language, text, 1<<20)
	var at []code.Token
	for _, t := range tokens {
		if t.Class == code.TokenIdentifier && string(text[t.Start:t.End]) != "_" {
			at = append(at, t)
		}
	}
	if len(at) == 0 {
		return Case{}, false
	}
	t := at[r.IntN(len(at))]
	line := bytes.LastIndexByte(text[:t.Start], '\n') + 1
	return Case{
		Name: string(text[t.Start:t.End]),
		At:   Place{Line: 1 + bytes.Count(text[:t.Start], []byte("\n")), Column: 1 + len([]rune(string(text[line:t.Start])))},
	}, true
}

// isCase reports whether the oracle has an answer of the tree, other than the name itself, in lines that have the name.
func isCase(c *Case, dir string) bool {
	var kept []Place
	for _, p := range c.Right {
		if p.Path == c.At.Path && p.Line == c.At.Line {
			return false
		}
		if strings.Contains(lineOf(dir, p), c.Name) {
			kept = append(kept, p)
		}
	}
	c.Right = kept
	return len(kept) > 0
}

func lineOf(dir string, p Place) string {
	text, err := os.ReadFile(filepath.Join(dir, p.Path))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	if p.Line < 1 || p.Line > len(lines) {
		return ""
	}
	return lines[p.Line-1]
}

// isLocal reports whether the outline has no definition of the name in the line.
func isLocal(c *Case, dir string) bool {
	p := c.Right[0]
	text, err := os.ReadFile(filepath.Join(dir, p.Path))
	if err != nil {
		return false
	}
	definitions, _ := analyze.Outline{}.Describe(code.Language(c.Language), text) // those that were found in time
	for _, d := range definitions {
		if d.Name == c.Name && int(d.Line) == p.Line {
			return false
		}
	}
	return true
}

// utf16Column returns a column as language servers count it, from 0.
func utf16Column(text []byte, p Place) int {
	lines := strings.Split(string(text), "\n")
	runes := []rune(lines[p.Line-1])
	return len(utf16.Encode(runes[:p.Column-1]))
}

// Has reports whether a source has files of a language.
func (s *Source) Has(language string) bool {
	files, err := listFiles(s.Dir, language)
	return err == nil && len(files) > 0
}
