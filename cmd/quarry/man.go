package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

type manCommand struct {
	Out string `required:"" placeholder:"DIR" complete:"path" help:"Directory for the man pages. It is created if it does not exist."`
}

// Help implements kong.HelpProvider.
func (*manCommand) Help() string {
	return `Writes a man page for each command: quarry.1, quarry-search.1, and so on.

Examples:

	quarry man --out ~/.local/share/man/man1
	man quarry-search`
}

// Run implements the command.
func (c *manCommand) Run(k *kong.Kong) error {
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	return writeManPages(c.Out, k.Model.Node)
}

// writeManPages writes the man page of a command and those of its subcommands.
func writeManPages(dir string, n *kong.Node) error {
	name := filepath.Join(dir, manName(n)+".1")
	if err := os.WriteFile(name, []byte(manPage(n)), 0o644); err != nil {
		return err
	}
	for _, child := range n.Children {
		if err := writeManPages(dir, child); err != nil {
			return err
		}
	}
	return nil
}

func manName(n *kong.Node) string { return strings.ReplaceAll(n.FullPath(), " ", "-") }

// manPage returns the man page of a command in the macros of man(7). It contains no date,
// so that the same version always yields the same page.
func manPage(n *kong.Node) string {
	summary, rest, _ := strings.Cut(n.Help, "\n")
	p := new(manPrinter)
	p.writeMacro("TH", strings.ToUpper(manName(n)), "1", "", "quarry "+boot.ReadBuild().Version, "Quarry")
	p.writeMacro("SH", "NAME")
	p.writeLine(manName(n) + " - " + strings.TrimSuffix(summary, "."))
	p.writeMacro("SH", "SYNOPSIS")
	p.writeMacro("B", formatSynopsis(n))
	p.writeMacro("SH", "DESCRIPTION")
	p.writeText(strings.TrimSpace(summary + "\n" + rest + "\n\n" + n.Detail))
	if len(n.Positional) > 0 {
		p.writeMacro("SH", "ARGUMENTS")
	}
	for _, a := range n.Positional {
		p.writeItem(a.Summary(), a.Help)
	}
	p.writeMacro("SH", "OPTIONS")
	for _, flags := range n.AllFlags(true) {
		for _, f := range flags {
			p.writeItem(f.String(), kong.DefaultHelpValueFormatter(f.Value))
		}
	}
	if len(n.Children) > 0 {
		p.writeMacro("SH", "COMMANDS")
	}
	for _, child := range n.Children {
		p.writeItem(manName(child)+"(1)", child.Help)
	}
	if n.Parent != nil {
		p.writeMacro("SH", "SEE ALSO")
		p.writeMacro("BR", manName(n.Parent), "(1)")
	}
	return p.String()
}

// formatSynopsis returns the first line of the help of a command.
func formatSynopsis(n *kong.Node) string {
	if n.Parent == nil {
		return n.Name + " <command> [flags]"
	}
	return "quarry " + n.Summary()
}

// manPrinter builds a page in roff.
type manPrinter struct{ strings.Builder }

var (
	roffEscaper  = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`)
	macroEscaper = strings.NewReplacer(`"`, `\(dq`)
)

func (p *manPrinter) writeMacro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		fmt.Fprintf(p, ` "%s"`, macroEscaper.Replace(roffEscaper.Replace(a)))
	}
	p.WriteByte('\n')
}

// writeLine writes text and escapes a leading period, which would start a macro.
func (p *manPrinter) writeLine(text string) {
	text = roffEscaper.Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	p.WriteString(text + "\n")
}

func (p *manPrinter) writeItem(name, text string) {
	p.writeMacro("TP")
	p.writeMacro("B", name)
	p.writeLine(text)
}

// writeText writes paragraphs. Indented paragraphs are not filled.
func (p *manPrinter) writeText(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		p.writeMacro("PP")
		indented := strings.HasPrefix(paragraph, "\t")
		if indented {
			p.writeMacro("EX")
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			p.writeLine(strings.ReplaceAll(line, "\t", "    "))
		}
		if indented {
			p.writeMacro("EE")
		}
	}
}
