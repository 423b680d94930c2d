package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-enry/go-enry/v2/data"
	"github.com/spf13/cobra"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/syntax"
)

// candidates finds completions for a word of the command line. A failure yields no
// candidates and no message, since a message would be printed into the command line.
type candidates struct{ ctx context.Context }

// completeWord returns the candidates for a word. kind is the value of the complete tag
// of a flag or an argument.
func (c *candidates) completeWord(kind string, cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch kind {
	case "path":
		return nil, cobra.ShellCompDirectiveDefault
	case "repository":
		return c.completeRepositories(cmd, word), cobra.ShellCompDirectiveNoFileComp
	case "query":
		words, directive := c.completeFilters(cmd, word), cobra.ShellCompDirectiveNoFileComp
		if len(words) > 0 && strings.HasSuffix(words[0], ":") { // the value follows
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return words, directive
	case "command":
		return completeSubcommands(cmd.Root(), args, word), cobra.ShellCompDirectiveNoFileComp
	}
	var values []string
	for value := range strings.SplitSeq(kind, ",") {
		if value != "" && strings.HasPrefix(value, strings.ToLower(word)) {
			values = append(values, value)
		}
	}
	return values, cobra.ShellCompDirectiveNoFileComp
}

// completeRepositories returns the names of repositories that contain text.
func (c *candidates) completeRepositories(cmd *cobra.Command, text string) []string {
	server, err := newClient(flagText(cmd, "server"), flagText(cmd, "api-key"), flagText(cmd, "data"))
	if err != nil {
		return nil
	}
	page, err := server.ListRepositories(c.ctx, client.ListRepositoriesParams{Query: text, PerPage: maxCandidates})
	if err != nil {
		return nil
	}
	var names []string
	for i := range page.Items {
		if name := page.Items[i].RepoName; terminal.Escape(name) == name { // never pass control characters to a shell
			names = append(names, name)
		}
	}
	return names
}

// flagText returns the value of a flag of a command line, or an empty string if it is not
// set.
func flagText(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// completeFilters completes a word of a query: a filter name or a filter value.
func (c *candidates) completeFilters(cmd *cobra.Command, word string) []string {
	bare := strings.TrimLeft(word, "-(")
	name, value, isFilter := strings.Cut(bare, ":")
	prefix := strings.TrimSuffix(word, bare)
	var values []string
	switch {
	case !isFilter && bare != "":
		for _, f := range syntax.FilterNames() {
			if len(f) > 1 { // do not offer one-letter names: people who know them do not need completion
				values = append(values, f+":")
			}
		}
	case isFilter && (name == "repo" || name == "r"):
		prefix += name + ":"
		values, bare = c.completeRepositories(cmd, value), ""
	case isFilter && (name == "lang" || name == "language" || name == "l"):
		prefix += name + ":"
		values, bare = slices.Sorted(maps.Keys(data.LanguageByAliasMap)), strings.ToLower(value)
	case isFilter && syntax.FilterWords(name) != nil:
		prefix += name + ":"
		values, bare = syntax.FilterWords(name), value
	}
	var words []string
	for _, v := range values {
		if strings.HasPrefix(v, bare) {
			words = append(words, prefix+v)
		}
	}
	return words
}

// completeSubcommands completes the arguments of help.
func completeSubcommands(root *cobra.Command, args []string, word string) []string {
	parent, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return nil
	}
	var names []string
	for _, child := range parent.Commands() {
		if strings.HasPrefix(child.Name(), word) {
			names = append(names, cobra.CompletionWithDesc(child.Name(), child.Short))
		}
	}
	return names
}
