package mirror

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxBlameLine bounds a line of git's output; the longest is usually a commit subject.
const maxBlameLine = 1 << 20

// Blame maps each line of a file to the commit that wrote it.
type Blame struct {
	// Ranges cover the whole file, in order.
	Ranges  []BlameRange
	Commits map[code.CommitID]*BlameCommit
}

// BlameRange is a run of lines that one commit wrote in one file.
type BlameRange struct {
	Commit code.CommitID
	// Path is the path of the lines in that commit, spelled by code.SpellPath.
	Path  string
	Start int // line, from 1
	Lines int
}

// BlameCommit describes a commit in a Blame.
type BlameCommit struct {
	// Time is the author's time.
	Time        time.Time
	Subject     string
	AuthorName  string
	AuthorEmail string
	// Previous and PreviousPath locate the version of the file before the commit; empty
	// if the commit added the file.
	Previous     code.CommitID
	PreviousPath string
}

// Blame returns the commits that wrote the lines of a file of at most maxBytes. It
// follows renames of the whole file. It fails with ErrNoPath if there is no such file,
// and with ErrTooLarge if the file is larger.
func (m *Mirror) Blame(ctx context.Context, commit code.CommitID, path string, maxBytes int64) (*Blame, error) {
	raw, err := m.blamePath(ctx, commit, path, maxBytes)
	if err != nil {
		return nil, err
	}
	p := blameParser{blame: Blame{Commits: make(map[code.CommitID]*BlameCommit)}}
	// The commit is hexadecimal and the path follows --, because some versions of git
	// blame do not support --end-of-options.
	c := command{gitDir: m.gitDir(), args: []string{"blame", "--incremental", "--encoding=UTF-8", string(commit), "--", raw}, env: literalPaths, allObjects: true}
	if err := m.ms.git.streamOutput(ctx, c, p.read); err != nil {
		return nil, fmt.Errorf("blame %s at %s of repository %s: %w", path, commit, m.id, err)
	}
	for _, id := range p.unparsed {
		author := p.blame.Commits[id]
		if author.AuthorName, author.AuthorEmail, err = m.readAuthor(ctx, id); err != nil {
			return nil, err
		}
	}
	p.blame.mergeRanges()
	return &p.blame, nil
}

// blamePath returns the raw path of a file in git.
func (m *Mirror) blamePath(ctx context.Context, commit code.CommitID, path string, maxBytes int64) (string, error) {
	if err := validateCommit(commit); err != nil {
		return "", m.wrapError("read", err)
	}
	r, err := m.Reader(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close()
	n, raw, err := r.findAt(ctx, commit, path)
	if err != nil {
		return "", err
	}
	if !n.Mode.IsFile() && !n.Mode.IsSymlink() {
		return "", fmt.Errorf("%.200q is no file: %w", path, ErrNoPath)
	}
	size := int64(0)
	if err := r.Sizes(ctx, []ObjectID{n.ID}, func(_ int, n int64) { size = n }); err != nil {
		return "", err
	}
	if size < 0 {
		return "", newObjectError(n.ID.String(), fmt.Errorf("blob %s: %w", n.ID, ErrMissing))
	}
	if size > maxBytes {
		return "", fmt.Errorf("file of %d bytes, at most %d: %w", size, maxBytes, ErrTooLarge)
	}
	return raw, nil
}

// blameParser parses the output of git blame --incremental: groups of "NAME FROM TO
// COUNT", headers, and a last line "filename PATH". The headers of a commit appear only
// once.
type blameParser struct {
	blame   Blame
	current BlameRange
	// unparsed are the commits whose author line git cannot parse.
	unparsed []code.CommitID
}

func (p *blameParser) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxBlameLine)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if err := p.parseLine(word, rest); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrGit, err)
	}
	return nil
}

func (p *blameParser) parseLine(word, rest string) error {
	if p.current.Commit == "" {
		return p.beginGroup(word, rest)
	}
	c := p.blame.Commits[p.current.Commit]
	switch word {
	case "author":
		c.AuthorName = rest
	case "author-mail":
		email, parsed := strings.CutPrefix(rest, "<")
		c.AuthorEmail = strings.TrimSuffix(email, ">")
		if !parsed { // git writes "(unknown)"
			p.unparsed = append(p.unparsed, p.current.Commit)
		}
	case "author-time":
		c.Time = parseSeconds(rest)
	case "summary":
		c.Subject = rest
	case "previous":
		id, path, _ := strings.Cut(rest, " ")
		if c.Previous == "" {
			c.Previous, c.PreviousPath = code.CommitID(id), code.SpellPath(unquotePath(path))
		}
	case "filename":
		p.current.Path = code.SpellPath(unquotePath(rest))
		p.blame.Ranges = append(p.blame.Ranges, p.current)
		p.current = BlameRange{}
	}
	return nil
}

func (p *blameParser) beginGroup(name, rest string) error {
	var from int
	id, err := code.ParseCommitID(name)
	if err == nil {
		_, err = fmt.Sscanf(rest, "%d %d %d", &from, &p.current.Start, &p.current.Lines)
	}
	if err != nil || id == "" {
		return fmt.Errorf("%w: unexpected line %.80q of blame", ErrGit, name+" "+rest)
	}
	p.current.Commit = id
	if p.blame.Commits[id] == nil {
		p.blame.Commits[id] = new(BlameCommit)
	}
	return nil
}

// mergeRanges sorts the ranges and joins adjacent ones with the same commit and path.
func (b *Blame) mergeRanges() {
	slices.SortFunc(b.Ranges, func(x, y BlameRange) int { return cmp.Compare(x.Start, y.Start) })
	merged := b.Ranges[:0]
	for _, r := range b.Ranges {
		if n := len(merged) - 1; n >= 0 && merged[n].Commit == r.Commit && merged[n].Path == r.Path && merged[n].Start+merged[n].Lines == r.Start {
			merged[n].Lines += r.Lines
			continue
		}
		merged = append(merged, r)
	}
	b.Ranges = merged
}

// unquotePath decodes git's C-style quoting of a path with unusual bytes.
func unquotePath(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if at := strings.IndexByte(`abfnrtv\"`, s[i]); at >= 0 {
			b = append(b, "\a\b\f\n\r\t\v\\\""[at])
		} else if n, err := strconv.ParseUint(s[i:min(i+3, len(s))], 8, 8); err == nil {
			b = append(b, byte(n))
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}
