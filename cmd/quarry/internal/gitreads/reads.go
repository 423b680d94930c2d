package gitreads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Reads reads the mirrors of this process for the file view.
type Reads struct {
	// mirrors is a function because the mirrors are opened after the API.
	mirrors   func() *mirror.Mirrors
	requester Requester
	analyzer  *analyze.Analyzer
}

// A Requester has lost and old mirrors fetched again.
type Requester interface {
	// RequestMirror requests that a mirror is fetched again, and reports whether it
	// will be.
	RequestMirror(ctx context.Context, id code.RepositoryID) bool
	// IsFetching reports whether a requested mirror is not fetched yet.
	IsFetching(ctx context.Context, id code.RepositoryID) bool
}

var _ source.Git = (*Reads)(nil)

// New returns reads of the mirrors, which may be opened later.
func New(mirrors func() *mirror.Mirrors, requester Requester) *Reads {
	return &Reads{mirrors, requester, analyze.New(analyze.Options{MaxBlobBytes: 2 * source.DefaultMaxFileBytes, NoSymbols: true})}
}

func (g *Reads) mirrorOf(id code.RepositoryID) *mirror.Mirror { return g.mirrors().Mirror(id) }

// gitErrors are the mirror errors that are meaningful to a client. An object that a
// mirror lacks may arrive with its next fetch. The message of the cause is included only
// if Quarry wrote it: a message of git may name directories of this machine.
var gitErrors = []struct {
	have, want error
	told       bool
}{
	{mirror.ErrRefNotFound, source.ErrNoRevision, false},
	{mirror.ErrNoPath, source.ErrNoPath, false},
	{mirror.ErrNoLine, source.ErrNoLine, true},
	{mirror.ErrTooLarge, source.ErrTooLarge, true},
	{mirror.ErrTimeout, source.ErrTimeout, false},
	{mirror.ErrMissing, source.ErrUnavailable, false},
}

// gitError presents an error of a mirror as an error of source.
type gitError struct {
	kind, cause error
	showCause   bool
}

// Error returns the message, without the text of the cause unless that may be shown.
func (e *gitError) Error() string {
	if e.showCause {
		return e.cause.Error()
	}
	return e.kind.Error()
}

func (e *gitError) Unwrap() []error { return []error{e.kind, e.cause} }

// mapRead converts an error of a read that starts at commits. If the mirror lacks an
// object that it should have, mapRead reports the object and returns a
// *source.ObjectError. A commit that was never recorded as indexed here may arrive with
// the next fetch.
func (g *Reads) mapRead(ctx context.Context, id code.RepositoryID, err error, commits ...code.CommitID) error {
	if mapped := g.mapLoss(ctx, id, err); !errors.Is(err, mirror.ErrMissing) || errors.Is(mapped, errFetching) {
		return mapped
	}
	missing, ok := errors.AsType[*mirror.ObjectError](err)
	if !ok || slices.Contains(commits, code.CommitID(missing.Name)) {
		// Some messages of git name no object, or the commit instead of its root directory.
		missing = g.findMissing(ctx, id, commits)
	}
	if missing == nil || slices.Contains(commits, code.CommitID(missing.Name)) && !g.isRecorded(ctx, id, code.CommitID(missing.Name)) {
		if missing != nil && g.requester.RequestMirror(ctx, id) {
			return &gitError{kind: errFetching, cause: err} // the index has the commit: another process has fetched it
		}
		return MapError(err)
	}
	g.mirrorOf(id).ReportMissing(missing.Name, err)
	return &gitError{kind: &source.ObjectError{Object: missing.Name}, cause: err}
}

// errFetching reports that a mirror is fetched again, because it is lost, or because another process
// has fetched the repository since.
var errFetching = fmt.Errorf("%w: it is lost or old, and is being fetched again; retry in a moment", source.ErrUnavailable)

// mapLoss converts an error of a mirror. If there is no mirror, it requests one. While that
// is fetched, it lacks objects and refs.
func (g *Reads) mapLoss(ctx context.Context, id code.RepositoryID, err error) error {
	if !errors.Is(err, mirror.ErrMissing) && !errors.Is(err, mirror.ErrRefNotFound) {
		return MapError(err)
	}
	if g.requester.IsFetching(ctx, id) || !g.mirrorOf(id).Exists() && g.requester.RequestMirror(ctx, id) {
		return &gitError{kind: errFetching, cause: err}
	}
	return MapError(err)
}

// findMissing returns the first of these commits, or of their root directories, that
// cannot be read; nil if there is none.
func (g *Reads) findMissing(ctx context.Context, id code.RepositoryID, commits []code.CommitID) *mirror.ObjectError {
	r, err := g.mirrorOf(id).Reader(ctx)
	if err != nil {
		return nil
	}
	defer r.Close()
	for _, commit := range commits {
		if commit == "" {
			continue
		}
		c, err := r.Commit(ctx, commit)
		if err == nil {
			_, err = r.Directory(ctx, c.Tree)
		}
		if missing, ok := errors.AsType[*mirror.ObjectError](err); ok {
			return missing
		}
	}
	return nil
}

// isRecorded reports whether the mirror has the record of a ref that is indexed at a
// commit.
func (g *Reads) isRecorded(ctx context.Context, id code.RepositoryID, commit code.CommitID) bool {
	revisions, err := g.mirrorOf(id).IndexedRevisions(ctx)
	return err == nil && slices.ContainsFunc(revisions, func(r code.Revision) bool { return r.Commit == commit })
}

// MapError converts an error of a mirror to an error of source.
func MapError(err error) error {
	if e, ok := errors.AsType[*mirror.PatternError](err); ok {
		name := "query"
		if e.Author {
			name = "author"
		}
		return fmt.Errorf("%s: %w: want a POSIX basic regular expression: %s", name, source.ErrInvalidPattern, e.Reason)
	}
	for _, e := range gitErrors {
		if errors.Is(err, e.have) {
			return &gitError{e.want, err, e.told}
		}
	}
	return err
}

// Resolve implements source.Git.
func (g *Reads) Resolve(ctx context.Context, id code.RepositoryID, name code.RevisionName, head code.Ref) (code.CommitID, error) {
	c, err := g.mirrorOf(id).Resolve(ctx, name, head)
	return c.ID, g.mapLoss(ctx, id, err)
}

// reaches maps values of mirror.Reach to values of source.Reach.
var reaches = [...]source.Reach{mirror.ReachNone: source.ReachNone, mirror.ReachFetched: source.ReachFetched,
	mirror.ReachIndexed: source.ReachIndexed}

// Reach implements source.Git.
func (g *Reads) Reach(ctx context.Context, id code.RepositoryID, commit code.CommitID, indexed []code.Revision) (source.Reach, error) {
	reach, err := g.mirrorOf(id).ReachFrom(ctx, commit, indexed)
	commits := []code.CommitID{commit}
	for _, r := range indexed {
		commits = append(commits, r.Commit)
	}
	return reaches[reach], g.mapRead(ctx, id, err, commits...)
}

// Branches implements source.Git.
func (g *Reads) Branches(ctx context.Context, id code.RepositoryID) ([]source.Branch, error) {
	listed, err := g.mirrorOf(id).Branches(ctx)
	branches := make([]source.Branch, len(listed))
	for i, b := range listed {
		branches[i] = source.Branch{Ref: b.Ref, Commit: b.Commit, Time: b.Time}
	}
	return branches, g.mapLoss(ctx, id, err)
}

// readTree calls read with a reader and the root of a commit.
func (g *Reads) readTree(ctx context.Context, id code.RepositoryID, commit code.CommitID, read func(r *mirror.Reader, root mirror.ObjectID) error) error {
	r, err := g.mirrorOf(id).Reader(ctx)
	if err != nil {
		return g.mapLoss(ctx, id, err)
	}
	defer r.Close()
	c, err := r.Commit(ctx, commit)
	if err == nil {
		err = read(r, c.Tree)
	}
	return g.mapRead(ctx, id, err, commit)
}

// File implements source.Git. The text is what would be indexed of the file.
func (g *Reads) File(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (source.File, error) {
	var file source.File
	err := g.readTree(ctx, id, commit, func(r *mirror.Reader, root mirror.ObjectID) error {
		n, raw, err := findFile(ctx, r, root, path)
		if err != nil {
			return err
		}
		content, _, err := r.Blob(ctx, n.ID, maxBytes)
		if err != nil {
			return err
		}
		file.Blob = n.ID.String()
		if n.Mode.IsSymlink() {
			file.Text, file.Skipped = append([]byte{}, content...), code.SkipSymlink
			return nil
		}
		d := g.analyzer.Document(code.SpellPath(raw), content)
		if d.Skipped == code.SkipLFSPointer {
			file.Text, file.Skipped = append([]byte{}, content...), d.Skipped
			return nil
		}
		if d.Skipped != "" {
			return fmt.Errorf("a file of %d bytes: %w", len(content), source.ErrBinary)
		}
		file.Text, file.Language = append([]byte{}, d.Text...), d.Language
		return nil
	})
	return file, err
}

// findFile returns the file or symbolic link at a path, and its path as git spells it.
func findFile(ctx context.Context, r *mirror.Reader, root mirror.ObjectID, path string) (mirror.Name, string, error) {
	n, raw, err := r.Find(ctx, root, path)
	switch {
	case err != nil:
	case n.IsDirectory():
		err = source.ErrDirectory
	case n.Mode.IsSubmodule():
		err = source.ErrSubmodule
	}
	return n, raw, err
}

// Content implements source.Git.
func (g *Reads) Content(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (content []byte, err error) {
	err = g.readTree(ctx, id, commit, func(r *mirror.Reader, root mirror.ObjectID) error {
		n, _, err := findFile(ctx, r, root, path)
		if err != nil {
			return err
		}
		b, _, err := r.Blob(ctx, n.ID, maxBytes)
		content = append([]byte{}, b...)
		return err
	})
	return content, err
}

// MergeBase implements source.Git.
func (g *Reads) MergeBase(ctx context.Context, id code.RepositoryID, a, b code.CommitID) (code.CommitID, error) {
	base, err := g.mirrorOf(id).MergeBase(ctx, a, b)
	return base, g.mapRead(ctx, id, err, a, b)
}

// Directories implements source.Git.
func (g *Reads) Directories(ctx context.Context, id code.RepositoryID, commit code.CommitID, paths []string, limit int) (map[string][]source.Entry, error) {
	found := make(map[string][]source.Entry, len(paths))
	err := g.readTree(ctx, id, commit, func(r *mirror.Reader, root mirror.ObjectID) error {
		d := directoryReader{reader: r, root: root, names: make(map[string][]mirror.Name, len(paths))}
		room := limit
		for _, path := range paths {
			names, err := d.readDirectory(ctx, path)
			if errors.Is(err, mirror.ErrNoPath) {
				continue
			}
			if err != nil {
				return err
			}
			if room -= len(names); room < 0 {
				return fmt.Errorf("more than %d entries: %w", limit, source.ErrTooLarge)
			}
			found[path] = entriesOf(names)
		}
		return nil
	})
	return found, err
}

// directoryReader reads directories of one tree. It looks up a directory in its parent if
// the parent was read before, so that it need not walk the path from the root.
type directoryReader struct {
	reader *mirror.Reader
	root   mirror.ObjectID
	names  map[string][]mirror.Name
}

func (d *directoryReader) readDirectory(ctx context.Context, path string) ([]mirror.Name, error) {
	n, err := d.findEntry(ctx, path)
	if err == nil && !n.IsDirectory() {
		err = mirror.ErrNoPath
	}
	if err != nil {
		return nil, err
	}
	names, err := d.reader.Directory(ctx, n.ID)
	d.names[path] = names
	return names, err
}

func (d *directoryReader) findEntry(ctx context.Context, path string) (mirror.Name, error) {
	at := max(strings.LastIndexByte(path, '/'), 0)
	if names, known := d.names[path[:at]]; known && path != "" {
		n, ok := mirror.FindName(names, strings.TrimPrefix(path[at:], "/"))
		if !ok {
			return n, mirror.ErrNoPath
		}
		return n, nil
	}
	n, _, err := d.reader.Find(ctx, d.root, path)
	return n, err
}

func entriesOf(names []mirror.Name) []source.Entry {
	entries := make([]source.Entry, len(names))
	for i, n := range names {
		entries[i] = source.Entry{Name: code.SpellPath(n.Raw), Kind: source.KindBlob}
		switch {
		case n.IsDirectory():
			entries[i].Kind = source.KindTree
		case n.Mode.IsSubmodule():
			entries[i].Kind, entries[i].Commit = source.KindCommit, code.CommitID(n.ID.String())
		}
	}
	return entries
}

// Files implements source.Git.
func (g *Reads) Files(ctx context.Context, id code.RepositoryID, commit code.CommitID, limit int) ([]string, error) {
	var files []string
	err := g.mirrorOf(id).ListPaths(ctx, commit, func(path string, e mirror.Entry) error {
		if e.Mode.IsSubmodule() {
			return nil
		}
		if files = append(files, code.SpellPath(path)); len(files) > limit {
			return fmt.Errorf("more than %d files: %w", limit, mirror.ErrTooLarge)
		}
		return nil
	})
	return files, g.mapRead(ctx, id, err, commit)
}

// Log implements source.Git.
func (g *Reads) Log(ctx context.Context, id code.RepositoryID, q source.LogQuery) ([]source.Commit, error) {
	entries, err := g.mirrorOf(id).Log(ctx, mirror.LogQuery(q))
	commits := make([]source.Commit, len(entries))
	for i, e := range entries {
		commits[i] = source.Commit(e)
	}
	return commits, g.mapRead(ctx, id, err, q.Commit, q.Except)
}

// CountLog implements source.Git.
func (g *Reads) CountLog(ctx context.Context, id code.RepositoryID, q source.LogQuery) (int, error) {
	n, err := g.mirrorOf(id).CountLog(ctx, mirror.LogQuery(q))
	return n, g.mapRead(ctx, id, err, q.Commit, q.Except)
}

// LastChanges implements source.Git.
func (g *Reads) LastChanges(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, names []string) (
	changes map[string]source.Commit, isCut bool, err error,
) {
	found, isCut, err := g.mirrorOf(id).LastChanges(ctx, commit, path, names)
	changes = make(map[string]source.Commit, len(found))
	for name, e := range found {
		changes[name] = source.Commit(e)
	}
	return changes, isCut, g.mapRead(ctx, id, err, commit)
}

// Authors implements source.Git.
func (g *Reads) Authors(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) ([]source.Author, error) {
	listed, err := g.mirrorOf(id).Authors(ctx, mirror.LogQuery{Commit: commit, Path: path})
	authors := make([]source.Author, len(listed))
	for i, a := range listed {
		authors[i] = source.Author(a)
	}
	return authors, g.mapRead(ctx, id, err, commit)
}

// Diff implements source.Git.
func (g *Reads) Diff(ctx context.Context, id code.RepositoryID, base, head code.CommitID, path string, maxBytes int64) ([]source.FileDiff, error) {
	files, err := g.mirrorOf(id).Diff(ctx, base, head, path, maxBytes)
	out := make([]source.FileDiff, len(files))
	for i, f := range files {
		out[i] = source.FileDiff{Old: f.Old, New: f.New, Hunks: make([]source.Hunk, len(f.Hunks))}
		for j, h := range f.Hunks {
			out[i].Hunks[j] = source.Hunk{Old: source.LineSpan(h.Old), New: source.LineSpan(h.New), Heading: h.Heading, Body: h.Body}
		}
	}
	return out, g.mapRead(ctx, id, err, base, head)
}

// Blame implements source.Git.
func (g *Reads) Blame(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (*source.Blame, error) {
	b, err := g.mirrorOf(id).Blame(ctx, commit, path, maxBytes)
	if err != nil {
		return nil, g.mapRead(ctx, id, err, commit)
	}
	out := &source.Blame{Ranges: make([]source.BlameRange, len(b.Ranges)), Commits: make(map[code.CommitID]source.BlameCommit, len(b.Commits))}
	for i, r := range b.Ranges {
		out.Ranges[i] = source.BlameRange(r)
	}
	for id, c := range b.Commits {
		out.Commits[id] = source.BlameCommit(*c)
	}
	return out, nil
}
