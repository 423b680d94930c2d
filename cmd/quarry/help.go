package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	if _, flag, ok := strings.Cut(text, "unknown flag "); ok && node.Name == "search" {
		flag, _, _ = strings.Cut(flag, ",")
		if instead := otherFlags[strings.TrimSpace(flag)]; instead != "" {
			text = fmt.Sprintf("there is no flag %s: %s.", strings.TrimSpace(flag), instead)
		} else if !strings.HasPrefix(flag, "--") { // every short flag is near
			text = fmt.Sprintf("there is no flag %s.", strings.TrimSpace(flag))
		}
		if !strings.HasPrefix(flag, "--") {
			text += " To exclude a word, write it after the other words, or after --."
		}
	}
	if flag, ok := strings.CutPrefix(text, "unknown flag --"); ok && node.Parent == nil && isFlagBelow(node, flag) {
		text = "flag --" + flag + " belongs after the command"
	}
	return fmt.Errorf("%s\nrun %q for help", text, node.FullPath()+" --help")
}

// isFlagBelow reports whether a command below n has the flag.
func isFlagBelow(n *kong.Node, flag string) bool {
	return slices.ContainsFunc(n.Children, func(child *kong.Node) bool {
		return slices.ContainsFunc(child.Flags, func(f *kong.Flag) bool { return f.Name == flag }) || isFlagBelow(child, flag)
	})
}

// otherFlags maps flags of grep and ripgrep that quarry search does not have to what to
// write instead.
var otherFlags = map[string]string{
	"-v":             "write -line:PATTERN for lines without a text, or a minus before what files must not contain",
	"--invert-match": "write -line:PATTERN for lines without a text, or a minus before what files must not contain",
	"-T":             "write -lang:LANGUAGE in the query", "--type-not": "write -lang:LANGUAGE in the query",
	"-U": `write \n in an expression with --regex`, "--multiline": `write \n in an expression with --regex`,
	"-S": "write case:auto in the query", "--smart-case": "write case:auto in the query",
	"-m": "-n N limits the number of matches", "-r": "searches cover all directories; file:^PATH/ selects one",
	"-R":      "searches cover all directories; file:^PATH/ selects one",
	"--files": "quarry files REPOSITORY lists files", "--hidden": "hidden files are searched like others",
	"--no-ignore": "what is in the repository is searched, whatever .gitignore says",
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
	1    failure; search: nothing was found; verify, topics ensure, topics copy: differences
	2    wrong usage; search: the search failed
	130  interrupted by Ctrl-C; 143: terminated

Results are written to standard output, everything else to standard error.`
