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

// FileDiff describes the changes of one file between two commits.
type FileDiff struct {
	// Old and New are the paths, spelled by code.SpellPath. Old is empty for an added
	// file, New for a deleted one.
	Old, New string
	// Hunks is empty for a binary file, and for a change of only name or mode.
	Hunks []Hunk
}

// Hunk is a run of changed lines with three lines of context on each side.
type Hunk struct {
	Old, New LineSpan
	// Heading is the context that git shows, usually the first line of a function.
	Heading string
	// Body contains the lines with their prefix ' ', '+' or '-', without the last line
	// feed.
	Body string
}

// LineSpan is a run of lines; Start is 0 if it has no lines.
type LineSpan struct{ Start, Lines int }

// Diff returns the changes between two commits, ordered by path. If path is not empty,
// only changes at or below it are returned. Renames with changes are detected among up to
// 1000 files. It fails with ErrTooLarge if git writes more than maxBytes.
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

// comparePaths returns the changes between two commits below the given paths, or
// everywhere if there are none.
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

// maxRenames bounds the size of git's list of renamed files.
const maxRenames = 4 << 20

// addRenamed adds to the paths of a diff the other names of files that were renamed into
// or out of them, because git detects renames only among the given paths.
func (m *Mirror) addRenamed(ctx context.Context, before, after code.CommitID, paths []string) ([]string, error) {
	args := []string{"diff-tree", "-r", "-z", "--name-status", "-M", renameLimit, "--diff-filter=R", "--end-of-options", string(before), string(after)}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: args, limit: maxRenames, env: literalPaths})
	if errors.Is(err, ErrTooLarge) {
		return paths, nil // each rename then appears as a removal and an addition
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

// parseDiff parses the raw list, which contains the unquoted paths, then a NUL, then the
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

// parseRawDiff parses ":MODE MODE NAME NAME STATUS\0PATH\0", with a second path for a
// rename. A type change becomes two files, as in the patch.
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

// patchParser reads a patch line by line.
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

// parseFile parses the part of a patch for one file: git's header lines, then hunks.
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

// parseHunk reads exactly as many lines as the header states, because a line of a file
// may look like a header.
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

// parseHunkHeader parses "@@ -START,LINES +START,LINES @@ HEADING"; git omits a count of
// 1.
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
