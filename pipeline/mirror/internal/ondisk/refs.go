package ondisk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Refs are refs by name, with the object that each names: mostly a commit, of a tag
// possibly a tag object. It exists only if the caller finds it.
type Refs map[code.Ref]code.CommitID

// Head returns what HEAD names: a branch, or the object of a detached HEAD. Both are
// empty if it names nothing that can be read.
func (r *Repository) Head() (code.Ref, code.CommitID, error) {
	b, err := r.head.readFile("HEAD", maxLineFileBytes)
	if err != nil {
		return "", "", err
	}
	target, id := parseRef(b)
	return target, id, nil
}

// Ref returns the object that a ref names; empty if there is no such ref.
func (r *Repository) Ref(ref code.Ref) (code.CommitID, error) {
	found, err := r.Find([]code.Ref{ref})
	return found[ref], err
}

// Find returns those of refs that the repository has.
func (r *Repository) Find(refs []code.Ref) (Refs, error) {
	found := Refs{}
	var absent []code.Ref
	for _, ref := range refs {
		id, err := r.readLoose(ref, maxSymbolicRefs)
		if err != nil {
			return nil, err
		}
		if id == "" {
			absent = append(absent, ref)
			continue
		}
		found[ref] = id
	}
	if len(absent) == 0 {
		return found, nil
	}
	packed, err := r.readPacked("refs/")
	if err != nil {
		return nil, err
	}
	for _, ref := range absent {
		if id := packed[ref]; id != "" {
			found[ref] = id
		}
	}
	return found, nil
}

// List returns the refs whose names begin with prefix, which ends in a slash.
func (r *Repository) List(prefix string) (Refs, error) {
	// Loose refs first: git packs a ref before it removes the file.
	loose, symbolic := Refs{}, map[code.Ref]code.Ref{}
	if err := r.walkLoose(strings.TrimSuffix(prefix, "/"), maxRefDepth, loose, symbolic); err != nil {
		return nil, err
	}
	refs, err := r.readPacked(prefix)
	if err != nil {
		return nil, err
	}
	for ref, id := range loose {
		refs[ref] = id
	}
	for ref, target := range symbolic {
		if id, err := r.readLoose(target, maxSymbolicRefs); err != nil {
			return nil, err
		} else if id != "" {
			refs[ref] = id
		} else if id := refs[target]; id != "" {
			refs[ref] = id
		}
	}
	return refs, checkCount(refs)
}

func checkCount(refs Refs) error {
	if len(refs) > maxRefs {
		return fmt.Errorf("more than %d refs: %w", maxRefs, ErrTooLarge)
	}
	return nil
}

// walkLoose reads the files below a directory of refs.
func (r *Repository) walkLoose(dir string, depth int, refs Refs, symbolic map[code.Ref]code.Ref) error {
	if depth == 0 {
		return fmt.Errorf("%s: more than %d directories deep: %w", r.common.join(dir), maxRefDepth, ErrTooLarge)
	}
	return r.common.eachEntry(dir, maxRefs, func(e fs.DirEntry) error {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			return r.walkLoose(name, depth-1, refs, symbolic)
		}
		ref := code.Ref(name)
		if ref.Validate() != nil {
			return nil // a lock file, or a name that git would not be asked for
		}
		b, err := r.common.readFile(name, maxLineFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // packed or deleted meanwhile
		} else if err != nil {
			return err
		}
		if target, id := parseRef(b); id != "" {
			refs[ref] = id
		} else if target != "" {
			symbolic[ref] = target
		}
		return checkCount(refs)
	})
}

// readLoose returns the object that the file of a ref names, through symbolic refs;
// empty if there is no file, or it holds something else.
func (r *Repository) readLoose(ref code.Ref, links int) (code.CommitID, error) {
	if ref.Validate() != nil || links == 0 {
		return "", nil
	}
	info, err := r.common.root.Lstat(string(ref))
	if err != nil || info.IsDir() {
		if err != nil && !isAbsent(err) {
			return "", r.common.explain(string(ref), err)
		}
		return "", nil
	}
	b, err := r.common.readFile(string(ref), maxLineFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	target, id := parseRef(b)
	if target == "" || id != "" {
		return id, nil
	}
	if id, err = r.readLoose(target, links-1); err != nil || id != "" {
		return id, err
	}
	packed, err := r.readPacked("refs/")
	return packed[target], err
}

// readPacked returns the refs of packed-refs whose names begin with prefix.
func (r *Repository) readPacked(prefix string) (Refs, error) {
	refs := Refs{}
	b, err := r.common.readFile("packed-refs", maxRefsBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return refs, nil
	} else if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		name, ref, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if !ok || !strings.HasPrefix(ref, prefix) || code.Ref(ref).Validate() != nil {
			continue // a comment, the commit of a tag, another ref
		}
		if id, err := code.ParseCommitID(name); err == nil && id != "" {
			refs[code.Ref(ref)] = id
			if err := checkCount(refs); err != nil {
				return nil, err
			}
		}
	}
	return refs, nil
}

// parseRef reads the content of HEAD or of a loose ref: "ref: NAME" or the name of
// an object. Anything else is nothing.
func parseRef(b []byte) (target code.Ref, id code.CommitID) {
	line := cutLine(b)
	if name, ok := strings.CutPrefix(line, "ref:"); ok {
		if target = code.Ref(strings.TrimSpace(name)); target.Validate() != nil {
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
