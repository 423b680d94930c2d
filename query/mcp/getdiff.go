package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	maxDiffLines = 2000
	// defaultRevision stands for the default branch.
	defaultRevision = "HEAD"
)

var getDiffTool = &tool{
	name: "get_diff", scope: account.ScopeGit,
	about: "Unified diff of two revisions, after a list of the files that differ.",
	params: []param{
		repoParam,
		requiredParam("base", code.MaxRefBytes, "Revision, or base..head"),
		textParam("head", code.MaxRefBytes, "Absent: the default branch"),
		textParam("path", maxPathBytes, "File or directory"),
		numberParam("offset", 0, 10_000_000, 0, ""),
		numberParam("limit", 1, maxDiffLines, 500, "Lines"),
		maxTokensParam,
	},
	call: (*call).getDiff,
}

func (c *call) getDiff(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	base, head := c.args.getText("base"), c.args.getText("head")
	if first, second, isRange := strings.Cut(base, ".."); isRange && head == "" {
		base, head = first, second
	}
	files, err := c.o.Source.Diff(ctx, r, cmp.Or(base, defaultRevision), cmp.Or(head, defaultRevision), c.args.getText("path"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		c.addLinef("Nothing differs.")
		if path := c.args.getText("path"); path != "" {
			c.addLinef("Only %q was compared: leave path out to see whether anything else differs.", path)
		}
		return nil
	}
	var lines []string
	added, removed := 0, 0
	var summary []string
	for i := range files {
		plus, minus := countChangedLines(&files[i])
		added, removed = added+plus, removed+minus
		summary = append(summary, fmt.Sprintf("%s +%d -%d", diffTitle(&files[i]), plus, minus))
		lines = append(lines, diffLines(&files[i])...)
	}
	offset := c.args.getNumber("offset")
	if c.addLinef("%s, +%d -%d lines.", formatCount(len(files), "file differs", "files differ"), added, removed); offset == 0 {
		c.writeSummary(summary)
	}
	next := c.out.addPage(lines, offset, c.args.getNumber("limit"))
	if next < len(lines) {
		c.addLinef("%d more lines: offset=%d goes on; path narrows.", len(lines)-next, next)
	} else if offset >= len(lines) {
		c.noLines(offset, len(lines))
	}
	return nil
}

// maxSummary bounds the files that are listed before a diff.
const maxSummary = 30

func (c *call) writeSummary(files []string) {
	for i, line := range files {
		if i == maxSummary || !c.out.addLineIfFits(line) {
			c.addLinef("and %d more", len(files)-i)
			break
		}
	}
	c.addLinef("")
}

func diffTitle(f *source.FileDiff) string {
	switch {
	case f.Old == "":
		return f.New + " (added)"
	case f.New == "":
		return f.Old + " (deleted)"
	case f.Old != f.New:
		return f.Old + " => " + f.New
	}
	return f.New
}

// countChangedLines counts the lines added and removed.
func countChangedLines(f *source.FileDiff) (added, removed int) {
	for _, h := range f.Hunks {
		for line := range strings.Lines(h.Body) {
			switch line[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed
}

// diffLines returns the difference of a file in the format of git diff.
func diffLines(f *source.FileDiff) []string {
	side := func(prefix, path string) string {
		if path == "" {
			return "/dev/null"
		}
		return prefix + path
	}
	lines := []string{"--- " + side("a/", f.Old), "+++ " + side("b/", f.New)}
	if len(f.Hunks) == 0 {
		return append(lines, "(binary, or only its name or mode differs)")
	}
	for _, h := range f.Hunks {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", h.Old.Start, h.Old.Lines, h.New.Start, h.New.Lines, h.Heading), " "))
		lines = append(lines, strings.Split(h.Body, "\n")...)
	}
	return lines
}
