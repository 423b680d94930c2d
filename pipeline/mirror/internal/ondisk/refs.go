package ondisk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Refs maps refs to the object that each names: usually a commit, or for a tag possibly a
// tag object. The caller must check whether the object exists.
type Refs map[code.Ref]code.CommitID

// Head returns the target of HEAD: a branch, or the object of a detached HEAD. Both are
// empty if the target cannot be read.
func (r *Repository) Head() (code.Ref, code.CommitID, error) {
	b, err := r.head.readFile("HEAD", maxLineFileBytes)
	if err != nil {
		return "", "", err
	}
	target, id := parseRef(b)
	return target, id, nil
}

// Find returns the given refs that exist in the repository.
func (r *Repository) Find(ctx context.Context, refs []code.Ref) (Refs, error) {
	found := Refs{}
	for _, ref := range refs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		id, err := r.resolveRef(ref, nil)
		if err != nil {
			return nil, err
		}
		if id != "" {
			found[ref] = id
		}
	}
	return found, nil
}

// List returns the refs whose names begin with prefix: refs/heads/ or refs/tags/. They
// include those whose validation fails with code.ErrUnsupportedRef.
func (r *Repository) List(ctx context.Context, prefix string) (Refs, error) {
	// Loose refs first: git packs a ref before it removes the file.
	w := looseWalk{ctx: ctx, r: r, refs: Refs{}, symbolic: map[code.Ref]code.Ref{}}
	if err := w.walkDirectory(strings.TrimSuffix(prefix, "/"), maxRefDepth); err != nil {
		return nil, err
	}
	packed, err := r.readPacked()
	if err != nil {
		return nil, err
	}
	refs := Refs{}
	for ref, id := range packed {
		if strings.HasPrefix(string(ref), prefix) {
			refs[ref] = id
		}
	}
	maps.Copy(refs, w.refs)
	for ref, target := range w.symbolic {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		id, err := r.resolveRef(target, &w)
		if err != nil {
			return nil, err
		}
		if delete(refs, ref); id != "" {
			refs[ref] = id
		}
	}
	return refs, checkCount(len(refs))
}

// resolveRef returns the object that a ref names, following symbolic refs; empty if it
// names none. It reuses refs that the walk has already read.
func (r *Repository) resolveRef(ref code.Ref, w *looseWalk) (code.CommitID, error) {
	for range maxSymbolicRefs {
		var target code.Ref
		var id code.CommitID
		var err error
		if w != nil {
			id, target = w.refs[ref], w.symbolic[ref]
		}
		if id == "" && target == "" {
			if target, id, err = r.readLoose(ref); err != nil {
				return "", err
			}
		}
		if target == "" && id == "" {
			packed, err := r.readPacked()
			return packed[ref], err
		}
		if id != "" {
			return id, nil
		}
		ref = target
	}
	return "", nil
}

func checkCount(n int) error {
	if n > maxRefs {
		return fmt.Errorf("more than %d refs: %w", maxRefs, ErrTooLarge)
	}
	return nil
}

// looseWalk reads the files below a directory of refs.
type looseWalk struct {
	ctx      context.Context // context of the walk, which is one call
	r        *Repository
	refs     Refs
	symbolic map[code.Ref]code.Ref
	entries  int // files and directories, of any kind
}

func (w *looseWalk) walkDirectory(dir string, depth int) error {
	if depth == 0 {
		return fmt.Errorf("%s: more than %d directories deep: %w", w.r.common.joinPath(dir), maxRefDepth, ErrTooLarge)
	}
	return w.r.common.eachEntry(dir, maxRefs, func(e fs.DirEntry) error {
		w.entries++
		if err := errors.Join(context.Cause(w.ctx), checkCount(w.entries)); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			return w.walkDirectory(name, depth-1)
		}
		ref := code.Ref(name)
		if err := ref.Validate(); err != nil && !errors.Is(err, code.ErrUnsupportedRef) {
			return nil // a lock file
		}
		b, err := w.r.common.readFile(name, maxLineFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // packed or deleted in the meantime
		} else if err != nil {
			return err
		}
		if target, id := parseRef(b); id != "" {
			w.refs[ref] = id
		} else if target != "" {
			w.symbolic[ref] = target
		}
		return nil
	})
}

// readLoose returns the content of a ref's file; nothing if the file does not exist or
// does not contain a ref.
func (r *Repository) readLoose(ref code.Ref) (target code.Ref, id code.CommitID, err error) {
	if ref.Validate() != nil {
		return "", "", nil
	}
	info, err := r.common.root.Lstat(string(ref))
	switch {
	case err == nil && info.IsDir(), isAbsent(err):
		return "", "", nil
	case err != nil:
		return "", "", r.common.explainError(string(ref), err)
	}
	b, err := r.common.readFile(string(ref), maxLineFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	} else if err != nil {
		return "", "", err
	}
	target, id = parseRef(b)
	return target, id, nil
}

// readPacked returns the branches and tags in packed-refs, which is read once.
func (r *Repository) readPacked() (Refs, error) {
	if r.packed != nil {
		return r.packed, nil
	}
	refs := Refs{}
	b, err := r.common.readFile("packed-refs", maxRefsBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		name, ref, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if !ok || !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/tags/") {
			continue // a comment, the commit of a tag, or another ref
		}
		if err := code.Ref(ref).Validate(); err != nil && !errors.Is(err, code.ErrUnsupportedRef) {
			continue
		}
		if id, err := code.ParseCommitID(name); err == nil && id != "" {
			refs[code.Ref(ref)] = id
			if err := checkCount(len(refs)); err != nil {
				return nil, err
			}
		}
	}
	r.packed = refs
	return refs, nil
}

// parseRef parses the content of HEAD or of a loose ref: "ref: NAME" or an object name.
// For any other content it returns nothing.
func parseRef(b []byte) (target code.Ref, id code.CommitID) {
	line := cutLine(b)
	if name, ok := strings.CutPrefix(line, "ref:"); ok {
		target = code.Ref(strings.TrimSpace(name))
		if err := target.Validate(); err != nil && !errors.Is(err, code.ErrUnsupportedRef) {
			return "", ""
		}
		return target, ""
	}
	id, err := code.ParseCommitID(line)
	if err != nil {
		return "", ""
	}
	return "", id
}
