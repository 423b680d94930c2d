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
	// maxCounted bounds the matches that are counted.
	maxCounted = 10_000
	// Up to an offset of firstOffsets, pages come from the best firstWindow matches,
	// since each match costs the text of its file. Later pages come from otherWindow
	// matches. Pages are consistent within a window; where the window changes, a file may
	// be repeated or left out.
	firstWindow, firstOffsets, otherWindow = 400, 25, maxCounted
	// leastOfFile is the number of matches to show of a file before the next file.
	leastOfFile  = 10
	defaultLimit = 100
)

var grepTool = &tool{
	name: "grep", scope: account.ScopeSearch,
	about: "Lines of files that match a regular expression, with the number of all matches.",
	params: []param{
		requiredParam("pattern", maxPatternBytes, "RE2, within lines, case as written"),
		flagParam("literal", "The pattern is plain text"),
		flagParam("ignoreCase", ""),
		repoFilter,
		pathFilter,
		textParam("include", maxPathBytes, "Glob of paths: *.go, /src/**/*.{ts,tsx}"),
		excludeParam,
		indexedRef,
		numberParam("limit", 1, maxCounted, unset, "Matches to show"),
		flagParam("groupByRepo", "Only count, by repository"),
		numberParam("context", 0, 10, 0, "Lines around each match"),
		numberParam("offset", 0, maxCounted, 0, ""),
		maxTokensParam,
	},
	call: (*call).grepFiles,
}

func (c *call) grepFiles(ctx context.Context) error {
	q := fileQuery{
		pattern: c.args.getText("pattern"), literal: c.args.getFlag("literal"), fold: c.args.getFlag("ignoreCase"),
		path: c.args.getText("path"), repo: c.args.getText("repo"), ref: c.args.getText("ref"),
	}
	if err := q.setPaths("include", c.args.getText("include"), c.args.getText("exclude")); err != nil {
		return err
	}
	limit := c.args.getNumber("limit")
	r := search.Request{Matches: maxCounted, Display: firstWindow, ContextLines: c.args.getNumber("context")}
	switch grouped := c.args.getFlag("groupByRepo"); {
	case grouped:
		if limit == unset {
			limit = maxCounted
		}
		r.Matches, r.Display, r.ContextLines = limit, limit, 0
	case limit == unset:
		limit = defaultLimit
	}
	if limit > firstWindow/4 || c.args.getNumber("offset") >= firstOffsets {
		r.Display = max(r.Display, min(otherWindow, r.Matches))
	}
	return c.runSearch(ctx, &q, r, func(found *search.Result) {
		c.addLinef("%s", countLine(found, "match", "matches"))
		if c.args.getFlag("groupByRepo") {
			c.writeGroups(found)
		} else {
			c.writeFiles(found, fileLimits{all: limit, file: max(leastOfFile, limit/10)})
		}
	})
}

// addLinef adds a line to the answer.
func (c *call) addLinef(format string, args ...any) { c.out.addLinef(format, args...) }

// countLine returns the first line of an answer.
func countLine(r *search.Result, one, many string) string {
	files := ""
	if one != "file" {
		files = " in " + formatCount(r.Stats.Files, "file", "files")
	}
	switch {
	case r.Exhaustive:
		return "Found " + formatCount(r.Stats.Matches, one, many) + files + "."
	case r.Stopped == search.StopMatchLimit:
		return fmt.Sprintf("Found more than %d %s. Narrow the search to count them all.", r.Stats.Matches-1, many)
	case r.Stopped == search.StopShardLost:
		return fmt.Sprintf("Found %s%s in the repositories that can be reached.", formatCount(r.Stats.Matches, one, many), files)
	}
	return fmt.Sprintf("Found at least %s%s; the search ended at its %s. Narrow it.", formatCount(r.Stats.Matches, one, many), files, r.Stopped)
}

// writeGroups writes the number of matches in each repository.
func (c *call) writeGroups(r *search.Result) {
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
		c.addLinef("Of those that were counted:")
	}
	for i, g := range groups {
		if !c.out.addLineIfFits(fmt.Sprintf("[%s] %s in %s", g.name, formatCount(g.matches, "match", "matches"), formatCount(g.files, "file", "files"))) {
			c.addLinef("%s, with fewer matches each.", formatCount(len(groups)-i, "more repository", "more repositories"))
			return
		}
	}
}

// fileLimits bounds how much of a result is shown.
type fileLimits struct {
	all  int  // matches of all files
	file int  // matches per file, if there are several files
	best bool // show matches on the best lines of a file instead of the first ones
}

// writeFiles writes the lines of the files from the offset on, grouped by repository.
// Repositories are in the order of their best file.
func (c *call) writeFiles(r *search.Result, limits fileLimits) {
	offset := c.args.getNumber("offset")
	if len(r.Files) == 1 && !limits.best {
		limits.file = limits.all
	}
	ref, _ := c.args["ref"].(string)
	o := fileOptions{context: c.args.getNumber("context"), refs: ref != "", complete: r.Stats.Displayed >= r.Stats.Matches, best: limits.best}
	var groups []*fileGroup
	byName := map[string]*fileGroup{}
	next, used := min(offset, len(r.Files)), 0
	for left := limits.all; next < len(r.Files) && left > 0; next++ {
		f := &r.Files[next]
		group := byName[f.Repo.Name]
		if group == nil {
			group = &fileGroup{name: f.Repo.Name}
		}
		text, shown := fileText(f, min(limits.file, left), o)
		if group.b.Len() == 0 {
			used += len(group.name) + len("\n[]\n")
		}
		if used += len(text); used > c.out.bytesLeft() {
			if next > offset {
				break
			}
			text = cutLines(text, c.out.bytesLeft())
		}
		if byName[group.name] == nil {
			byName[group.name] = group
			groups = append(groups, group)
		}
		group.b.WriteString(text)
		left -= shown
	}
	for _, group := range groups {
		c.addLinef("\n[%s]", group.name)
		c.out.b.WriteString(group.b.String())
	}
	c.writeRest(r, next)
}

// fileGroup is the text of the files of one repository.
type fileGroup struct {
	name string
	b    strings.Builder
}

// writeRest reports what was not shown.
func (c *call) writeRest(r *search.Result, next int) {
	switch {
	case next < len(r.Files):
		c.addLinef("\n%s: offset=%d goes on.", formatCount(r.Stats.Files-next, "more file", "more files"), next)
	case next < r.Stats.Files:
		c.addLinef("\n%s that cannot be paged to: narrow.", formatCount(r.Stats.Files-next, "more file", "more files"))
	case c.args.getNumber("offset") >= next && next > 0:
		c.addLinef("There are no files from offset %d on.", c.args.getNumber("offset"))
	}
}

// cutLines returns the complete lines of s that fit into n bytes.
func cutLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:strings.LastIndexByte(s[:max(n, 0)], '\n')+1] + "[cut: more maxTokens show more of this file]\n"
}

// fileOptions control how the matches of a file are written.
type fileOptions struct {
	context  int  // lines around a match
	refs     bool // name the refs that contain the file
	complete bool // the result contains all matches of its files
	best     bool // show the best lines, not the first ones
}

// fileText returns a file with at most limit of its matches, and the number of these
// matches.
func fileText(f *search.FileMatch, limit int, o fileOptions) (text string, shown int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s", pathText(f.Path), refsOf(f, o.refs))
	if len(f.Chunks) == 0 {
		b.WriteByte('\n')
		return b.String(), 1
	}
	b.WriteString(":\n")
	all, chunks := 0, f.Chunks
	for i := range chunks {
		all += len(chunks[i].Ranges)
	}
	if o.best {
		chunks = bestChunks(f, limit)
		limit = all
	}
	for i := range chunks {
		if shown >= limit {
			break
		}
		if i > 0 && o.context > 0 {
			b.WriteString("--\n")
		}
		take := min(limit-shown, len(chunks[i].Ranges))
		chunkLines(&b, &chunks[i], chunks[i].Ranges[:take], o.context)
		shown += take
	}
	switch {
	case all > shown && o.complete:
		fmt.Fprintf(&b, "(%d more)\n", all-shown)
	case all > shown:
		fmt.Fprintf(&b, "(at least %d more)\n", all-shown)
	case !o.complete && shown >= leastOfFile:
		b.WriteString("(there may be more)\n")
	}
	return b.String(), shown
}

// refsOf names the searched refs that contain the file, if wanted.
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

// chunkLines writes the lines of ranges in the format of grep: "12: match", "13-
// context".
func chunkLines(b *strings.Builder, chunk *search.Chunk, ranges []search.Range, context int) {
	number, start := chunk.Start.LineNumber, chunk.Start.ByteOffset
	for line := range bytes.Lines(chunk.Content) {
		near := false
		matched := slices.IndexFunc(ranges, func(r search.Range) bool {
			near = near || number >= r.Start.LineNumber-context && number <= lastLine(r)+context
			return number >= r.Start.LineNumber && number <= lastLine(r)
		})
		switch {
		case matched >= 0:
			fmt.Fprintf(b, "%d: %s\n", number, cutAround(line, max(0, ranges[matched].Start.ByteOffset-start)))
		case near:
			fmt.Fprintf(b, "%d- %s\n", number, cutAround(line, 0))
		}
		number, start = number+1, start+len(line)
	}
}

// lastLine returns the line of the last character of a range.
func lastLine(r search.Range) int {
	if r.End.Column == 1 && r.End.LineNumber > r.Start.LineNumber {
		return r.End.LineNumber - 1
	}
	return r.End.LineNumber
}
