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

var (
	everyCommand = regexp.MustCompile(`(?m)^  -h, --help +Show help\.\n +--version +Print the version and exit\.\n`)
	childList    = regexp.MustCompile(`(?m)^\n[A-Z][a-z]+:\n(?:  [a-z]+ [a-z-]+ .*\n(?:     +.*\n)*)+`)
	// entryGroup matches the arguments of a command, or a group of its flags; entryLines
	// one of them, with its name and the lines of its text.
	entryGroup = regexp.MustCompile(`(?m)^[A-Z][a-z ]+:\n(?: +[-<\[].*\n(?: {7,}\S.*\n)*)+\n?`)
	entryLines = regexp.MustCompile(`(?m)^ +([-<\[].*?)  +(.*\n(?: {7,}\S.*\n)*)`)
)

// minCommon is how many commands have a flag or an argument that the page explains only
// once.
const minCommon = 3

// commonEntries returns the texts of flags and arguments that many commands have, by their
// names, and the names in the order in which the commands have them.
func commonEntries(helps []string) (map[string]string, []string) {
	counts, common, names := map[[2]string]int{}, map[string]string{}, []string(nil)
	for _, help := range helps {
		for _, group := range entryGroup.FindAllString(help, -1) {
			for _, m := range entryLines.FindAllStringSubmatch(group, -1) {
				entry := [2]string{m[1], strings.Join(strings.Fields(m[2]), " ")}
				counts[entry]++
				best, known := common[entry[0]]
				if counts[entry] >= minCommon && !known {
					names = append(names, entry[0])
				}
				if counts[entry] >= minCommon && counts[entry] > counts[[2]string{entry[0], best}] {
					common[entry[0]] = entry[1]
				}
			}
		}
	}
	return common, names
}

// shortenHelp leaves the texts of common entries out of a help text, and names the entries
// at its end.
func shortenHelp(help string, common map[string]string) string {
	var named []string
	help = entryGroup.ReplaceAllStringFunc(help, func(group string) string {
		title, entries, _ := strings.Cut(group, "\n")
		rest := entryLines.ReplaceAllStringFunc(entries, func(lines string) string {
			m := entryLines.FindStringSubmatch(lines)
			if common[m[1]] != strings.Join(strings.Fields(m[2]), " ") {
				return lines
			}
			name, _, _ := strings.Cut(m[1], "=")
			named = append(named, name)
			return ""
		})
		if strings.TrimSpace(rest) == "" {
			return ""
		}
		return title + "\n" + rest
	})
	if named == nil {
		return help
	}
	return strings.TrimRight(help, "\n") + "\n\nCommon: " + strings.Join(named, " ") + "\n"
}

// TestCommandsPageIsCurrent compares docs/cli.md with the help of every command. The page
// explains what many commands have once, above the commands.
func TestCommandsPageIsCurrent(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var titles, helps []string
	details := map[string]bool{}
	for _, n := range listCommands(t) {
		code, help, stderr := runQuarry(t.Context(), append(pathWords(n), "--help")...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s --help: exit status %d, %q", n.FullPath(), code, stderr)
		}
		if n.Parent != nil {
			help = everyCommand.ReplaceAllString(help, "")
			help = strings.ReplaceAll(help, "Flags:\n\n ", "Flags:\n ")
			help = strings.TrimSuffix(strings.ReplaceAll(help, "Flags:\n\n", ""), "\nFlags:\n")
			help = childList.ReplaceAllString(help, "") // their help follows
			help = strings.Replace(strings.TrimPrefix(help, "Usage: "), " [flags]\n", "\n", 1)
		}
		if n.Detail != "" && details[n.Detail] { // another name of a command above
			help = strings.Join(strings.SplitN(help, "\n\n", 3)[:2], "\n\n") + "\n"
		}
		details[n.Detail] = true
		titles, helps = append(titles, n.FullPath()), append(helps, help)
	}
	common, names := commonEntries(helps[1:])
	var list strings.Builder
	list.WriteString("\n## Common flags\n\nEvery command has `--help` and `--version`. These are named after `Common:` below.\n\n| Flag or argument | Meaning |\n| --- | --- |\n")
	for _, name := range names {
		fmt.Fprintf(&list, "| `%s` | %s |\n", name, common[name])
	}
	for i, help := range helps {
		if i > 0 {
			help = shortenHelp(help, common)
		}
		fmt.Fprintf(&list, "\n## %s\n\n```text\n%s```\n", titles[i], help)
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
			if err := parseCommandLine(t, line[1][strings.LastIndex(line[1], "quarry "):]); err != nil {
				t.Errorf("%s: the example %q: %v", n.FullPath(), line[1], err)
			}
			parsed++
		}
	}
	if parsed < 30 {
		t.Errorf("%d examples were found", parsed)
	}
}

// TestDocumentedCommands parses every quarry command in the code blocks of the pages, and
// looks up the commands and flags that their prose names.
func TestDocumentedCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	command := regexp.MustCompile(`^ *(?:\$ |[A-Z_]+=\S+ |sudo -u \S+ |.* && )?(quarry [a-z-].*)$`)
	comment, argument := regexp.MustCompile(`\s+#\s.*$`), regexp.MustCompile(`(--[a-z-]+) \$\([^)]*\)`)
	span := regexp.MustCompile("`(quarry [a-z-][^`]*)`")
	lines, spans := 0, 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		if page == cliPage {
			continue // its examples are those of the help
		}
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fence.FindAllString(string(b), -1) {
			for line := range strings.Lines(block) {
				m := command.FindStringSubmatch(comment.ReplaceAllString(strings.TrimSpace(line), ""))
				if m == nil {
					continue
				}
				if err := parseCommandLine(t, argument.ReplaceAllString(m[1], "$1 VALUE")); err != nil {
					t.Errorf("%s: %s: %v", page, m[1], err)
				}
				lines++
			}
		}
		prose := strings.Join(strings.Fields(fence.ReplaceAllString(string(b), "")), " ")
		for _, m := range span.FindAllStringSubmatch(prose, -1) {
			if fault := unknownWord(t, shellWords(m[1])[1:]); fault != "" {
				t.Errorf("%s: `%s`: there is no %s", page, m[1], fault)
			}
			spans++
		}
	}
	if lines < 60 || spans < 100 {
		t.Errorf("%d commands in code and %d in prose were found: the patterns of this test no longer match the pages", lines, spans)
	}
}

// parseCommandLine parses a command line that begins with quarry, as main does.
func parseCommandLine(t *testing.T, line string) error {
	t.Helper()
	parser, err := newParser(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	args := shellWords(line)[1:]
	if args[0] == "search" {
		args = separateQuery(childNamed(parser.Model.Node, "search"), args)
	}
	_, err = parser.Parse(args)
	return err
}

// unknownWord returns the first word that is neither a command nor, after a dash, a flag
// of the command before it. Arguments of a command without subcommands may be anything.
func unknownWord(t *testing.T, words []string) string {
	t.Helper()
	parser, err := newParser(new(cli))
	if err != nil {
		t.Fatal(err)
	}
	n := parser.Model.Node
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		child := childNamed(n, word)
		switch {
		case isFlag && name == "":
			return "" // what follows is a query
		case isFlag:
			flags := slices.Concat(n.Flags, parser.Model.Flags)
			if n.DefaultCmd != nil {
				flags = append(flags, n.DefaultCmd.Flags...)
			}
			if !slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == name }) {
				return "flag " + word
			}
		case child != nil:
			n = child
		case len(n.Children) > 0 && n.DefaultCmd == nil:
			return "command " + word
		}
	}
	return ""
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
