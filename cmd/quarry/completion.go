package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"

	"github.com/quarrysearch/quarry/query/syntax"
)

// These are the requests of the completion scripts, with and without descriptions.
const (
	completeRequest      = cobra.ShellCompRequestCmd
	completeRequestPlain = cobra.ShellCompNoDescRequestCmd
)

const (
	// completionTimeout bounds the wait for the server when the user presses the tab key.
	completionTimeout = time.Second
	// maxCandidates bounds the repositories that one completion offers.
	maxCandidates = 50
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// Help implements kong.HelpProvider.
func (*completionCommand) Help() string {
	return `Prints a script that completes commands, flags, and the names of repositories and languages. Repository names come from the server given by the command line or QUARRY_SERVER. If it does not answer within a second, they are not completed.

Examples:

	source <(quarry completion bash)        # in ~/.bashrc
	source <(quarry completion zsh)         # in ~/.zshrc, after compinit
	quarry completion fish > ~/.config/fish/completions/quarry.fish
	quarry completion powershell | Out-String | Invoke-Expression    # in $PROFILE`
}

// Run implements the command.
func (c *completionCommand) Run(k *kong.Kong, s streams) error {
	root := commandTree(k.Model, nil)
	switch c.Shell {
	case "bash":
		if err := root.GenBashCompletionV2(s.out, true); err != nil {
			return err
		}
		_, err := io.WriteString(s.out, bashWithoutPackage)
		return err
	case "zsh":
		return root.GenZshCompletion(s.out)
	case "fish":
		var script strings.Builder
		if err := root.GenFishCompletion(&script, true); err != nil {
			return err
		}
		_, err := io.WriteString(s.out, strings.ReplaceAll(script.String(), fishSplit, fishSplitWord))
		return err
	default:
		return root.GenPowerShellCompletionWithDesc(s.out)
	}
}

// bashWithoutPackage replaces the function of cobra's script that needs the package
// bash-completion, which servers and containers often lack. Like the package, it joins
// the words that Bash splits at colons and equals signs.
const bashWithoutPackage = `
if ! declare -F _init_completion >/dev/null && ! declare -F _get_comp_words_by_ref >/dev/null; then
    __quarry_init_completion()
    {
        local rest=${COMP_LINE:0:COMP_POINT} i
        COMPREPLY=() words=() cword=-1
        for ((i = 0; i <= COMP_CWORD; i++)); do
            if [[ $i == 0 || $rest == [[:blank:]]* ]]; then
                rest=${rest#"${rest%%[![:blank:]]*}"}
                words[++cword]=""
            fi
            words[cword]+=${COMP_WORDS[i]:0:${#rest}}
            rest=${rest#"${COMP_WORDS[i]}"}
        done
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
`

// cobra's script parses a candidate with a leading minus sign, such as -repo:app, as an
// option of "string split".
const (
	fishSplit     = `string split --max 1 \t`
	fishSplitWord = `string split --max 1 -- \t`
)

// answerCompletion answers a request of a completion script. args holds the request and
// the words of the command line up to the cursor.
func answerCompletion(ctx context.Context, app *kong.Application, args []string, s streams) error {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	root := commandTree(app, &candidates{ctx: ctx})
	root.SetOut(s.out)
	root.SetErr(s.err)
	if len(args) > 2 && args[1] == "search" {
		args = separateQueryToComplete(app, args)
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// separateQueryToComplete is separateQuery for an incomplete command line: its last word
// may be a flag, the value of a flag, or part of the query.
func separateQueryToComplete(app *kong.Application, args []string) []string {
	last := len(args) - 1
	line := splitQuery(childNamed(app.Node, "search"), args[2:last])
	out := append([]string{args[0], "search"}, line.flags...)
	word := args[last]
	if line.wantsValue || (strings.HasPrefix(word, "-") && !line.ended && !isQueryWord(word) && !beginsFilter(word)) {
		return append(out, word)
	}
	return append(append(append(out, "--"), line.query...), word)
}

// beginsFilter reports whether a word that starts with a minus sign may become the name
// of a filter. A single letter may be a flag instead.
func beginsFilter(word string) bool {
	name := strings.TrimPrefix(word, "-")
	return len(name) > 1 && slices.ContainsFunc(syntax.FilterNames(), func(filter string) bool { return strings.HasPrefix(filter, name) })
}

func childNamed(n *kong.Node, name string) *kong.Node {
	for _, child := range n.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}
