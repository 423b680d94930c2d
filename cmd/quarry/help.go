package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/schemas/spelling"
)

type helpCommand struct {
	Command []string `arg:"" optional:"" complete:"command" help:"Command, such as search or users list."`
}

// Run implements the command: "help COMMAND" runs "COMMAND --help".
func (c *helpCommand) Run(ctx context.Context, s streams) error {
	if code := run(ctx, append(c.Command, "--help"), s); code != exitOK {
		return exitError(code)
	}
	return nil
}

// versionFlag prints the version instead of running a command.
type versionFlag bool

// BeforeReset implements kong's hook.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	_, err := fmt.Fprintln(app.Stdout, versionText())
	app.Exit(exitOK)
	return err
}

const unexpectedArgument = "unexpected argument "

// adviseUsage adds to a usage error the most similar command, unless the parser already
// names one, and how to get help.
func adviseUsage(app *kong.Application, err error) error {
	node := app.Node
	if e := new(kong.ParseError); errors.As(err, &e) && e.Context.Selected() != nil {
		node = e.Context.Selected()
	}
	parent := node
	if node.Parent != nil && node.Parent.DefaultCmd == node { // "users aprove" is parsed as "users list aprove"
		parent = node.Parent
	}
	text := err.Error()
	if word, ok := strings.CutPrefix(text, unexpectedArgument); ok && len(parent.Children) > 0 {
		word, advice, _ := strings.Cut(word, ", ")
		for _, near := range spelling.Nearest(word, commandNames(parent), 1) {
			advice = fmt.Sprintf("did you mean %q?", near)
		}
		node, text = parent, strings.TrimSuffix(fmt.Sprintf("unknown command %q; %s", word, advice), "; ")
	}
	if node.Name == "search" && strings.Contains(text, "unknown flag -") && !strings.Contains(text, "unknown flag --") {
		text += " To exclude a word, write it after the other words, or after --."
	}
	return fmt.Errorf("%s\nrun %q for help", text, node.FullPath()+" --help")
}

func commandNames(n *kong.Node) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, child := range n.Children {
			if !yield(child.Name) {
				return
			}
		}
	}
}

// exitStatusText is the section on exit statuses in the help of quarry.
const exitStatusText = `Exit status:

	0    success; search: a match was found
	1    failure; search: nothing was found; verify, topics ensure: differences
	2    wrong usage; search: the search failed
	130  interrupted by Ctrl-C; 143: terminated

Results are written to standard output, everything else to standard error.`
