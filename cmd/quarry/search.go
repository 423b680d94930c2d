package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type searchCommand struct {
	askFlags
	Query       []string      `arg:"" complete:"query" help:"Words to search for, and filters such as repo:NAME, file:PATTERN, lang:go, sym:NAME and file:has.content(TEXT). docs/query-language.md describes the query language."`
	Matches     *int          `short:"n" name:"max-count" placeholder:"N" help:"Print up to N matches. The default on a terminal is a page: the best five lines of the ten best files; otherwise it is 1000."`
	Context     int           `short:"C" placeholder:"N" help:"Print N lines of context before and after each match."`
	After       *int          `short:"A" name:"after-context" placeholder:"N" help:"Print N lines of context after each match, whatever --context says."`
	Before      *int          `short:"B" name:"before-context" placeholder:"N" help:"Print N lines of context before each match, whatever --context says."`
	Regex       bool          `short:"e" help:"Interpret the words of the query as regular expressions. An argument with blanks, but without filters and operators, is one expression."`
	Case        bool          `short:"s" help:"Match case exactly."`
	IgnoreCase  bool          `short:"i" help:"Ignore case, which is the default, also for --case."`
	Words       bool          `short:"w" name:"word-regexp" help:"Find the words and phrases of the query only where they are whole words. Words consist of ASCII letters, digits and underscores."`
	Fixed       bool          `short:"F" name:"fixed-strings" help:"Search for the query as one text, without operators, filters and quotes."`
	Names       bool          `short:"l" name:"files-with-matches" help:"Print only the names of files with a match."`
	Count       bool          `short:"c" help:"Print only the number of matching lines of each file, among the matches that --max-count allows."`
	Only        bool          `short:"o" name:"only-matching" help:"Print only the matching parts of lines, each on its own line."`
	Type        []string      `short:"t" sep:"none" placeholder:"LANGUAGE" help:"Only files in this language, as with lang:LANGUAGE. If it is repeated, in any of them."`
	Glob        []string      `short:"g" sep:"none" placeholder:"GLOB" help:"Only files whose path matches GLOB, as with file:GLOB, or does not match it, after an exclamation mark. May be repeated."`
	EditorLinks bool          `help:"Print PATH:LINE:COLUMN: TEXT for each matching line, a format that editors can open."`
	JSON        bool          `help:"Print the answer of the API as JSON."`
	Explain     bool          `help:"Print to standard error how the query was executed and how long each step took."`
	Color       terminal.When `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Color the results: auto (on a terminal, unless NO_COLOR is set), always or never."`
	Hyperlink   terminal.When `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Link file names to their web pages: auto (on a terminal), always or never."`
}

// Help implements kong.HelpProvider.
func (*searchCommand) Help() string {
	return `Prints matching files, best first. Related files, such as a similar spelling if nothing is found, another style of an identifier, or files with that name, are printed separately: below the results on a terminal, otherwise to standard error. On a terminal, matching lines follow the name of each file, and long lines are truncated. Otherwise prints REPOSITORY:PATH:LINE:TEXT for each line; with lines of context, the number of a line without a match is followed by "-" instead of ":", and "--" separates groups of lines that are not adjacent. Control characters in files and names are escaped on a terminal.

The query needs quotes only for characters that the shell interprets. A minus sign before a filter or a parenthesis (-file:_test) excludes what matches it; so does one before a word that follows another word (foo -bar). Put a query that starts with an excluded word after "--".

Examples:

	quarry search context deadline
	quarry search repo:app -file:_test lang:go ReadAll
	quarry search --regex 'func \(\w+ \*Server\)'
	quarry search '"exact phrase"' -C 2
	quarry search -ws 'Close(' -A3
	quarry search -- -excluded wanted
	vim -q <(quarry search --editor-links TODO)

Exit status: 0 if a match was found, 1 if nothing was found, 2 if the search failed,
was stopped before it found anything, or the query is invalid.`
}

// Run implements the command. Like grep, it exits with 0 if there is a match, 1 if there
// is none, and 2 if the search failed.
func (c *searchCommand) Run(ctx context.Context, s streams) error {
	if c.Regex && (c.Words || c.Fixed) {
		return usageErrorf("--regex is for expressions, --fixed-strings and --word-regexp are for text; for whole words, write --regex '\\bEXPRESSION\\b'")
	}
	if c.Matches != nil && *c.Matches < 1 {
		return usageErrorf("--max-count is at least 1; --count prints numbers of lines")
	}
	found, err := c.runSearch(ctx, s)
	if err != nil {
		printError(s, addAdvice(err))
		return exitError(exitUsage)
	}
	if !found {
		return exitError(exitFailed)
	}
	return nil
}

func (c *searchCommand) runSearch(ctx context.Context, s streams) (found bool, err error) {
	server, err := c.newClient()
	if err != nil {
		return false, err
	}
	request := wire.SearchRequest{
		Query: c.queryText(), ContextLines: max(c.contextLines()),
		IsRegexEnabled: c.Regex, IsCaseSensitivityEnabled: c.Case && !c.IgnoreCase, Explain: c.Explain,
	}
	if c.Matches != nil {
		request.Matches = *c.Matches
	}
	if c.JSON {
		return c.printJSON(ctx, s, server, request)
	}
	return c.printResults(ctx, s, server, request)
}

// contextLines returns the numbers of lines to print before and after each match.
func (c *searchCommand) contextLines() (before, after int) {
	if c.Names || c.Count || c.Only {
		return 0, 0
	}
	before, after = c.Context, c.Context
	if c.Before != nil {
		before = *c.Before
	}
	if c.After != nil {
		after = *c.After
	}
	return before, after
}

// termText returns the query with its terms as --fixed-strings and --word-regexp read
// them. An invalid query stays as it is, so that the server reports it.
func (c *searchCommand) termText() string {
	words := c.Query
	if c.Regex {
		words = slices.Clone(words)
		for i, word := range words {
			words[i] = quoteExpression(word)
		}
	}
	text := strings.Join(words, " ")
	if text == "" || !c.Fixed && !c.Words {
		return text
	}
	o := syntax.Options{CaseSensitive: c.Case && !c.IgnoreCase}
	var parsed *syntax.Parsed
	if c.Fixed {
		term := &syntax.Text{Pattern: text, Case: syntax.CaseNo}
		if o.CaseSensitive {
			term.Case = syntax.CaseYes
		}
		parsed = &syntax.Parsed{Root: term}
	} else {
		var err error
		if parsed, err = syntax.Parse(text, o); err != nil {
			return text
		}
	}
	if c.Words {
		parsed.Root = syntax.Map(parsed.Root, wholeWords)
	}
	return parsed.PrintLiteral(o)
}

// quoteExpression quotes an argument that is one regular expression with blanks, as grep -e
// reads it. Words with a filter, an operator, a group or quotes are parts of a query.
func quoteExpression(word string) string {
	o := syntax.Options{Regexp: true}
	quoted := syntax.Print(&syntax.Text{Pattern: word, Regexp: true, Case: syntax.CaseNo}, o)
	if _, err := syntax.Parse(quoted, o); err != nil || !strings.ContainsAny(word, " \t") {
		return word
	}
	parsed, err := syntax.Parse(word, o)
	if err != nil && !strings.Contains(word, ":") {
		return quoted // only as a whole it is an expression
	}
	if err != nil {
		return word // the server reports it
	}
	for _, operand := range syntax.Operands(parsed.Root) {
		term, ok := operand.(*syntax.Text)
		if !ok || len(term.Lines) > 0 || word[term.At.Start:term.At.End] != term.Pattern {
			return word
		}
	}
	return quoted
}

// wholeWords replaces a literal term by an expression that does not match within words,
// as grep -w. At an end that is no part of a word, \B requires that no word follows.
func wholeWords(q syntax.Query) syntax.Query {
	t, ok := q.(*syntax.Text)
	if !ok || t.Regexp {
		return q
	}
	boundary := func(end byte) string {
		if end == '_' || '0' <= end && end <= '9' || 'A' <= end && end <= 'Z' || 'a' <= end && end <= 'z' {
			return `\b`
		}
		return `\B`
	}
	word := *t
	word.Pattern, word.Regexp = boundary(t.Pattern[0])+regexp.QuoteMeta(t.Pattern)+boundary(t.Pattern[len(t.Pattern)-1]), true
	return &word
}

// queryText returns the query with the filters of --type and --glob.
func (c *searchCommand) queryText() string {
	text := c.termText()
	if len(c.Type)+len(c.Glob) == 0 {
		return text
	}
	filters := ""
	for i, language := range c.Type {
		if i > 0 {
			filters += " or "
		}
		filters += "lang:" + quoteFilter(language)
	}
	if len(c.Type) > 1 {
		filters = "(" + filters + ")"
	}
	for _, glob := range c.Glob {
		glob, negated := strings.CutPrefix(glob, "!")
		sign := " "
		if negated {
			sign = " -"
		}
		filters += sign + (&syntax.File{Pattern: globPattern(glob), Case: syntax.CaseNo}).String()
	}
	if !c.Fixed && (strings.Contains(text, " or ") || strings.Contains(text, " OR ")) {
		text = "(" + text + ")"
	}
	return text + " " + strings.TrimSpace(filters)
}

// quoteFilter quotes the value of a filter if it contains a blank.
func quoteFilter(value string) string {
	if strings.ContainsAny(value, " \t\"") {
		return strconv.Quote(value)
	}
	return value
}

// globPattern returns the regular expression of a glob, or the glob if it is invalid, so
// that the server reports it.
func globPattern(glob string) string {
	pattern, err := syntax.GlobRegexp(glob)
	if err != nil {
		return glob
	}
	return pattern
}

const (
	// defaultMatches is the number of matches that are requested without --max-count.
	defaultMatches = 1000
	// pageFiles and pageLines bound a page: its files, and the lines of each file. The
	// page is selected from pageMatches matches.
	pageFiles, pageLines, pageMatches = 10, 5, 200
	// maxOrdered is the largest number of matches for which files are printed in order of
	// rank. Above it, files are printed as they are found.
	maxOrdered = 10_000
)

// printResults prints the results. On a terminal it prints one page, unless --max-count
// is set.
func (c *searchCommand) printResults(ctx context.Context, s streams, server *client.Client, request wire.SearchRequest) (found bool, err error) {
	p := newPrinter(s.screen, terminal.NewStyle(s.screen, c.Color, c.Hyperlink, s.environ))
	p.editor, p.namesOnly, p.countOnly, p.matchesOnly = c.EditorLinks, c.Names, c.Count, c.Only
	p.before, p.after = c.contextLines()
	p.context = p.before+p.after > 0
	if request.Matches == 0 {
		request.Matches = defaultMatches
		if p.style.Terminal && !p.editor && !p.countOnly {
			request.Display, p.maxFiles, p.maxLines = pageMatches, pageFiles, pageLines
		}
	}
	response, err := c.fetchFiles(ctx, server, request, func(files []wire.SearchFile) error {
		for i := range files {
			p.printFile(&files[i])
		}
		return p.flush()
	})
	if err != nil {
		return false, err
	}
	found = p.files+len(response.RepositoryInfo) > 0
	if p.files == 0 { // otherwise these are the repositories of the printed files
		for _, r := range response.RepositoryInfo {
			p.printLine(p.style.Path(p.style.Clean(keepOnLine(r.Name))))
		}
	}
	if c.Explain {
		if err := p.flush(); err != nil {
			return found, err
		}
		printExplain(s.err, &response.Explain)
	}
	if !found && response.IsSearchExhaustive {
		_, _ = fmt.Fprintf(s.err, "quarry: %s\n", describeNoMatch(ctx, server, request))
	}
	for _, n := range response.Notices {
		// This notice is for programs that were written for the established server, not
		// for users of this command line.
		if n.Code == wire.SearchNoticeCodeDIFFERENTMEANING {
			continue
		}
		_, _ = fmt.Fprintf(s.err, "quarry: %s%s\n", n.Message, retryAdvice(&n))
	}
	if err := errors.Join(p.flush(), c.printRelated(s, p.style, response.Related)); err != nil {
		return found, err
	}
	cut := isCut(response.IncompleteReason)
	switch {
	case !response.IsSearchExhaustive && !found && !cut:
		return false, errors.New(describeIncomplete(response))
	case !response.IsSearchExhaustive && (p.maxFiles == 0 || !cut):
		_, _ = fmt.Fprintf(s.err, "quarry: %s\n", describeIncomplete(response))
	case p.hidden || cut:
		_, _ = fmt.Fprintf(s.err, "quarry: %s\n", describeRemainder(p, response))
	}
	return found, nil
}

// relatedReasons describes why a file is related to the query.
var relatedReasons = map[wire.RelatedReason]string{
	wire.RelatedReasonSpelling: "another spelling", wire.RelatedReasonStyle: "another style", wire.RelatedReasonAccents: "other accents",
	wire.RelatedReasonWords: "files with most of the words", wire.RelatedReasonFileName: "files named so",
}

// printRelated prints files that are related to the query but do not match it. On a
// terminal it prints them after the matches; otherwise it prints them to standard error,
// so that standard output contains only matches.
func (c *searchCommand) printRelated(s streams, style terminal.Style, groups []wire.RelatedFiles) error {
	w := s.err
	if style.Terminal {
		w = s.screen
	}
	for _, g := range groups {
		p := newPrinter(w, style)
		p.editor = c.EditorLinks
		if style.Terminal {
			p.printLine("")
		}
		p.printLine("quarry: " + relatedReasons[g.Reason] + ", not counted: " + style.Clean(g.Query))
		for i := range g.Files {
			p.printFile(&g.Files[i])
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
	return nil
}

// fetchFiles passes the files that the server finds to show. If few matches are
// requested, the files come in order of rank.
func (c *searchCommand) fetchFiles(ctx context.Context, server *client.Client, request wire.SearchRequest, show func([]wire.SearchFile) error) (*wire.SearchResult, error) {
	if request.Matches > maxOrdered {
		return server.Collect(ctx, request, show)
	}
	response, err := server.Search(ctx, request)
	if err != nil {
		return nil, err
	}
	return response, show(response.Files)
}

// retryAdvice returns the query to search for instead, if that is more than a name.
func retryAdvice(n *wire.SearchNotice) string {
	if len(n.Queries) == 0 || n.Queries[0] == n.Suggestions[0] {
		return ""
	}
	return " Search for: " + n.Queries[0]
}

// isCut reports whether a result is incomplete because the request limited it.
func isCut(reason string) bool { return reason == "match limit" || reason == "display limit" }

// describeRemainder reports what a page leaves out, and how to see it.
func describeRemainder(p *printer, r *wire.SearchResult) string {
	files, matches := strconv.Itoa(r.Stats.FileCount), strconv.Itoa(r.Stats.TotalMatchCount)
	if r.Stats.TotalMatchCount > defaultMatches {
		files, matches = "more than "+files, "more than "+strconv.Itoa(defaultMatches)
	}
	return fmt.Sprintf("%d lines of %d files are shown; there are %s matches in %s files, and -n shows more", p.lines, p.files, matches, files)
}

// describeIncomplete explains why a result may lack matches, and what to do.
func describeIncomplete(r *wire.SearchResult) string {
	text := fmt.Sprintf("stopped after %d matches", r.Stats.ActualMatchCount)
	switch r.IncompleteReason {
	case "match limit":
		return text + "; there are more, and -n raises the limit"
	case "time limit":
		return text + " at the time limit of the server; there may be more, and filters such as repo: and file: make the search faster"
	case "behind the log":
		return "the server is behind the event log; what was pushed recently may be missing, so try again in some seconds"
	default:
		return text + " (" + r.IncompleteReason + "); there may be more"
	}
}

func (c *searchCommand) printJSON(ctx context.Context, s streams, server *client.Client, request wire.SearchRequest) (found bool, err error) {
	if request.Matches == 0 {
		request.Matches = defaultMatches
	}
	response, err := server.Raw(ctx, http.MethodPost, "/api/search", request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, client.MaxAnswerBytes))
	if err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	var result wire.SearchResult
	if err := json.Unmarshal(answer, &result); err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if _, err := s.out.Write(append(bytes.TrimRight(answer, "\n"), '\n')); err != nil {
		return false, err
	}
	found = len(result.Files)+len(result.RepositoryInfo) > 0
	if !found && !result.IsSearchExhaustive && !isCut(result.IncompleteReason) {
		return false, errors.New(describeIncomplete(&result))
	}
	return found, nil
}
