package answers

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

//go:embed testdata/programs
var templates embed.FS

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
	// path is the template of the path of each chain's file, and text names the template
	// of its content; mainPath and mainText are those of the file that calls all of them.
	path, text         string
	mainPath, mainText string
	// make holds the commands that build the program. run returns the command that makes
	// a chain fail. Both run in the folder of the language.
	make [][]string
	run  func(chain int) []string
}

var programs = []program{
	{
		language: "Go", path: "internal/{{.Package}}/{{.File}}.go", text: "go-part.go.tmpl", mainPath: "cmd/program/main.go", mainText: "go-main.go.tmpl",
		make: [][]string{{"go", "mod", "init", "example.org/program"}, {"go", "build", "-o", "program.bin", "./cmd/program"}},
		run:  func(c int) []string { return []string{"./program.bin", fmt.Sprint(c)} },
	},
	{
		language: "Java", path: "src/main/java/org/example/{{.Package}}/{{.Type}}.java", text: "java-part.java.tmpl", mainPath: "src/main/java/org/example/Main.java", mainText: "java-main.java.tmpl",
		make: [][]string{{"javac", "-g", "-d", "classes.bin", "-sourcepath", "src/main/java", "src/main/java/org/example/Main.java"}},
		run:  func(c int) []string { return []string{"java", "-cp", "classes.bin", "org.example.Main", fmt.Sprint(c)} },
	},
	{
		language: "Python", path: "app/{{.Package}}/{{.File}}.py", text: "python-part.py.tmpl", mainPath: "app/main.py", mainText: "python-main.py.tmpl",
		run: func(c int) []string { return []string{"python3", "-B", "app/main.py", fmt.Sprint(c)} },
	},
	{
		language: "JavaScript", path: "lib/{{.Package}}/{{.File}}.js", text: "node-part.js.tmpl", mainPath: "lib/main.js", mainText: "node-main.js.tmpl",
		run: func(c int) []string { return []string{"node", "lib/main.js", fmt.Sprint(c)} },
	},
	{
		language: "Rust", path: "src/{{.File}}.rs", text: "rust-part.rs.tmpl", mainPath: "src/main.rs", mainText: "rust-main.rs.tmpl",
		make: [][]string{{"rustc", "-g", "-o", "program.bin", "src/main.rs"}},
		run:  func(c int) []string { return []string{"./program.bin", fmt.Sprint(c)} },
	},
	{
		language: "C++", path: "src/{{.Package}}/{{.File}}.cc", text: "cpp-part.cc.tmpl", mainPath: "src/main.cc", mainText: "cpp-main.cc.tmpl",
		make: [][]string{{"sh", "-c", "g++ -g -O0 -o program.bin src/main.cc src/*/*.cc"}},
		run: func(c int) []string {
			return []string{"gdb", "-q", "-nx", "-batch", "-ex", "run", "-ex", "bt", "--args", "./program.bin", fmt.Sprint(c)}
		},
	},
	// C# is never run: its traces are generated from the documented format.
	{language: "C#", path: "src/{{.Package}}/{{.Type}}.cs", text: "csharp-part.cs.tmpl"},
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
	source, err := templates.ReadFile("testdata/programs/" + text)
	if err != nil {
		return err
	}
	if err := template.Must(template.New("").Parse(path)).Execute(&name, data); err != nil {
		return err
	}
	if err := template.Must(template.New("").Parse(string(source))).Execute(&content, data); err != nil {
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
