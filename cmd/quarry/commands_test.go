package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// cliPage is the page that documents the commands. QUARRY_GENERATE=1 (make generate)
// writes its list.
const (
	cliPage   = "../../docs/cli.md"
	cliMarker = "<!-- commands: written by make generate -->\n"
)

// listCommands returns all commands of the command line, each after its parent.
func listCommands(t *testing.T) []*kong.Node {
	t.Helper()
	parser, err := newParser(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	var all []*kong.Node
	var add func(n *kong.Node)
	add = func(n *kong.Node) {
		all = append(all, n)
		for _, child := range n.Children {
			add(child)
		}
	}
	add(parser.Model.Node)
	return all
}

func pathWords(n *kong.Node) []string { return strings.Fields(n.Path()) }

// TestCommandsPageIsCurrent compares docs/cli.md with the help of every command.
func TestCommandsPageIsCurrent(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var list strings.Builder
	for _, n := range listCommands(t) {
		code, help, stderr := runQuarry(t.Context(), append(pathWords(n), "--help")...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s --help: exit status %d, %q", n.FullPath(), code, stderr)
		}
		fmt.Fprintf(&list, "\n## %s\n\n```text\n%s```\n", n.FullPath(), help)
	}
	page, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), cliMarker)
	if !ok {
		t.Fatalf("%s has no line %q", cliPage, cliMarker)
	}
	want := head + cliMarker + list.String()
	if string(page) == want {
		return
	}
	if os.Getenv("QUARRY_GENERATE") == "1" {
		if err := os.WriteFile(cliPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what the commands say: run make generate", cliPage)
}

// TestHelpTexts checks that the help of every command is a sentence that begins with a
// verb, and that every flag and argument has help.
func TestHelpTexts(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z].*[.)]$`)
	for _, n := range listCommands(t)[1:] {
		if !sentence.MatchString(n.Help) {
			t.Errorf("%s: %q is no sentence", n.FullPath(), n.Help)
		}
		for _, v := range n.Values() {
			if v.Help == "" || (v.Flag != nil && !sentence.MatchString(v.Help)) {
				t.Errorf("%s: %s: %q is no sentence", n.FullPath(), v.ShortSummary(), v.Help)
			}
		}
	}
}

// TestExamples parses every example in the help texts, so that its commands and flags
// must exist.
func TestExamples(t *testing.T) {
	example := regexp.MustCompile(`(?m)^\t.*?\b(quarry .*?)(    #.*)?$`)
	parsed := 0
	for _, n := range listCommands(t) {
		for _, line := range example.FindAllStringSubmatch(n.Detail, -1) {
			text := line[1][strings.LastIndex(line[1], "quarry "):]
			args := shellWords(text)[1:]
			parser, err := newParser(new(cli))
			if err != nil {
				t.Fatal(err)
			}
			if args[0] == "search" {
				args = separateQuery(childNamed(parser.Model.Node, "search"), args)
			}
			if _, err := parser.Parse(args); err != nil {
				t.Errorf("%s: the example %q: %v", n.FullPath(), text, err)
			}
			parsed++
		}
	}
	if parsed < 30 {
		t.Errorf("%d examples were found", parsed)
	}
}

// shellWords splits a command line at blanks outside single quotes. It stops at a pipe, a
// redirection or a substitution.
func shellWords(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out[len(out)-1] += part
			continue
		}
		rest := strings.IndexAny(part, "|>)$")
		if rest >= 0 {
			part = part[:rest]
		}
		fields := strings.Fields(part)
		if i == 0 || strings.HasPrefix(part, " ") {
			out = append(out, fields...)
		} else if len(fields) > 0 {
			out[len(out)-1] += fields[0]
			out = append(out, fields[1:]...)
		}
		if strings.HasSuffix(part, " ") {
			out = append(out, "")
		}
		if rest >= 0 {
			break
		}
	}
	return slices.DeleteFunc(out, func(word string) bool { return word == "" })
}

// TestManPages writes the man pages and checks them with groff.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if code, _, stderr := runQuarry(t.Context(), "man", "--out", dir); code != exitOK {
		t.Fatal(stderr)
	}
	for _, n := range listCommands(t) {
		name := filepath.Join(dir, manName(n)+".1")
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
			continue
		}
		if _, err := exec.LookPath("groff"); err != nil {
			continue
		}
		var warnings bytes.Buffer
		groff := exec.Command("groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou", name)
		groff.Stderr = &warnings
		out, err := groff.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v: %s", name, err, &warnings)
		}
		text := strings.Join(strings.Fields(string(out)), " ")
		for _, want := range append(flagNames(n), "NAME "+manName(n)+" - ", "SYNOPSIS", "DESCRIPTION", "Show help.") {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

func flagNames(n *kong.Node) []string {
	var names []string
	for _, f := range n.Flags {
		names = append(names, "--"+f.Name)
	}
	return names
}
