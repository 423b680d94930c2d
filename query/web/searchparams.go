package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of a page of results.
const (
	// defaultMatches are shown unless the address sets a number, at most maxMatches.
	defaultMatches, maxMatches = 1000, 10_000
	// countedMatches are counted, so that the number and the facets are exact for most
	// queries. Fewer are counted while the query is typed.
	countedMatches, countedTyping = 100_000, 5000
	// typingMatches are shown while the query is typed.
	typingMatches = 50
	// defaultFiles are shown, at most maxFiles: a page with more is slow to lay out.
	defaultFiles, maxFiles = 500, 5000
	// defaultContext lines are shown around a match, at most maxContext.
	defaultContext, maxContext = 1, 20
	joinLines                  = 3 // chunks with fewer lines between them are one
)

// searchParams are the query and the options of an address: the state of the page.
type searchParams struct {
	Query        string
	Regexp, Case bool
	Matches      int // to show
	Files        int // to show
	Context      int
	FilesOnly    bool
	Explain      bool
	ByRank       bool   // sort files by rank once all are found
	Within       string // the repository of the switch in the search box; empty if it is off
	isFragment   bool   // a script requests the parts of the page
	isTyping     bool   // while the query is being typed
}

// readSearchParams reads an address. It also accepts the parameter names of other
// programs, and ignores invalid values.
func readSearchParams(r *http.Request) searchParams {
	v := r.URL.Query()
	first := func(names ...string) string {
		for _, name := range names {
			if value := v.Get(name); value != "" {
				return value
			}
		}
		return ""
	}
	number := func(def, least, most int, names ...string) int {
		n, err := strconv.Atoi(first(names...))
		if err != nil || n < least {
			return def
		}
		return min(n, most)
	}
	isSet := func(names ...string) bool {
		value := first(names...)
		return value == "1" || value == "true" || value == "on"
	}
	return searchParams{
		Query: first("q", "query"), Regexp: isSet("re", "isRegexEnabled"), Case: isSet("case", "isCaseSensitivityEnabled"),
		Matches: number(defaultMatches, 1, maxMatches, "n", "matches"), Files: number(defaultFiles, 1, maxFiles, "files"),
		Context: number(defaultContext, 0, maxContext, "ctx"), FilesOnly: v.Get("view") == "files", Explain: isSet("explain"), ByRank: v.Get("sort") == "rank",
		Within: cutText(v.Get("in"), code.MaxNameBytes), isFragment: isSet("fragment"), isTyping: isSet("typing"),
	}
}

// syntaxOptions are how the query is read.
func (p *searchParams) syntaxOptions() syntax.Options {
	return syntax.Options{Regexp: p.Regexp, CaseSensitive: p.Case}
}

// request returns the search of the parameters.
func (p *searchParams) request(q *syntax.Parsed) search.Request {
	r := search.Request{Query: q, Matches: countedMatches, Display: p.displayLimit(), ContextLines: p.Context, JoinLines: joinLines, Explain: p.Explain, Facets: true}
	if p.isTyping {
		r.Matches = countedTyping
	}
	return r
}

// displayLimit returns how many matches a response shows.
func (p *searchParams) displayLimit() int {
	if p.isTyping {
		return min(typingMatches, p.Matches)
	}
	return p.Matches
}

// URL returns the address of the same page for another query.
func (p searchParams) URL(query string) string {
	v := url.Values{"q": {query}}
	if p.Regexp {
		v.Set("re", "1")
	}
	if p.Case {
		v.Set("case", "1")
	}
	if p.Matches != defaultMatches {
		v.Set("n", strconv.Itoa(p.Matches))
	}
	if p.Files != defaultFiles {
		v.Set("files", strconv.Itoa(p.Files))
	}
	if p.Context != defaultContext {
		v.Set("ctx", strconv.Itoa(p.Context))
	}
	if p.FilesOnly {
		v.Set("view", "files")
	}
	if p.Explain {
		v.Set("explain", "1")
	}
	if p.ByRank {
		v.Set("sort", "rank")
	}
	return "/search?" + v.Encode()
}

// IsMultiline reports whether the query has several lines, which need a larger field;
// templates call it.
func (p *searchParams) IsMultiline() bool { return strings.Contains(p.Query, "\n") }

// fresh returns the parameters without those of a single response.
func (p searchParams) fresh() searchParams {
	p.Matches, p.Files, p.Explain, p.ByRank = defaultMatches, defaultFiles, false, false
	return p
}

// plainParams returns the parameters of an address without any.
func plainParams() searchParams {
	return searchParams{Matches: defaultMatches, Files: defaultFiles, Context: defaultContext}
}
