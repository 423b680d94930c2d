package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// FileDiff is what differs in one file between two commits.
type FileDiff struct {
	// Old and New are the paths, spelled by code.SpellPath: Old is empty for a file
	// that was added, New for one that was deleted.
	Old, New string
	// Hunks are empty for a binary file and for a change of name or mode alone.
	Hunks []Hunk
}

// Hunk is a run of changed lines with three lines around them.
type Hunk struct {
	Old, New LineSpan
	// Heading is what git shows of the place, a function's first line as a rule.
	Heading string
	// Body has the lines with their ' ', '+' or '-', without the last line feed.
	Body string
}

// LineSpan is a run of lines; Start is 0 where there are none.
type LineSpan struct{ Start, Lines int }

// Diff returns what differs between two commits, below a path if it is not
// empty, ordered by path. Renames are found, of up to 1000 files that changed as
// well. It fails with ErrTooLarge if git writes more than maxBytes.
func (m *Mirror) Diff(ctx context.Context, before, after code.CommitID, path string, maxBytes int64) ([]FileDiff, error) {
	if err := errors.Join(validateCommit(before), validateCommit(after)); err != nil {
		return nil, m.wrapError("compare", err)
	}
	paths, err := m.pathArgs(ctx, after, path)
	if err != nil {
		return nil, m.wrapError("compare", err)
	}
	files, err := m.comparePaths(ctx, before, after, paths, maxBytes)
	if err != nil || len(paths) == 0 || !slices.ContainsFunc(files, func(f FileDiff) bool { return f.Old != f.New }) {
		return files, err
	}
	renamed, err := m.addRenamed(ctx, before, after, paths)
	if err != nil {
		return nil, m.wrapError("compare", err)
	}
	if len(renamed) == len(paths) {
		return files, nil
	}
	return m.comparePaths(ctx, before, after, renamed, maxBytes)
}

// comparePaths returns what differs between two commits below the paths; anywhere if
// there are none.
func (m *Mirror) comparePaths(ctx context.Context, before, after code.CommitID, paths []string, maxBytes int64) ([]FileDiff, error) {
	args := []string{"diff-tree", "-r", "-z", "--raw", "--patch", "--unified=3", "-M", renameLimit, "--no-ext-diff", "--no-textconv", "--no-color",
		"--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", string(before), string(after), "--"}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: append(args, paths...), limit: maxBytes, env: literalPaths})
	if err == nil {
		var files []FileDiff
		if files, err = parseDiff(out); err == nil {
			return files, nil
		}
	}
	return nil, fmt.Errorf("compare %s with %s in repository %s: %w", before, after, m.id, err)
}

// maxRenames bounds git's list of files that were renamed.
const maxRenames = 4 << 20

// addRenamed adds to the paths of a difference the other names of files that were
// renamed into them or out of them: git looks for renames among the paths that it is
// given only.
func (m *Mirror) addRenamed(ctx context.Context, before, after code.CommitID, paths []string) ([]string, error) {
	args := []string{"diff-tree", "-r", "-z", "--name-status", "-M", renameLimit, "--diff-filter=R", "--end-of-options", string(before), string(after)}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: args, limit: maxRenames, env: literalPaths})
	if errors.Is(err, ErrTooLarge) {
		return paths, nil // each rename is then a removal and an addition
	}
	if err != nil {
		return nil, err
	}
	within := func(name string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	}
	all := slices.Clone(paths)
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") // status, old name, new name
	for ; len(fields) >= 3 && len(all) < maxRenamedPaths; fields = fields[3:] {
		switch from, to := fields[1], fields[2]; {
		case within(to) && !within(from):
			all = append(all, from)
		case within(from) && !within(to):
			all = append(all, to)
		}
	}
	return all, nil
}

// maxRenamedPaths bounds the paths of a diff with renames.
const maxRenamedPaths = 1000

// parseDiff reads the raw list, which has the paths as they are, a NUL, and the
// patches in the same order.
func parseDiff(b []byte) ([]FileDiff, error) {
	files, patch, err := parseRawDiff(b)
	if err != nil {
		return nil, err
	}
	p := patchParser{rest: patch}
	for i := range files {
		if err := p.parseFile(&files[i]); err != nil {
			return nil, err
		}
	}
	if len(p.rest) > 0 {
		return nil, fmt.Errorf("%w: unexpected line %.200q in a patch", ErrGit, p.peekLine())
	}
	return files, nil
}

// parseRawDiff reads ":MODE MODE NAME NAME STATUS\0PATH\0", with a second path
// for a rename. What changed its type is two files, as in the patch.
func parseRawDiff(b []byte) (files []FileDiff, patch []byte, err error) {
	for len(b) > 0 && b[0] == ':' {
		header, rest, _ := bytes.Cut(b, []byte{0})
		path, rest, ok := bytes.Cut(rest, []byte{0})
		at := bytes.LastIndexByte(header, ' ')
		if !ok || at < 0 || at+1 == len(header) {
			return nil, nil, fmt.Errorf("%w: unexpected difference %.200q", ErrGit, header)
		}
		f := FileDiff{Old: code.SpellPath(string(path)), New: code.SpellPath(string(path))}
		switch header[at+1] {
		case 'A':
			f.Old = ""
		case 'D':
			f.New = ""
		case 'T':
			files = append(files, FileDiff{Old: f.Old})
			f.Old = ""
		case 'R', 'C':
			var to []byte
			to, rest, _ = bytes.Cut(rest, []byte{0})
			f.New = code.SpellPath(string(to))
		}
		files, b = append(files, f), rest
	}
	if len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	return files, b, nil
}

// patchParser goes through the lines of a patch.
type patchParser struct{ rest []byte }

// peekLine returns the next line without its line feed.
func (p *patchParser) peekLine() []byte {
	line, _, _ := bytes.Cut(p.rest, []byte{'\n'})
	return line
}

func (p *patchParser) next() []byte {
	line, rest, _ := bytes.Cut(p.rest, []byte{'\n'})
	p.rest = rest
	return line
}

// parseFile reads the part of a patch that one file has: what git says of it, then
// hunks.
func (p *patchParser) parseFile(f *FileDiff) error {
	if !bytes.HasPrefix(p.rest, []byte("diff --git ")) {
		return fmt.Errorf("%w: want the patch of %.200q, have %.200q", ErrGit, f.New, p.peekLine())
	}
	p.next()
	f.Hunks = []Hunk{}
	for len(p.rest) > 0 && !bytes.HasPrefix(p.rest, []byte("diff --git ")) {
		line := p.next()
		if !bytes.HasPrefix(line, []byte("@@ ")) {
			continue
		}
		h, err := p.parseHunk(string(line))
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	return nil
}

// parseHunk reads as many lines as the header says: a line of a file may look like
// anything.
func (p *patchParser) parseHunk(header string) (Hunk, error) {
	h, err := parseHunkHeader(header)
	if err != nil {
		return h, err
	}
	body := p.rest
	size := 0
	for before, after := h.Old.Lines, h.New.Lines; before > 0 || after > 0 || bytes.HasPrefix(p.rest, []byte(`\ `)); {
		if len(p.rest) == 0 {
			return h, fmt.Errorf("%w: a patch ends within a hunk", ErrGit)
		}
		switch p.rest[0] {
		case '-':
			before--
		case '+':
			after--
		case ' ':
			before, after = before-1, after-1
		}
		p.next()
		size = len(body) - len(p.rest)
	}
	h.Body = strings.TrimSuffix(string(body[:size]), "\n")
	return h, nil
}

// parseHunkHeader reads "@@ -START,LINES +START,LINES @@ HEADING"; a count of 1
// is left out.
func parseHunkHeader(s string) (Hunk, error) {
	fields := strings.SplitN(s, " ", 5)
	var h Hunk
	if len(fields) < 4 || fields[3] != "@@" || !parseSpan(fields[1], '-', &h.Old) || !parseSpan(fields[2], '+', &h.New) {
		return h, fmt.Errorf("%w: unexpected header %.200q of a hunk", ErrGit, s)
	}
	if len(fields) == 5 {
		h.Heading = strings.TrimSpace(fields[4])
	}
	return h, nil
}

func parseSpan(s string, sign byte, to *LineSpan) bool {
	if s == "" || s[0] != sign {
		return false
	}
	start, lines, counted := strings.Cut(s[1:], ",")
	var err1, err2 error
	to.Start, err1 = strconv.Atoi(start)
	to.Lines = 1
	if counted {
		to.Lines, err2 = strconv.Atoi(lines)
	}
	return err1 == nil && err2 == nil && to.Lines >= 0
}
