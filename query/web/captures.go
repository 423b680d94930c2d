package web

import (
	"cmp"
	"regexp"
	resyntax "regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// Bounds of counts by the text of a group of an expression.
const (
	maxCaptureTabs  = 4   // groups of one expression
	maxCaptureBytes = 200 // of a text; longer ones are cut, and counted together
	// maxCaptureTime bounds the time to find the groups of all matches, and maxCaptureSteps
	// those of one match, in instructions of the expression times bytes: package regexp
	// cannot be stopped, and may take as many.
	maxCaptureTime  = 2 * time.Second
	maxCaptureSteps = 1 << 23
)

// captureCounter counts the matches of an answer by the text of a group of an expression of
// its query. It reads the answer, so that the matches displayed bound its work and memory.
type captureCounter struct {
	term *syntax.Text
	// first matches the expression at the beginning of a text, and next after a rune, because
	// ^ and \b depend on it.
	first, next *regexp.Regexp
	maxBytes    int // of the text of a match
	group       int
	counts      map[string]*captureCount
	files       int
	taken       time.Duration
	isCut       bool // there was no time for all matches
}

// captureCount is the number of matches with a text, and of their files.
type captureCount struct {
	text                     string
	matches, files, lastFile int
	isCut                    bool // the text is the beginning of longer ones
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
		first, err := regexp.Compile(`\A(?:` + pattern.Expression + `)`)
		if err != nil {
			return nil
		}
		next, err := regexp.Compile(`\A(?s:.)(?:` + pattern.Expression + `)`)
		if err != nil {
			return nil
		}
		return &captureCounter{
			term: term, first: first, next: next, maxBytes: max(maxCaptureSteps/max(pattern.Instructions, 1), 1), group: group, counts: map[string]*captureCount{},
		}
	}
	return nil
}

// takeFiles is the search.Emit of the counts. Matches of other terms of the query are omitted.
func (c *captureCounter) takeFiles(files []search.FileMatch, _ search.Stats) error {
	started := time.Now()
	for i := range files {
		c.files++
		for _, chunk := range files[i].Chunks {
			for _, r := range chunk.Ranges {
				if c.taken+time.Since(started) > maxCaptureTime {
					c.isCut = true
					return nil
				}
				c.takeMatch(chunk.Content, r.Start.ByteOffset-chunk.Start.ByteOffset, r.End.ByteOffset-chunk.Start.ByteOffset)
			}
		}
	}
	c.taken += time.Since(started)
	return nil
}

// takeMatch counts the match of the expression at an offset of a text, if it ends by the end of a
// match of the query.
func (c *captureCounter) takeMatch(content []byte, at, end int) {
	expression, before := c.first, 0
	if at > 0 {
		_, size := utf8.DecodeLastRune(content[:at])
		expression, before = c.next, size
	}
	text := content[at-before : min(len(content), at+c.maxBytes)]
	if found := expression.FindSubmatchIndex(text); found != nil && found[1] <= end-at+before {
		c.add(text, found[2*c.group:2*c.group+2])
	}
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
	count.isCut = count.isCut || at[1]-at[0] > maxCaptureBytes
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
func (c *captureCounter) narrowQuery(q *syntax.Parsed, count *captureCount) string {
	tree, err := resyntax.Parse(c.term.Pattern, syntax.RegexpFlags)
	if err != nil || count.text == "" || count.isCut {
		return q.Text
	}
	var replace func(node *resyntax.Regexp)
	replace = func(node *resyntax.Regexp) {
		if node.Op == resyntax.OpCapture && node.Cap == c.group {
			*node = resyntax.Regexp{Op: resyntax.OpLiteral, Rune: []rune(count.text)}
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
