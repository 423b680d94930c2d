package answers

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// chains is the number of ways in which each program fails.
const chains = 8

// programTime bounds each step of building and running a program.
const programTime = 3 * time.Minute

// chain holds the names of one way to fail: main calls Function, which calls Type.First,
// which calls Type.Second, which fails.
type chain struct {
	Number                              int
	Package, File, Type                 string
	Function, First, Second             string // lower camel case
	UpperFunction, UpperFirst, UpperSec string
	Snake                               [3]string
}

var (
	adjectives = []string{"pending", "cached", "remote", "stale", "ordered", "sealed", "shared", "leased", "paged", "signed", "bounded", "sparse", "merged", "framed"}
	nouns      = []string{"ledger", "parcel", "tariff", "voucher", "beacon", "quorum", "manifest", "conduit", "harvest", "turbine", "gazette", "lattice", "pigment", "satchel"}
	verbs      = []string{"reconcile", "dispatch", "tabulate", "rehydrate", "allocate", "prune", "calibrate", "stitch", "forward", "balance", "annotate", "drain"}
)

func newChains(r *rand.Rand) (all []chain) {
	nouns, verbs := shuffleWords(r, nouns), shuffleWords(r, verbs)
	for i := range chains {
		noun, adjective := nouns[i], adjectives[r.IntN(len(adjectives))]
		v := func(k int) string { return verbs[(3*i+k+r.IntN(2))%len(verbs)] }
		c := chain{Number: i, Package: noun + pickWord(r, "s", "store", "core"), File: adjective + "_" + noun, Type: toTitle(adjective) + toTitle(noun)}
		for k := range c.Snake {
			c.Snake[k] = []string{"run", v(k), v(k + 1)}[k] + "_" + nouns[(i+k+3)%len(nouns)]
		}
		c.Function, c.First, c.Second = toCamel(c.Snake[0]), toCamel(c.Snake[1]), toCamel(c.Snake[2])
		c.UpperFunction, c.UpperFirst, c.UpperSec = toTitle(c.Function), toTitle(c.First), toTitle(c.Second)
		all = append(all, c)
	}
	return all
}

func shuffleWords(r *rand.Rand, words []string) []string {
	out := append([]string(nil), words...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func toTitle(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func toCamel(snake string) string {
	first, rest, _ := strings.Cut(snake, "_")
	return first + toTitle(rest)
}

// program is a program in one language that fails in as many ways as there are chains.
type program struct {
	language string
	// path and text are the templates of each chain's file; mainPath and mainText those
	// of the file that calls all of them.
	path, text         string
	mainPath, mainText string
	// make holds the commands that build the program. run returns the command that makes
	// a chain fail. Both run in the folder of the language.
	make [][]string
	run  func(chain int) []string
}

const goText = `package {{.Package}}

// {{.Type}} is one of the parts that fail.
type {{.Type}} struct{ sizes []int }

func (s *{{.Type}}) {{.UpperFirst}}(n int) int {
	if n < 0 {
		return 0
	}
	return s.{{.Second}}(n*2) + 1
}

func (s *{{.Type}}) {{.Second}}(n int) int {
	total := len(s.sizes)
	total += s.sizes[n+total]
	return total
}

// {{.UpperFunction}} begins.
func {{.UpperFunction}}(n int) int {
	s := &{{.Type}}{sizes: make([]int, n)}
	return s.{{.UpperFirst}}(n)
}
`

const goMain = `package main

import (
	"os"
{{range .}}	"example.org/program/internal/{{.Package}}"
{{end}})

func main() {
	switch os.Args[1] {
{{range .}}	case "{{.Number}}":
		println({{.Package}}.{{.UpperFunction}}(3))
{{end}}	}
}
`

const javaText = `package org.example.{{.Package}};

import java.util.List;

/** One of the parts that fail. */
public class {{.Type}} {
    private final List<Integer> sizes = List.of(1, 2, 3);

    public static int {{.Function}}(int n) {
        {{.Type}} made = new {{.Type}}();
        return made.{{.First}}(n);
    }

    int {{.First}}(int n) {
        if (n < 0) {
            return 0;
        }
        return {{.Second}}(n * 2) + 1;
    }

    private int {{.Second}}(int n) {
        return sizes.stream().map(size -> size / (n - 6)).reduce(0, Integer::sum);
    }
}
`

const javaMain = `package org.example;

public class Main {
    public static void main(String[] args) {
{{range .}}        if (args[0].equals("{{.Number}}")) {
            org.example.{{.Package}}.{{.Type}}.{{.Function}}(3);
        }
{{end}}    }
}
`

const pythonText = `"""One of the parts that fail."""
import json


class {{.Type}}:
    def __init__(self, sizes):
        self.sizes = sizes

    def {{index .Snake 1}}(self, n):
        if n < 0:
            return 0
        return self.{{index .Snake 2}}(n * 2) + 1

    def {{index .Snake 2}}(self, n):
        text = "{" + str(self.sizes[n % len(self.sizes)])
        return len(json.loads(text))


def {{index .Snake 0}}(n):
    made = {{.Type}}([1, 2, 3])
    return made.{{index .Snake 1}}(n)
`

const pythonMain = `import sys

{{range .}}from {{.Package}} import {{.File}}
{{end}}
if __name__ == "__main__":
{{range .}}    if sys.argv[1] == "{{.Number}}":
        {{.File}}.{{index .Snake 0}}(3)
{{end}}`

const nodeText = `'use strict';

class {{.Type}} {
  constructor(sizes) {
    this.sizes = sizes;
  }

  {{.First}}(n) {
    if (n < 0) {
      return 0;
    }
    return this.{{.Second}}(n * 2) + 1;
  }

  {{.Second}}(n) {
    return this.sizes.map((size) => size.values[n].length);
  }
}

function {{.Function}}(n) {
  const made = new {{.Type}}([1, 2, 3]);
  return made.{{.First}}(n);
}

module.exports = { {{.Function}} };
`

const nodeMain = `'use strict';
{{range .}}
if (process.argv[2] === '{{.Number}}') {
  require('./{{.Package}}/{{.File}}').{{.Function}}(3);
}
{{end}}`

const rustText = `// One of the parts that fail.
pub struct {{.Type}} {
    sizes: Vec<usize>,
}

impl {{.Type}} {
    #[inline(never)]
    pub fn {{index .Snake 1}}(&self, n: usize) -> usize {
        self.{{index .Snake 2}}(n * 2) + 1
    }

    #[inline(never)]
    fn {{index .Snake 2}}(&self, n: usize) -> usize {
        let total = self.sizes.len();
        self.sizes[n + total]
    }
}

#[inline(never)]
pub fn {{index .Snake 0}}(n: usize) -> usize {
    let made = {{.Type}} { sizes: vec![1, 2, 3] };
    made.{{index .Snake 1}}(n)
}
`

const rustMain = `{{range .}}mod {{.File}};
{{end}}
fn main() {
    let which = std::env::args().nth(1).unwrap();
{{range .}}    if which == "{{.Number}}" {
        println!("{}", {{.File}}::{{index .Snake 0}}(3));
    }
{{end}}}
`

const cppText = `// One of the parts that fail.
#include <cstdlib>

namespace {{.Package}} {

class {{.Type}} {
 public:
  int {{.First}}(int n);
 private:
  int {{.Second}}(int n);
  int *sizes = nullptr;
};

int {{.Type}}::{{.First}}(int n) {
  return {{.Second}}(n * 2) + 1;
}

int {{.Type}}::{{.Second}}(int n) {
  if (n > 0) std::abort();
  return sizes[n];
}

int {{.Function}}(int n) {
  {{.Type}} made;
  return made.{{.First}}(n);
}

}  // namespace
`

const cppMain = `#include <cstdlib>
{{range .}}namespace {{.Package}} { int {{.Function}}(int n); }
{{end}}
int main(int argc, char **argv) {
  int which = std::atoi(argv[1]);
{{range .}}  if (which == {{.Number}}) return {{.Package}}::{{.Function}}(3);
{{end}}  return argc;
}
`

// csharpText is never run: its traces are generated from the documented format.
const csharpText = `using System;

namespace Example.{{.Package}};

public class {{.Type}}
{
    private readonly int[] sizes = new int[3];

    public int {{.UpperFirst}}(int n)
    {
        return {{.UpperSec}}(n * 2) + 1;
    }

    private int {{.UpperSec}}(int n)
    {
        return sizes[n];
    }

    public static int {{.UpperFunction}}(int n)
    {
        return new {{.Type}}().{{.UpperFirst}}(n);
    }
}
`

var programs = []program{
	{
		language: "Go", path: "internal/{{.Package}}/{{.File}}.go", text: goText, mainPath: "cmd/program/main.go", mainText: goMain,
		make: [][]string{{"go", "mod", "init", "example.org/program"}, {"go", "build", "-o", "program.bin", "./cmd/program"}},
		run:  func(c int) []string { return []string{"./program.bin", fmt.Sprint(c)} },
	},
	{
		language: "Java", path: "src/main/java/org/example/{{.Package}}/{{.Type}}.java", text: javaText, mainPath: "src/main/java/org/example/Main.java", mainText: javaMain,
		make: [][]string{{"javac", "-g", "-d", "classes.bin", "-sourcepath", "src/main/java", "src/main/java/org/example/Main.java"}},
		run:  func(c int) []string { return []string{"java", "-cp", "classes.bin", "org.example.Main", fmt.Sprint(c)} },
	},
	{
		language: "Python", path: "app/{{.Package}}/{{.File}}.py", text: pythonText, mainPath: "app/main.py", mainText: pythonMain,
		run: func(c int) []string { return []string{"python3", "-B", "app/main.py", fmt.Sprint(c)} },
	},
	{
		language: "JavaScript", path: "lib/{{.Package}}/{{.File}}.js", text: nodeText, mainPath: "lib/main.js", mainText: nodeMain,
		run: func(c int) []string { return []string{"node", "lib/main.js", fmt.Sprint(c)} },
	},
	{
		language: "Rust", path: "src/{{.File}}.rs", text: rustText, mainPath: "src/main.rs", mainText: rustMain,
		make: [][]string{{"rustc", "-g", "-o", "program.bin", "src/main.rs"}},
		run:  func(c int) []string { return []string{"./program.bin", fmt.Sprint(c)} },
	},
	{
		language: "C++", path: "src/{{.Package}}/{{.File}}.cc", text: cppText, mainPath: "src/main.cc", mainText: cppMain,
		make: [][]string{{"sh", "-c", "g++ -g -O0 -o program.bin src/main.cc src/*/*.cc"}},
		run: func(c int) []string {
			return []string{"gdb", "-q", "-nx", "-batch", "-ex", "run", "-ex", "bt", "--args", "./program.bin", fmt.Sprint(c)}
		},
	},
	{language: "C#", path: "src/{{.Package}}/{{.Type}}.cs", text: csharpText},
}

// trace is the output of a program that failed.
type trace struct {
	language string
	text     string
	made     bool // generated from the documented format, without running the program
}

// runFailingPrograms writes the programs below dir, runs those whose language is
// installed, and returns their traces. missing lists the languages that are not
// installed.
func runFailingPrograms(ctx context.Context, r *rand.Rand, dir string) (traces []trace, missing []string, err error) {
	for _, p := range programs {
		all := newChains(r)
		folder := filepath.Join(dir, strings.NewReplacer("#", "sharp", "+", "p").Replace(strings.ToLower(p.language)))
		if err := p.writeSources(folder, all); err != nil {
			return nil, nil, err
		}
		if p.run == nil {
			traces = append(traces, csharpTraces(folder, all)...)
			continue
		}
		more, err := p.runAll(ctx, folder)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", p.language, err))
		}
		traces = append(traces, more...)
	}
	return traces, missing, nil
}

func (p *program) writeSources(folder string, all []chain) error {
	for i := range all {
		if err := writeTemplate(folder, p.path, p.text, &all[i]); err != nil {
			return err
		}
	}
	if p.mainText == "" {
		return nil
	}
	return writeTemplate(folder, p.mainPath, p.mainText, all)
}

func writeTemplate(folder, path, text string, data any) error {
	var name, content bytes.Buffer
	if err := template.Must(template.New("").Parse(path)).Execute(&name, data); err != nil {
		return err
	}
	if err := template.Must(template.New("").Parse(text)).Execute(&content, data); err != nil {
		return err
	}
	full := filepath.Join(folder, filepath.FromSlash(name.String()))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, content.Bytes(), 0o644)
}

func (p *program) runAll(ctx context.Context, folder string) (traces []trace, err error) {
	for _, args := range p.make {
		if out, err := runCommand(ctx, folder, args); err != nil {
			return nil, fmt.Errorf("%s: %w: %.300s", args[0], err, out)
		}
	}
	for i := range chains {
		out, err := runCommand(ctx, folder, p.run(i))
		if err == nil && p.language != "C++" || len(out) == 0 {
			return traces, fmt.Errorf("program did not fail: %v", err)
		}
		traces = append(traces, trace{language: p.language, text: out})
	}
	return traces, nil
}

func runCommand(ctx context.Context, folder string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "RUST_BACKTRACE=1", "DEBUGINFOD_URLS=", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// csharpTraces generates traces in the format that .NET documents, with the lines of the
// sources.
func csharpTraces(folder string, all []chain) (traces []trace) {
	for _, c := range all {
		path := fmt.Sprintf("src/%s/%s.cs", c.Package, c.Type)
		data, err := os.ReadFile(filepath.Join(folder, path))
		if err != nil {
			continue
		}
		var b strings.Builder
		b.WriteString("Unhandled exception. System.IndexOutOfRangeException: Index was outside the bounds of the array.\n")
		for _, f := range []struct{ method, line string }{{c.UpperSec, "return sizes[n]"}, {c.UpperFirst, "return " + c.UpperSec}, {c.UpperFunction, "return new"}} {
			number := 1 + strings.Count(string(data[:bytes.Index(data, []byte(f.line))]), "\n")
			fmt.Fprintf(&b, "   at Example.%s.%s.%s(Int32 n) in C:\\agent\\_work\\1\\s\\%s:line %d\n", c.Package, c.Type, f.method, strings.ReplaceAll(path, "/", `\`), number)
		}
		traces = append(traces, trace{language: "C#", text: b.String(), made: true})
	}
	return traces
}
