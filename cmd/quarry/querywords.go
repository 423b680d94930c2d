package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/query/syntax"
)

// searchLine is the parsed command line of a search.
type searchLine struct {
	flags, query []string
	// ended is set if the line contains --, after which everything is query text.
	ended bool
	// wantsValue is set if the last word is a flag without its value.
	wantsValue bool
}

// separateQuery moves the query of a search after --, so that the parser does not take a
// minus sign in the query for a flag. args begins with the name of the command.
func separateQuery(search *kong.Node, args []string) []string {
	line := splitQuery(search, args[1:])
	out := append([]string{args[0]}, line.flags...)
	if len(line.query) > 0 {
		out = append(append(out, "--"), line.query...)
	}
	return out
}

// splitQuery splits the words after search into flags and query text. Query text is
//
//   - every word that does not begin with a minus sign and is not the value of a flag
//   - -filter:, -( and -", anywhere
//   - after the first such word, everything that is not spelled like a known short
//     flag or does not begin with two minus signs
//   - everything after --
func splitQuery(search *kong.Node, args []string) (line searchLine) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			line.ended = true
			line.query = append(line.query, args[i+1:]...)
			return line
		case !strings.HasPrefix(word, "-") || isQueryWord(word) || (len(line.query) > 0 && !isFlag(search, word)):
			line.query = append(line.query, word)
			continue
		}
		line.flags = append(line.flags, word)
		if line.wantsValue = takesNextWord(search, word); line.wantsValue && i+1 < len(args) {
			i++
			line.flags, line.wantsValue = append(line.flags, args[i]), false
		}
	}
	return line
}

// isQueryWord reports whether a word with a leading minus sign can only be query text.
func isQueryWord(word string) bool {
	rest, negated := strings.CutPrefix(word, "-")
	return negated && (rest == "" || strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, `"`) ||
		slices.ContainsFunc(syntax.FilterNames(), func(name string) bool { return strings.HasPrefix(rest, name+":") }))
}

var shortFlagPattern = regexp.MustCompile(`^-[A-Za-z]+[0-9]*$`)

// isFlag reports whether a word after the first query word is a flag: --anything, or
// known short flags, the last of which may carry a number: -n5, -es.
func isFlag(search *kong.Node, word string) bool {
	if strings.HasPrefix(word, "--") {
		return true
	}
	if !shortFlagPattern.MatchString(word) {
		return false
	}
	letters := strings.TrimRight(word[1:], "0123456789")
	for i, letter := range letters {
		f := shortFlag(search, letter)
		last := i == len(letters)-1
		if f == nil || (last && f.IsBool() && len(letters) < len(word)-1) || (!last && !f.IsBool()) {
			return false
		}
	}
	return true
}

// takesNextWord reports whether the word after a flag is its value.
func takesNextWord(search *kong.Node, word string) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		for _, f := range searchFlags(search) {
			if f.Name == name {
				return !f.IsBool()
			}
		}
		return false // unknown flag, or --flag=value
	}
	for i, letter := range word[1:] {
		f := shortFlag(search, letter)
		if f == nil {
			return false
		}
		if !f.IsBool() {
			return 1+i+1 == len(word)
		}
	}
	return false
}

func shortFlag(search *kong.Node, letter rune) *kong.Flag {
	for _, f := range searchFlags(search) {
		if f.Short == letter {
			return f
		}
	}
	return nil
}

// searchFlags returns the flags of the search command and the global flags.
func searchFlags(search *kong.Node) []*kong.Flag { return slices.Concat(search.AllFlags(false)...) }
