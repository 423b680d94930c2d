package main

import (
	"cmp"
	"strings"
	"testing"
)

// TestSearchArguments parses command lines of search into flags and query.
func TestSearchArguments(t *testing.T) {
	flags := searchCommand{Color: "auto"}
	with := func(change func(*searchCommand)) searchCommand {
		f := flags
		change(&f)
		return f
	}
	asJSON := with(func(c *searchCommand) { c.JSON = true })
	for _, c := range []struct {
		args  string
		query string
		want  searchCommand
	}{
		{"foo", "foo", flags},
		{"--json foo", "foo", asJSON},
		{"foo --json", "foo", asJSON},
		{"foo --json bar", "foo bar", asJSON},
		{"repo:x -file:_test foo", "repo:x -file:_test foo", flags},
		{"-file:_test repo:x foo", "-file:_test repo:x foo", flags},
		{"-lang:go foo", "-lang:go foo", flags},
		{"-(a or b) foo", "-(a or b) foo", flags},
		{`-"a b" foo`, `-"a b" foo`, flags},
		{"foo -bar", "foo -bar", flags},
		{"foo -baz:x", "foo -baz:x", flags},
		{"foo -z", "foo -z", flags},
		{"foo -north", "foo -north", flags},
		{"foo -n 5", "foo", with(func(c *searchCommand) { c.Matches = new(5) })},
		{"foo -n5 -es", "foo", with(func(c *searchCommand) { c.Matches, c.Regex, c.Case = new(5), true, true })},
		{"-n5 foo", "foo", with(func(c *searchCommand) { c.Matches = new(5) })},
		{"-n 5 -C 2 -file:x foo", "-file:x foo", with(func(c *searchCommand) { c.Matches, c.Context = new(5), 2 })},
		{"-C2 foo -s", "foo", with(func(c *searchCommand) { c.Context, c.Case = 2, true })},
		{"-es foo", "foo", with(func(c *searchCommand) { c.Regex, c.Case = true, true })},
		{"foo --color never", "foo", with(func(c *searchCommand) { c.Color = "never" })},
		{"foo --color=never -x", "foo -x", with(func(c *searchCommand) { c.Color = "never" })},
		{"-- -foo", "-foo", flags},
		{"-- --json", "--json", flags},
		{"--json -- -e", "-e", asJSON},
		{"foo -- -n 5", "foo -n 5", flags},
		{"- foo", "- foo", flags},
		{"foo -", "foo -", flags},
	} {
		var got cli
		parser, err := newParser(&got)
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{"search"}, strings.Split(c.args, " ")...)
		if _, err := parser.Parse(separateQuery(childNamed(parser.Model.Node, "search"), args)); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		query := strings.Join(got.Search.Query, " ")
		found := got.Search
		found.Query, found.askFlags = nil, askFlags{}
		if query != c.query || found.JSON != c.want.JSON || found.Regex != c.want.Regex || found.Case != c.want.Case ||
			*cmp.Or(found.Matches, new(int)) != *cmp.Or(c.want.Matches, new(int)) || found.Context != c.want.Context || found.Color != c.want.Color {
			t.Errorf("search %s: query %q and %+v, want %q and %+v", c.args, query, found, c.query, c.want)
		}
	}
}

// TestSearchArgumentsRefused checks that unknown flags are rejected.
func TestSearchArgumentsRefused(t *testing.T) {
	for _, args := range []string{"--jsn foo", "foo --jsn", "-z foo", "-foo bar", "-n x foo", "foo -n", "--json"} {
		var got cli
		parser, err := newParser(&got)
		if err != nil {
			t.Fatal(err)
		}
		line := separateQuery(childNamed(parser.Model.Node, "search"), append([]string{"search"}, strings.Split(args, " ")...))
		if _, err := parser.Parse(line); err == nil {
			t.Errorf("search %s is accepted", args)
		}
	}
}
