package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrNoPath means that a commit has no entry at a path, or one of another kind.
var ErrNoPath = errors.New("no such path")

// maxTreeBytes bounds one tree object (a directory): about a million names.
const maxTreeBytes = 64 << 20

// Name is an entry of a directory.
type Name struct {
	// Raw is the name in git, as bytes. code.SpellPath converts it to text.
	Raw  string
	Mode Mode
	ID   ObjectID
}

// IsDirectory reports whether n is a directory.
func (n Name) IsDirectory() bool { return n.Mode.Type() == modeDirectory }

const modeDirectory Mode = 0o040000

// Directory returns the entries of a tree in git's order. It starts no process. It fails
// with ErrMissing if the tree does not exist.
func (r *Reader) Directory(ctx context.Context, tree ObjectID) ([]Name, error) {
	b, err := r.readObject(ctx, tree, "tree", maxTreeBytes)
	if err != nil {
		return nil, err
	}
	return parseTree(b, int(tree.len))
}

// parseTree parses a sequence of "MODE NAME\0" and the bytes of an object name.
func parseTree(b []byte, idLen int) ([]Name, error) {
	names := make([]Name, 0, len(b)/40)
	for len(b) > 0 {
		mode, rest, ok := bytes.Cut(b, []byte{' '})
		raw, after, ended := bytes.Cut(rest, []byte{0})
		if !ok || !ended || len(after) < idLen {
			return nil, fmt.Errorf("%w: a tree object ends early", ErrGit)
		}
		m, err := parseMode(mode)
		if err != nil {
			return nil, err
		}
		n := Name{Raw: string(raw), Mode: m, ID: ObjectID{len: uint8(idLen)}}
		copy(n.ID.sum[:], after[:idLen])
		names, b = append(names, n), after[idLen:]
	}
	return names, nil
}

// Find returns the entry at a path below a tree, and its raw path in git. The path is
// compared here and never passed to git: each of its elements is a name or the spelling
// of one (code.SpellPath). The empty path is the tree itself. It fails with ErrNoPath if
// there is no such entry.
func (r *Reader) Find(ctx context.Context, tree ObjectID, path string) (n Name, raw string, err error) {
	n = Name{Mode: modeDirectory, ID: tree}
	if path == "" {
		return n, "", nil
	}
	var elements []string
	for element := range strings.SplitSeq(path, "/") {
		if !n.IsDirectory() {
			return Name{}, "", fmt.Errorf("%.200q: %w", path, ErrNoPath)
		}
		names, err := r.Directory(ctx, n.ID)
		if err != nil {
			return Name{}, "", err
		}
		found, ok := FindName(names, element)
		if !ok {
			return Name{}, "", fmt.Errorf("%.200q: %w", path, ErrNoPath)
		}
		n, elements = found, append(elements, found.Raw)
	}
	return n, strings.Join(elements, "/"), nil
}

// FindName returns the entry with a name or its spelling. An exact name takes precedence
// over an entry whose spelling is the same.
func FindName(names []Name, element string) (n Name, ok bool) {
	for i := range names {
		if names[i].Raw == element {
			return names[i], true
		}
		if !ok && code.SpellPath(names[i].Raw) == element {
			n, ok = names[i], true
		}
	}
	return n, ok
}

// findAt calls Find on the tree of a commit.
func (r *Reader) findAt(ctx context.Context, commit code.CommitID, path string) (n Name, raw string, err error) {
	c, err := r.commit(ctx, string(commit))
	if err != nil {
		return n, "", err
	}
	return r.Find(ctx, c.Tree, path)
}

// Blob returns the content of a blob of at most max bytes, valid until the next call, and
// its size. It fails with ErrTooLarge and the size, or with ErrMissing.
func (r *Reader) Blob(ctx context.Context, id ObjectID, max int64) (content []byte, size int64, err error) {
	size = -1
	if err := r.Sizes(ctx, []ObjectID{id}, func(_ int, n int64) { size = n }); err != nil {
		return nil, 0, err
	}
	switch {
	case size < 0:
		return nil, 0, newObjectError(id.String(), fmt.Errorf("blob %s: %w", id, ErrMissing))
	case size > max:
		return nil, size, fmt.Errorf("blob %s of %d bytes, at most %d: %w", id, size, max, ErrTooLarge)
	}
	content, err = r.readObject(ctx, id, "blob", max)
	return content, size, err
}

// readObject returns the content of an object of the given kind, valid until the next
// call.
func (r *Reader) readObject(ctx context.Context, id ObjectID, kind string, max int64) (content []byte, err error) {
	err = r.readTwice(ctx, id.String(), func() error {
		content, err = r.requestContent(ctx, id, kind, max)
		return err
	})
	return content, err
}

// readTwice calls read, and again with a new process if git ends in the middle of the
// answer. If that happens twice, git crashes on the object of that name.
func (r *Reader) readTwice(ctx context.Context, name string, read func() error) error {
	err := read()
	if !errors.Is(err, errDied) || ctx.Err() != nil {
		return err
	}
	if err := r.restartProcesses(); err != nil {
		return fmt.Errorf("read object %s of repository %s: %w", name, r.m.id, err)
	}
	if err = read(); errors.Is(err, errDied) && ctx.Err() == nil {
		return newObjectError(name, fmt.Errorf("%s of repository %s cannot be read: %w: %w", name, r.m.id, ErrMissing, err))
	}
	return err
}

// requestContent requests an object once.
func (r *Reader) requestContent(ctx context.Context, id ObjectID, kind string, max int64) ([]byte, error) {
	c := r.contents
	stop := c.dieWith(ctx)
	defer stop()
	h, err := c.requestOne(c.contentsVerb + id.String() + "\n" + c.flush)
	if err != nil {
		return nil, fmt.Errorf("read %s %s of repository %s: %w", kind, id, r.m.id, c.noteFailure(ctx, err))
	}
	if h.kind != kind || h.size > max {
		c.dead = c.dead || h.kind != "" // the content is still in the pipe
		if h.kind == kind {
			return nil, fmt.Errorf("%s %s of repository %s: %w", kind, id, r.m.id, ErrTooLarge)
		}
		return nil, newObjectError(id.String(), fmt.Errorf("%s %s of repository %s: %w", kind, id, r.m.id, ErrMissing))
	}
	if int64(cap(r.buf)) < h.size {
		r.buf = make([]byte, h.size+h.size/4)
	}
	b := r.buf[:h.size]
	if err := c.readContent(b); err != nil {
		return nil, fmt.Errorf("read %s %s of repository %s: %w", kind, id, r.m.id, c.noteFailure(ctx, err))
	}
	r.bytesRead += h.size
	r.m.ms.metrics.readBytes.Add(float64(h.size))
	return b, nil
}

// ListPaths calls fn for every file of a commit, ordered by raw path. Sizes are unknown
// (-1), which makes it several times faster than ListTree.
func (m *Mirror) ListPaths(ctx context.Context, commit code.CommitID, fn func(path string, e Entry) error) error {
	return m.listFiles(ctx, commit, parsePath, fn)
}

// parsePath parses "MODE TYPE NAME\tPATH".
func parsePath(line []byte) (string, Entry, error) {
	meta, path, ok := bytes.Cut(line, []byte{'\t'})
	fields := bytes.Fields(meta)
	if !ok || len(fields) != 3 {
		return "", Entry{}, fmt.Errorf("%w: unexpected tree entry %.200q", ErrGit, line)
	}
	e, err := parseDiffSide(fields[0], fields[2])
	return string(path), e, err
}
