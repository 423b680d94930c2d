package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/account"
)

// defaultBest and defaultOfOne are the lines that search shows per file if there are
// several files, or if there is one, unless the call sets limit.
const defaultBest, defaultOfOne = 5, 20

var searchTool = &tool{
	name: "search", scope: account.ScopeSearch,
	about: "Ranked search, best lines of the best files first. All words must occur in a file, in any case; \"quoted\" is exact; /regex/; or, -not, (). " +
		"Filters: repo: file: lang: sym: rev: and globs in file:. Pasted code and error messages work too.",
	params: []param{
		requiredParam("query", maxPatternBytes, ""),
		flagParam("literal", "Find the query as literal text"),
		excludeParam,
		repoFilter,
		numberParam("limit", 1, 50, unset, "Lines of each file"),
		numberParam("context", 0, 10, 0, "Lines around each"),
		offsetParam, maxTokensParam,
	},
	call: (*call).rankedSearch,
}

func (c *call) rankedSearch(ctx context.Context) error {
	q := fileQuery{repo: c.args.getText("repo")}
	if c.args.getFlag("literal") {
		q.pattern, q.literal, q.fold = c.args.getText("query"), true, true
	} else {
		parsed, err := c.o.ParseQuery(auth.From(ctx), c.args.getText("query"), syntax.Options{})
		if err != nil {
			return err
		}
		q.text = parsed
	}
	if err := q.setExclude(c.args.getText("exclude")); err != nil {
		return err
	}
	r := search.Request{Matches: maxCounted, Display: firstWindow, ContextLines: c.args.getNumber("context"), Related: c.args.getNumber("offset") == 0}
	if c.args.getNumber("offset") >= firstOffsets {
		r.Display = otherWindow
	}
	return c.runSearch(ctx, &q, r, func(found *search.Result) {
		if found.Repositories != nil {
			c.writeRepositories(found)
		} else {
			c.addLinef("%s", countLine(found, "match", "matches"))
			c.writeFiles(found, fileLimits{file: c.linesOfFile(found), all: firstWindow, best: true})
			c.writeRelated(found.Related)
		}
		c.writeNotices(q.completeNotices(found.Notices), q.argumentOf)
	})
}

// relatedReasons explain why files may be meant.
var relatedReasons = map[search.RelatedReason]string{
	search.RelatedSpelling: "another spelling", search.RelatedStyle: "another style", search.RelatedAccents: "other accents", search.RelatedWords: "most of the words", search.RelatedFileName: "named so",
}

// writeRelated writes the groups of files that may be meant besides the matching ones,
// while there is room for a file of a group.
func (c *call) writeRelated(groups []search.Related) {
	for _, g := range groups {
		repository, text := "", fmt.Sprintf("\nNot counted, %s (query %s):\n", relatedReasons[g.Reason], g.Query)
		written := 0
		for i := range g.Files {
			f := &g.Files[i]
			if f.Repo.Name != repository {
				repository = f.Repo.Name
				text += "[" + repository + "]\n"
			}
			lines, _ := fileText(f, defaultBest, fileOptions{best: true, complete: true})
			if !c.out.hasRoom(len(text) + len(lines)) {
				break
			}
			c.out.b.WriteString(text + lines)
			text, written = "", written+1
		}
		if written < len(g.Files) {
			return
		}
	}
}

// linesOfFile returns how many lines search shows of each file.
func (c *call) linesOfFile(found *search.Result) int {
	limit := c.args.getNumber("limit")
	switch {
	case limit != unset:
		return limit
	case len(found.Files) == 1:
		return defaultOfOne
	}
	return defaultBest
}

// writeRepositories writes the names of repositories from the offset on.
func (c *call) writeRepositories(found *search.Result) {
	c.addLinef("Found %s.", formatCount(len(found.Repositories), "repository", "repositories"))
	names := make([]string, len(found.Repositories))
	for i, r := range found.Repositories {
		names[i] = r.Name
	}
	if next := c.out.addPage(names, c.args.getNumber("offset"), len(names)); next < len(names) {
		c.addLinef("%d more: offset=%d goes on.", len(names)-next, next)
	}
}

// bestChunks keeps at most limit matching lines of a file: its best lines and then the
// first of the others. The chunk with the best line is the first; the others are in file
// order.
func bestChunks(f *search.FileMatch, limit int) (chunks []search.Chunk) {
	wanted := map[int]bool{}
	for _, line := range f.BestLines[:min(limit, len(f.BestLines))] {
		wanted[line] = true
	}
	for i := range f.Chunks {
		for _, r := range f.Chunks[i].Ranges {
			if len(wanted) < limit {
				wanted[r.Start.LineNumber] = true
			}
		}
	}
	for i := range f.Chunks {
		chunk := f.Chunks[i]
		chunk.Ranges = nil
		for _, r := range f.Chunks[i].Ranges {
			if wanted[r.Start.LineNumber] {
				chunk.Ranges = append(chunk.Ranges, r)
			}
		}
		if len(chunk.Ranges) > 0 {
			chunks = append(chunks, chunk)
		}
	}
	best := slices.IndexFunc(chunks, func(c search.Chunk) bool {
		return len(f.BestLines) > 0 && slices.ContainsFunc(c.Ranges, func(r search.Range) bool { return r.Start.LineNumber == f.BestLines[0] })
	})
	if best > 0 {
		chunks = slices.Concat(chunks[best:best+1], chunks[:best], chunks[best+1:])
	}
	return chunks
}
