package web

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/diffhtml"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// Bounds of a difference on one page.
const (
	maxFoldedLines    = 1000   // changed lines above which a file is folded
	maxOpenFiles      = 50     // files after which the others are folded and shown when opened
	maxDiffLines      = 20_000 // lines of all files; files beyond the bound get a link each
	maxDiffFiles      = 3000
	maxCompareCommits = 100
)

// diffBody is the data of the page of a commit or a comparison.
type diffBody struct {
	Commit         *commitRow
	Parents        []crumb
	HostURL        string
	Base, Head     string // of a comparison, as written
	BaseURL        string
	HeadURL        string
	Direct         string // the direct comparison of the commits
	Commits        []commitRow
	MoreCommits    bool
	Files          []diffFile
	MoreFiles      int
	Added, Removed int
	OnlyPath       string // the only file shown of the difference; empty for all
	AllURL         string
}

// diffFile is a file of a difference.
type diffFile struct {
	ID             string // of the element, for links from the list of files
	Old, New       string
	State          string // "added", "deleted", "renamed", "changed"
	StateText      string
	URL, OldURL    string // address of the file before and after
	Added, Removed int
	Folded         bool
	Later          string // the page that shows it, if this one does not
	Text           markup // empty if there are no lines to show
}

// Name returns the path of a file; for a deleted file its previous path.
func (f diffFile) Name() string {
	if f.New == "" {
		return f.Old
	}
	return f.New
}

// Base returns the last element of Name.
func (f diffFile) Base() string { return path.Base(f.Name()) }

// HasPane reports whether the page has a list of its files next to them.
func (b *diffBody) HasPane() bool { return len(b.Files) > 1 }

// diffDirectory holds files of a difference that are in one directory.
type diffDirectory struct {
	Name  string // empty for the root
	Files []diffFile
}

// Directories returns the files by directory, in the order of the page.
func (b *diffBody) Directories() (directories []diffDirectory) {
	for _, f := range b.Files {
		name := path.Dir("/" + f.Name())[1:]
		if n := len(directories); n == 0 || directories[n-1].Name != name {
			directories = append(directories, diffDirectory{Name: name})
		}
		last := &directories[len(directories)-1]
		last.Files = append(last.Files, f)
	}
	return directories
}

// readCommit fills in the page of a commit.
func (s *Server) readCommit(v *pageRequest, p *codePage) error {
	ctx := v.r.Context()
	if p.Path == "" {
		return source.ErrNoRevision
	}
	c, err := s.o.Source.Commit(ctx, p.repository, p.Path)
	if err != nil {
		return err
	}
	p.found = source.Revision{Commit: c.ID}
	d, body, err := s.newDiffData(v, p)
	if err != nil {
		return err
	}
	row := p.newCommitRow(c, s.texts, s.o.Now())
	body.Commit, body.HostURL = &row, pageurl.New(p.repository).CommitURL(c.ID)
	d.Name = row.Short
	for _, parent := range c.Parents {
		body.Parents = append(body.Parents, crumb{shortCommit(string(parent)), commitAddress(p.Repository, parent)})
	}
	files, err := s.o.Source.CommitDiff(ctx, p.repository, c, body.OnlyPath)
	var base code.CommitID
	if len(c.Parents) > 0 {
		base = c.Parents[0]
	}
	return s.fillDiff(p, d, body, files, err, base, c.ID)
}

// newDiffData returns the common data of pages that show differences.
func (s *Server) newDiffData(v *pageRequest, p *codePage) (*codeData, *diffBody, error) {
	shown := *p
	shown.Path = ""
	d, err := s.newCodeData(v.r, &shown)
	if err != nil {
		return nil, nil, err
	}
	d.Kind, d.Links = p.Kind, codeLinks{}
	body := &diffBody{OnlyPath: v.r.URL.Query().Get("path")}
	if len(body.OnlyPath) > code.MaxPathBytes {
		return nil, nil, source.ErrInvalidPath
	}
	if body.OnlyPath != "" {
		body.AllURL = p.Address.String()
	}
	d.Body = body
	p.setView("diff", d)
	return d, body, nil
}

// readComparison fills in the page of a comparison: BASE...HEAD shows the changes of HEAD
// since it branched off from BASE, BASE..HEAD the differences between the two.
func (s *Server) readComparison(v *pageRequest, p *codePage) error {
	query := v.r.URL.Query()
	base, head := query.Get("base"), query.Get("head")
	if ticked := query["commit"]; len(ticked) > 0 { // in a history, the newest first
		base = ticked[len(ticked)-1]
		if len(ticked) > 1 {
			head = ticked[0]
		}
	}
	if base != "" || head != "" {
		p.redirectTo = source.Address{Repository: p.Repository, Kind: source.PageCompare, Path: base + "..." + head}.String()
		if only := query.Get("path"); only != "" && len(only) <= code.MaxPathBytes {
			p.redirectTo = withPath(p.redirectTo, only)
		}
		return nil
	}
	var direct bool
	base, head, direct = splitComparison(p.Path)
	ctx := v.r.Context()
	from, err := s.o.Source.Resolve(ctx, p.repository, base)
	if err != nil {
		return err
	}
	to, err := s.o.Source.Resolve(ctx, p.repository, head)
	if err != nil {
		return err
	}
	p.found = to
	d, body, err := s.newDiffData(v, p)
	if err != nil {
		return err
	}
	d.Name = ""
	body.Base, body.Head = base, head
	body.BaseURL, body.HeadURL = p.commitURL(code.CommitID(base), source.PageTree, ""), p.commitURL(code.CommitID(head), source.PageTree, "")
	start := from.Commit
	if !direct {
		switch start, err = s.o.Source.MergeBase(ctx, p.repository, string(from.Commit), string(to.Commit)); {
		case errors.Is(err, source.ErrNoRevision):
			d.Notes, start = append(d.Notes, s.texts.mustFormat("codeNoAncestor")), from.Commit
		case err != nil:
			return err
		}
	}
	request := source.CommitsRequest{Revision: string(from.Commit) + ".." + string(to.Commit)}
	request.Limit, request.Path = maxCompareCommits, body.OnlyPath
	commits, total, err := s.o.Source.Commits(ctx, p.repository, request)
	if err != nil {
		return err
	}
	for _, c := range commits {
		body.Commits = append(body.Commits, p.newCommitRow(c, s.texts, s.o.Now()))
	}
	body.MoreCommits = total > len(commits)
	files, err := s.o.Source.Diff(ctx, p.repository, string(start), string(to.Commit), body.OnlyPath)
	return s.fillDiff(p, d, body, files, err, start, to.Commit)
}

// splitComparison splits BASE...HEAD or BASE..HEAD; a missing side is the default branch.
// No revision name contains two dots.
func splitComparison(text string) (base, head string, direct bool) {
	if base, head, ok := strings.Cut(text, "..."); ok {
		return base, head, false
	}
	base, head, direct = strings.Cut(text, "..")
	if !direct {
		base, head = "", text
	}
	return base, head, direct
}

// fillDiff adds files to the page of a difference.
func (s *Server) fillDiff(p *codePage, d *codeData, body *diffBody, files []source.FileDiff, err error, base, head code.CommitID) error {
	if errors.Is(err, source.ErrTooLarge) {
		d.Problem = &problem{Icon: "file-x", Title: s.texts.mustFormat("codeLargeDiff"), Text: s.texts.mustFormat("codeLargeDiffText", "size", formatBytes(source.DefaultMaxDiffBytes))}
		return nil
	}
	if err != nil {
		return err
	}
	if len(files) > maxDiffFiles {
		body.MoreFiles, files = len(files)-maxDiffFiles, files[:maxDiffFiles]
	}
	shown := p.Address // by commits, because a script puts lines of that page into this one
	if shown.Path = string(head); p.Kind == source.PageCompare {
		shown.Path = string(base) + ".." + string(head)
	}
	room, words := maxDiffLines, diffhtml.Words{}
	for i := range files {
		f := p.newDiffFile(&files[i], base, head)
		f.ID, f.StateText = fmt.Sprintf("file-%d", i+1), s.texts.mustFormat("codeState_"+f.State)
		body.Added, body.Removed = body.Added+f.Added, body.Removed+f.Removed
		lines := countLines(&files[i])
		switch {
		case lines == 0:
			f.Folded = i >= maxOpenFiles
		case (lines > room || i >= maxOpenFiles) && body.OnlyPath == "":
			f.Later, f.Folded = withPath(shown.String(), f.Name()), true
		default:
			room -= lines
			f.Folded = f.Added+f.Removed > maxFoldedLines && body.OnlyPath == ""
			f.Text = s.renderHunks(&files[i], f, &words)
		}
		body.Files = append(body.Files, f)
	}
	return nil
}

func countLines(f *source.FileDiff) (lines int) {
	for _, h := range f.Hunks {
		lines += strings.Count(h.Body, "\n") + 1
	}
	return lines
}

// newDiffFile returns the data of a file, without its lines.
func (p *codePage) newDiffFile(f *source.FileDiff, base, head code.CommitID) diffFile {
	out := diffFile{Old: f.Old, New: f.New, State: "changed"}
	out.Added, out.Removed = diffhtml.Count(f)
	switch {
	case f.Old == "":
		out.State = "added"
	case f.New == "":
		out.State = "deleted"
	case f.Old != f.New:
		out.State = "renamed"
	}
	if f.New != "" {
		out.URL = p.commitURL(head, source.PageBlob, f.New)
	}
	if f.Old != "" && base != "" {
		out.OldURL = p.commitURL(base, source.PageBlob, f.Old)
	}
	return out
}

// renderHunks renders the lines of a file. The head of a hunk links to its lines.
func (s *Server) renderHunks(f *source.FileDiff, shown diffFile, words *diffhtml.Words) markup {
	var language code.Language
	if s.o.Outline != nil {
		language = s.o.Outline.LanguageOf(shown.Name(), nil)
	}
	tokenize := func(text []byte) []code.Token { return s.readFragment(language, text) }
	var out []byte
	for i := range f.Hunks {
		h := &f.Hunks[i]
		span, address := h.New, shown.URL
		if address == "" || span.Lines == 0 {
			span, address = h.Old, shown.OldURL
		}
		out = diffhtml.AppendHead(out, h, s.public.Resolve(linesURL(address, span)))
		out = words.AppendHunk(out, h, tokenize)
	}
	return markup(out)
}

// linesURL returns the address of lines of a file.
func linesURL(address string, span source.LineSpan) string {
	if address == "" || span.Lines == 0 {
		return address
	}
	return address + "?" + url.Values{"L": {fmt.Sprintf("%d-%d", span.Start, span.Start+span.Lines-1)}}.Encode()
}
