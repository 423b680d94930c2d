package web

import (
	"cmp"
	"regexp"
	resyntax "regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// Bounds of counts by the text of a group of an expression.
const (
	maxCaptureTabs  = 4   // groups of one expression
	maxCaptureBytes = 200 // of a text; longer ones are cut, and counted together
)

// captureCounter counts the matches of an answer by the text of a group of an expression of
// its query. It reads the answer, so that the matches displayed bound its work and memory.
type captureCounter struct {
	term       *syntax.Text
	expression *regexp.Regexp
	group      int
	counts     map[string]*captureCount
	files      int
}

// captureCount is the number of matches with a text, and of their files.
type captureCount struct {
	text                     string
	matches, files, lastFile int
}

// findCaptures returns the first expression of a query that has groups, and their number; nil
// for none.
func findCaptures(q *syntax.Parsed) (found *syntax.Text, groups int) {
	syntax.Walk(q.Root, func(node syntax.Query) bool {
		if _, isNot := node.(*syntax.Not); isNot || found != nil {
			return false
		}
		if text, ok := node.(*syntax.Text); ok && text.Regexp {
			if tree, err := resyntax.Parse(text.Pattern, syntax.RegexpFlags); err == nil && tree.MaxCap() > 0 {
				found, groups = text, min(tree.MaxCap(), maxCaptureTabs)
			}
		}
		return true
	})
	return found, groups
}

// captureName returns the name of a group in addresses and tabs.
func captureName(group int) search.FacetName { return search.FacetName("$" + strconv.Itoa(group)) }

// newCaptureCounter returns the counter of a group by its name, or nil if the query has none
// of that name.
func newCaptureCounter(q *syntax.Parsed, by search.FacetName) *captureCounter {
	term, groups := findCaptures(q)
	for group := 1; group <= groups; group++ {
		if captureName(group) != by {
			continue
		}
		pattern, err := plan.Regexp(term.Pattern, term.Case != syntax.CaseYes)
		if err != nil {
			return nil
		}
		expression, err := regexp.Compile(pattern.Expression)
		if err != nil {
			return nil
		}
		return &captureCounter{term: term, expression: expression, group: group, counts: map[string]*captureCount{}}
	}
	return nil
}

// takeFiles is the search.Emit of the counts. Matches of other terms of the query are omitted.
func (c *captureCounter) takeFiles(files []search.FileMatch, _ search.Stats) error {
	for i := range files {
		c.files++
		for _, chunk := range files[i].Chunks {
			next := 0
			for _, at := range c.expression.FindAllSubmatchIndex(chunk.Content, -1) {
				from := at[0] + chunk.Start.ByteOffset
				for next < len(chunk.Ranges) && chunk.Ranges[next].Start.ByteOffset < from {
					next++
				}
				if next < len(chunk.Ranges) && chunk.Ranges[next].Start.ByteOffset == from {
					c.add(chunk.Content, at[2*c.group:2*c.group+2])
				}
			}
		}
	}
	return nil
}

// add counts a match whose group is at a place in a text; -1 if the group took no part in it.
func (c *captureCounter) add(content []byte, at []int) {
	text := ""
	if at[0] >= 0 {
		text = strings.ToValidUTF8(string(content[at[0]:min(at[1], at[0]+maxCaptureBytes)]), "")
	}
	count := c.counts[text]
	if count == nil {
		count = &captureCount{text: text}
		c.counts[text] = count
	}
	count.matches++
	if count.lastFile != c.files {
		count.lastFile = c.files
		count.files++
	}
}

// sortCounts returns the counts, largest first.
func (c *captureCounter) sortCounts() []*captureCount {
	var counts []*captureCount
	for _, count := range c.counts {
		counts = append(counts, count)
	}
	slices.SortFunc(counts, func(a, b *captureCount) int {
		return cmp.Or(cmp.Compare(b.matches, a.matches), cmp.Compare(a.text, b.text))
	})
	return counts
}

// narrowQuery returns the query with a text instead of the group, or the same query if the text
// is cut.
func (c *captureCounter) narrowQuery(q *syntax.Parsed, text string) string {
	tree, err := resyntax.Parse(c.term.Pattern, syntax.RegexpFlags)
	if err != nil || text == "" || len(text) >= maxCaptureBytes {
		return q.Text
	}
	var replace func(node *resyntax.Regexp)
	replace = func(node *resyntax.Regexp) {
		if node.Op == resyntax.OpCapture && node.Cap == c.group {
			*node = resyntax.Regexp{Op: resyntax.OpLiteral, Rune: []rune(text)}
			return
		}
		for _, child := range node.Sub {
			replace(child)
		}
	}
	replace(tree)
	narrowed := *c.term
	narrowed.Pattern = tree.String()
	whole := *q
	whole.Root = syntax.Map(q.Root, func(node syntax.Query) syntax.Query {
		if node == syntax.Query(c.term) {
			return &narrowed
		}
		return node
	})
	return whole.Print(q.Options)
}
