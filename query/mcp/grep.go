package mcp

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/account"
)

// Bounds of grep and glob.
const (
	// maxCounted is how many matches are counted.
	maxCounted = 10_000
	// Pages are taken of the best matches there are: of the first so many up to an
	// offset, since each costs its file's text, of the others behind it. Within a
	// window pages fit together; behind the offset a file may come again, or not.
	firstWindow, firstOffsets, otherWindow = 400, 25, maxCounted
	// leastOfFile is how many matches of a file are shown before another file's turn.
	leastOfFile  = 10
	defaultLimit = 100
)

var grepTool = &tool{
	name: "grep", title: "Search file contents", scope: account.ScopeSearch,
	about: "Finds lines that match a regular expression in the contents of files, in all repositories or in one. " +
		"Use it for calls, identifiers, error messages, any text. Where a symbol is declared, find_symbol_definitions tells more exactly; names of files are found with glob. " +
		"The answer begins with the number of matches; then come the files, the best first, as `[repo] path:` with their lines as `line: text`. " +
		"A file with many matches shows some of them only, unless path names it. With groupByRepo it tells how many matches each repository has, and no lines: good for finding out where to look. " +
		"Searched are the default branches unless ref says otherwise; binary and very large files are not searched.",
	params: []param{
		required("pattern", maxPatternBytes, `Regular expression (RE2), matched within lines and with the case as written. Write \( \[ \{ \. \* for the characters themselves. Longer literal parts make it quicker.`),
		repoFilter,
		text("path", maxPathBytes, "A part of the path, literally: src/auth keeps the files whose path contains it."),
		text("include", maxPathBytes, "Glob that the path has to match: *.go, src/**/*.{ts,tsx}. It may begin at any directory; / at its beginning is the root."),
		indexedRef,
		whole("limit", 1, maxCounted, unsaid, "Matches to show: 100 unless said. With groupByRepo, matches to count: 10000 unless said."),
		flag("groupByRepo", false, "Count matches by repository instead of showing lines."),
		flag("ignoreCase", false, "Match letters in any case."),
		whole("context", 0, 10, 0, "Lines to show before and after each match."),
		whole("offset", 0, maxCounted, 0, "Files to pass over; the answer before says which offset comes next."),
	},
	call: (*call).grep,
}

func (c *call) grep(ctx context.Context) error {
	q := query{pattern: c.args.text("pattern"), path: c.args.text("path"), repo: c.args.text("repo"), ref: c.args.text("ref"), fold: c.args.flag("ignoreCase")}
	if err := q.setGlob("include", c.args.text("include")); err != nil {
		return err
	}
	limit := c.args.whole("limit")
	r := search.Request{Matches: maxCounted, Display: firstWindow, ContextLines: c.args.whole("context")}
	switch grouped := c.args.flag("groupByRepo"); {
	case grouped:
		if limit == unsaid {
			limit = maxCounted
		}
		r.Matches, r.Display, r.ContextLines = limit, limit, 0
	case limit == unsaid:
		limit = defaultLimit
	}
	if limit > firstWindow/4 || c.args.whole("offset") >= firstOffsets {
		r.Display = max(r.Display, min(otherWindow, r.Matches))
	}
	return c.search(ctx, &q, r, func(found *search.Result) {
		c.linef("%s", counted(found, "match", "matches"))
		if c.args.flag("groupByRepo") {
			c.groups(found)
		} else {
			c.files(found, limit)
		}
	})
}

// linef adds a line to the answer.
func (c *call) linef(format string, args ...any) { c.out.linef(format, args...) }

// counted is the first line of an answer.
func counted(r *search.Result, one, many string) string {
	files := ""
	if one != "file" {
		files = " in " + plural(r.Stats.Files, "file", "files")
	}
	switch {
	case r.Exhaustive:
		return "Found " + plural(r.Stats.Matches, one, many) + files + "."
	case r.Stopped == search.StopMatchLimit:
		return fmt.Sprintf("Found more than %d %s. Narrow it with repo, path, include or a longer pattern to have them all counted.", r.Stats.Matches-1, many)
	}
	return fmt.Sprintf("Found at least %s%s; the search ended at its %s. Narrow it with repo, path, include or a longer pattern.", plural(r.Stats.Matches, one, many), files, r.Stopped)
}

// groups writes how many matches each repository has.
func (c *call) groups(r *search.Result) {
	type group struct {
		name           string
		matches, files int
	}
	byName := map[string]*group{}
	var groups []*group
	for i := range r.Files {
		f := &r.Files[i]
		g := byName[f.Repo.Name]
		if g == nil {
			g = &group{name: f.Repo.Name}
			byName[g.name] = g
			groups = append(groups, g)
		}
		g.files++
		for _, chunk := range f.Chunks {
			g.matches += len(chunk.Ranges)
		}
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.matches, a.matches), strings.Compare(a.name, b.name))
	})
	if !r.Exhaustive {
		c.linef("Of those that were counted:")
	}
	for i, g := range groups {
		if !c.out.line(fmt.Sprintf("[%s] %s in %s", g.name, plural(g.matches, "match", "matches"), plural(g.files, "file", "files"))) {
			c.linef("%s, with fewer matches each.", plural(len(groups)-i, "more repository", "more repositories"))
			return
		}
	}
}

// files writes the lines of the files from the offset on, up to limit matches.
func (c *call) files(r *search.Result, limit int) {
	offset := c.args.whole("offset")
	ofFile := limit
	if len(r.Files) > 1 {
		ofFile = max(leastOfFile, limit/10)
	}
	next := min(offset, len(r.Files))
	for room := limit; next < len(r.Files) && room > 0; next++ {
		lines, shown := fileLines(&r.Files[next], min(ofFile, room), c.args.whole("context"), c.args.text("ref") != "", r.Stats.Displayed >= r.Stats.Matches)
		if !c.out.fits(len(lines)) && next > offset {
			break
		}
		c.out.b.WriteString(cutLines(lines, MaxAnswerBytes-noteRoom-c.out.b.Len()))
		room -= shown
	}
	c.rest(r, next)
}

// rest says what was not shown.
func (c *call) rest(r *search.Result, next int) {
	switch {
	case next < len(r.Files):
		c.linef("\n%s: offset=%d goes on; path, include and repo narrow.", plural(r.Stats.Files-next, "more file", "more files"), next)
	case next < r.Stats.Files:
		c.linef("\n%s that cannot be paged to: narrow with path, include or repo.", plural(r.Stats.Files-next, "more file", "more files"))
	case c.args.whole("offset") >= next && next > 0:
		c.linef("There are no files from offset %d on.", c.args.whole("offset"))
	}
}

// cutLines returns the whole lines of s that fit into n bytes.
func cutLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:strings.LastIndexByte(s[:max(n, 0)], '\n')+1] + "[cut: the answer is full; path=… with this file shows more]\n"
}

// fileLines returns a file with at most limit of its matches, and how many those
// are. Unless f is complete, it may have more than it says.
func fileLines(f *search.FileMatch, limit, context int, refs, complete bool) (text string, shown int) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n[%s] %s%s:\n", f.Repo.Name, pathText(f.Path), refsOf(f, refs))
	all := 0
	for i := range f.Chunks {
		chunk := &f.Chunks[i]
		all += len(chunk.Ranges)
		if shown == limit {
			continue
		}
		if i > 0 && context > 0 {
			b.WriteString("--\n")
		}
		take := min(limit-shown, len(chunk.Ranges))
		chunkLines(&b, chunk, chunk.Ranges[:take], context)
		shown += take
	}
	switch {
	case all > shown && complete:
		fmt.Fprintf(&b, "(%s in this file: path=%q)\n", plural(all-shown, "more match", "more matches"), f.Path)
	case all > shown:
		fmt.Fprintf(&b, "(at least %s in this file: path=%q)\n", plural(all-shown, "more match", "more matches"), f.Path)
	case !complete && shown >= leastOfFile:
		fmt.Fprintf(&b, "(there may be more matches in this file: path=%q)\n", f.Path)
	}
	return b.String(), shown
}

// refsOf names the searched refs that have the file, if a ref was asked for.
func refsOf(f *search.FileMatch, wanted bool) string {
	if !wanted || len(f.Refs) == 0 {
		return ""
	}
	names := make([]string, len(f.Refs))
	for i, ref := range f.Refs {
		names[i] = ref.Short()
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// chunkLines writes the lines of ranges, as grep does: "12: match", "13- context".
func chunkLines(b *strings.Builder, chunk *search.Chunk, ranges []search.Range, context int) {
	number := chunk.Start.LineNumber
	for line := range bytes.Lines(chunk.Content) {
		near := false
		matched := slices.ContainsFunc(ranges, func(r search.Range) bool {
			near = near || number >= r.Start.LineNumber-context && number <= lastLine(r)+context
			return number >= r.Start.LineNumber && number <= lastLine(r)
		})
		switch {
		case matched:
			fmt.Fprintf(b, "%d: %s\n", number, cutLine(line))
		case near:
			fmt.Fprintf(b, "%d- %s\n", number, cutLine(line))
		}
		number++
	}
}

// lastLine is the line of the last character of a range.
func lastLine(r search.Range) int {
	if r.End.Column == 1 && r.End.LineNumber > r.Start.LineNumber {
		return r.End.LineNumber - 1
	}
	return r.End.LineNumber
}
