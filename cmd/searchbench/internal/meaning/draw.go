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

// These are the bounds of drawing.
const (
	maxFileBytes = 512 << 10
	maxFiles     = 20_000
	perFile      = 3  // cases of one file
	drawsPerCase = 30 // names that the oracle is queried for, per wanted case
)

// extensions holds the file extensions of each language.
var extensions = map[string][]string{
	"Go": {".go"}, "Java": {".java"}, "TypeScript": {".ts", ".tsx"}, "JavaScript": {".js", ".mjs"}, "Python": {".py"},
	"Rust": {".rs"}, "C++": {".cc", ".cpp", ".h", ".hpp"}, "C": {".c", ".h"}, "C#": {".cs"},
}

// Source is a tree of files that is indexed as Name.
type Source struct{ Name, Dir string }

// Place is a position in a file of a source. Columns count from 1, in characters.
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
	Right    []Place // the oracle's definitions; Column is not set
	// Local is set for a local name or parameter, which the outline does not contain.
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

// listFiles returns the files of a language, by name, without tests, generated and
// vendored files.
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

// drawName draws an identifier that is not a definition.
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

// isCase reports whether the oracle's answer is in the tree, is not the name itself, and
// is on lines that contain the name.
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

// isLocal reports whether the outline has no definition of the name on the line.
func isLocal(c *Case, dir string) bool {
	p := c.Right[0]
	text, err := os.ReadFile(filepath.Join(dir, p.Path))
	if err != nil {
		return false
	}
	definitions, _ := analyze.Outline{}.Describe(code.Language(c.Language), text) // those found in time
	for _, d := range definitions {
		if d.Name == c.Name && int(d.Line) == p.Line {
			return false
		}
	}
	return true
}

// utf16Column returns the column in the units of language servers: UTF-16 code units,
// counted from 0.
func utf16Column(text []byte, p Place) int {
	lines := strings.Split(string(text), "\n")
	runes := []rune(lines[p.Line-1])
	return len(utf16.Encode(runes[:p.Column-1]))
}

// Has reports whether a source contains files of a language.
func (s *Source) Has(language string) bool {
	files, err := listFiles(s.Dir, language)
	return err == nil && len(files) > 0
}
