package answers

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
)

// These are the bounds of the sources.
const (
	maxSourceFile  = 1 << 20 // larger files are omitted
	maxSourceFiles = 20_000
)

// languages are those of the files from which tasks are drawn, by extension.
var languages = map[string]string{
	".go": "Go", ".py": "Python", ".c": "C", ".h": "C++", ".cc": "C++", ".cpp": "C++", ".java": "Java", ".js": "JavaScript", ".ts": "TypeScript",
	".rs": "Rust", ".rb": "Ruby", ".cs": "C#", ".kt": "Kotlin", ".php": "PHP", ".swift": "Swift",
}

// Source is a named tree of files.
type Source struct {
	Name, Dir string
	Files     []string // paths of all files below Dir, by name
	code      []string // the files from which tasks are drawn
}

// OpenSource lists the files of a tree, without binary files.
func OpenSource(name, dir string) (*Source, error) {
	s := &Source{Name: name, Dir: dir}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "__pycache__" || e.Name() == "site-packages") {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSourceFile || len(s.Files) == maxSourceFiles {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		s.Files = append(s.Files, rel)
		if languages[path.Ext(rel)] != "" {
			s.code = append(s.code, rel)
		}
		return nil
	})
	return s, err
}

// Lines returns the lines of a file, or none if the file is binary.
func (s *Source) Lines(file string) []string {
	data, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(file)))
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	return strings.Split(string(data), "\n")
}

// Write creates a bare repository of the files.
func (s *Source) Write(ctx context.Context, dir string) error {
	return corpus.WriteRepository(ctx, dir, func(c *corpus.Commits) {
		c.Begin("all files of " + s.Name)
		for _, f := range s.Files {
			if data, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(f))); err == nil && bytes.IndexByte(data, 0) < 0 {
				c.File(f, data)
			}
		}
	})
}

// Sources are the trees from which tasks are drawn.
type Sources []*Source

// drawFile returns a random file of code, and its lines. The probability of a source is
// proportional to its number of files, up to that of a large source, so that no source
// dominates.
func (s Sources) drawFile(r *rand.Rand) (*Source, string, []string) {
	const large = 400
	sum := 0
	for _, source := range s {
		sum += min(len(source.code), large)
	}
	for {
		n := r.IntN(sum)
		for _, source := range s {
			if size := min(len(source.code), large); n >= size {
				n -= size
				continue
			}
			file := source.code[r.IntN(len(source.code))]
			if lines := source.Lines(file); len(lines) > 0 {
				return source, file, lines
			}
			break
		}
	}
}

// GoSources returns the standard library and one version of each module in the module
// cache.
func GoSources(ctx context.Context) (Sources, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	places := strings.Fields(string(out))
	std, err := OpenSource("go", filepath.Join(places[0], "src"))
	if err != nil {
		return nil, err
	}
	sources := Sources{std}
	modules, err := modulesOf(places[1])
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		s, err := OpenSource(name, filepath.Join(places[1], filepath.FromSlash(modules[name])))
		if err != nil {
			return nil, err
		}
		if len(s.code) > 0 {
			sources = append(sources, s)
		}
	}
	return sources, nil
}

// modulesOf returns the folder of one version of each module in a module cache.
func modulesOf(cache string) (map[string]string, error) {
	folders := map[string]string{}
	err := filepath.WalkDir(cache, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(cache, p)
		if err != nil {
			return err
		}
		if rel == "cache" {
			return filepath.SkipDir
		}
		if name, _, found := strings.Cut(filepath.ToSlash(rel), "@"); found {
			folders[unescapeModule(name)] = filepath.ToSlash(rel) // the last one by name wins
			return filepath.SkipDir
		}
		return nil
	})
	return folders, err
}

// unescapeModule converts !x in a path of the module cache to X.
func unescapeModule(name string) string {
	for i := strings.IndexByte(name, '!'); i >= 0 && i+1 < len(name); i = strings.IndexByte(name, '!') {
		name = name[:i] + strings.ToUpper(name[i+1:i+2]) + name[i+2:]
	}
	return name
}

// OpenSources opens each folder of dir as a source of that name.
func OpenSources(dir string) (sources Sources, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, err := OpenSource(e.Name(), filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// InstalledSources returns GoSources and, if it is installed, Python's standard library.
func InstalledSources(ctx context.Context) (Sources, error) {
	sources, err := GoSources(ctx)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "python3", "-c", "import sysconfig; print(sysconfig.get_paths()['stdlib'])").Output()
	if err != nil {
		return sources, nil
	}
	python, err := OpenSource("python", strings.TrimSpace(string(out)))
	if err != nil {
		return nil, err
	}
	return append(sources, python), nil
}
