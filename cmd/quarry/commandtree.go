package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"
)

// commandTree converts the commands of the parser to cobra commands, which cobra uses to
// write completion scripts and to answer their requests. cobra never runs them. Without
// candidates, no values are offered.
func commandTree(app *kong.Application, c *candidates) *cobra.Command {
	root := newCobraCommand(app.Node, c)
	root.Use, root.Short, root.Long = app.Name, "search the code of your repositories", app.Help
	root.CompletionOptions.DisableDefaultCmd = true
	root.DisableAutoGenTag = true
	for _, child := range root.Commands() {
		if child.Name() == "help" {
			root.SetHelpCommand(child)
		}
	}
	return root
}

func newCobraCommand(n *kong.Node, c *candidates) *cobra.Command {
	out := &cobra.Command{Use: n.Name, Short: strings.TrimSuffix(n.Help, "."), Long: n.Help + "\n\n" + n.Detail, DisableFlagsInUseLine: true}
	if n.Leaf() {
		out.Use = strings.TrimPrefix(n.Summary(), strings.TrimSuffix(n.Path(), n.Name))
		out.Run = func(*cobra.Command, []string) {} // without Run, cobra treats the command as a heading
	}
	for _, f := range n.Flags {
		addFlag(out, f, c)
	}
	if n.DefaultCmd != nil {
		for _, f := range n.DefaultCmd.Flags {
			addFlag(out, f, c)
		}
	}
	if len(n.Positional) > 0 {
		out.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			at := min(len(args), len(n.Positional)-1)
			if len(args) > at && !n.Positional[at].IsCumulative() {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeValue(n.Positional[at], c, cmd, args, word)
		}
	}
	for _, child := range n.Children {
		out.AddCommand(newCobraCommand(child, c))
	}
	return out
}

func addFlag(to *cobra.Command, f *kong.Flag, c *candidates) {
	if f.Hidden || f.Name == "help" { // cobra adds help itself
		return
	}
	short := ""
	if f.Short != 0 {
		short = string(f.Short)
	}
	added := to.Flags().VarPF(&flagValue{flag: f}, f.Name, short, f.Help)
	added.DefValue = f.FormatPlaceHolder()
	if f.IsBool() {
		added.NoOptDefVal, added.DefValue = "true", ""
	}
	_ = to.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return completeValue(f.Value, c, cmd, args, word)
	}) // fails only for a flag that does not exist
}

// completeValue returns the completion function of a flag or an argument.
func completeValue(v *kong.Value, c *candidates, cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if v.Enum != "" {
		return v.EnumSlice(), cobra.ShellCompDirectiveNoFileComp
	}
	return c.completeWord(v.Tag.Get("complete"), cmd, args, word)
}

// flagValue adapts a flag of the parser to pflag.Value.
type flagValue struct {
	flag *kong.Flag
	text string
}

// Set implements pflag.Value.
func (v *flagValue) Set(text string) error {
	v.text = text
	return nil
}

// String implements pflag.Value. It returns the value that was set, otherwise that of the
// environment, otherwise the default.
func (v *flagValue) String() string {
	text := v.text
	if v.flag == nil {
		return text // pflag creates zero values
	}
	for _, name := range v.flag.Tag.Envs {
		text = cmp.Or(text, os.Getenv(name))
	}
	return cmp.Or(text, v.flag.Default)
}

// Type implements pflag.Value. An array may be given again.
func (v *flagValue) Type() string {
	switch {
	case v.flag.IsSlice():
		return "Array"
	case v.flag.IsBool():
		return "bool"
	}
	return "value"
}
