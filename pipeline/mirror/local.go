package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A repository on disk is copied: its refs and object files are read without git, so that
// nothing in it decides which files git opens, and git reads the copies. A push copies
// only the new objects. The copy is a mirror like any other: text that the owner removes
// from disk stays readable here until the objects have been absent for removeCopiesAfter
// (docs/adr/0019-copies-of-repositories-on-disk.md).

// removeCopiesAfter is how long an object file must be absent from a repository before
// its copy is removed.
const removeCopiesAfter = time.Minute

// copyName marks a mirror of copies. The file contains the path of the repository.
const copyName = "copied-from"

// diskRead is the result of reading a repository on disk: the requested refs, and the
// other data that the mirror needs, except objects.
type diskRead struct {
	listing
	refs    ondisk.Refs
	shallow []code.CommitID
	partial bool // the repository is a partial clone
}

// readDisk opens the repository at a path and calls read, within the context. A read from
// a disk that hangs cannot be interrupted: its goroutine is then abandoned, and the
// mirror's next read waits for it. So there is at most one for each mirror.
func (m *Mirror) readDisk(ctx context.Context, src source, timeout time.Duration, read func(context.Context, *ondisk.Repository) (diskRead, error)) (diskRead, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("reading %s: %w: more than %s", src.path, ErrTimeout, timeout))
	defer cancel()
	select {
	case m.disk <- struct{}{}:
	case <-ctx.Done():
		return diskRead{}, context.Cause(ctx)
	}
	type outcome struct {
		read diskRead
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-m.disk }()
		var o outcome
		repo, err := ondisk.Open(src.path, m.ms.openBelow)
		if err == nil {
			o.read, err = read(ctx, repo)
			repo.Close()
		}
		o.err = diskError(src, err)
		done <- o
	}()
	select {
	case o := <-done:
		return o.read, o.err
	case <-ctx.Done():
		return diskRead{}, context.Cause(ctx)
	}
}

// openBelow calls Policy.openBelow, but refuses the directory of the mirrors, which may
// contain repositories that were fetched with credentials.
func (ms *Mirrors) openBelow(path string) (*os.Root, error) {
	own := Policy{Roots: []string{ms.o.Dir}}
	if resolved, err := filepath.EvalSymlinks(path); err == nil && own.isBelowRoot(resolved) {
		return nil, fmt.Errorf("%w: %s is a mirror of Quarry", ErrRefused, path)
	}
	return ms.o.Policy.openBelow(path)
}

// diskError maps an error of package ondisk to one of this package.
func diskError(src source, err error) error {
	for _, k := range []struct{ is, kind error }{
		{ondisk.ErrRefused, ErrRefused}, {ondisk.ErrTooLarge, ErrTooLarge}, {ondisk.ErrNotRepository, ErrVanished}, {fs.ErrPermission, ErrUnauthorized},
	} {
		if errors.Is(err, k.is) && !errors.Is(err, k.kind) {
			return fmt.Errorf("%s: %w: %w", src.path, k.kind, err)
		}
	}
	return err
}

// listDisk reads HEAD and the branches of a repository on disk, and its tags if some are
// selected.
func (m *Mirror) listDisk(ctx context.Context, r code.Repository, src source, timeout time.Duration) (diskRead, error) {
	return m.readDisk(ctx, src, timeout, func(ctx context.Context, repo *ondisk.Repository) (diskRead, error) {
		read := diskRead{listing: newListing(repo.Format())}
		for _, pattern := range listedPatterns(r) {
			refs, err := repo.List(ctx, strings.TrimSuffix(pattern, "*"))
			if err != nil {
				return read, err
			}
			for ref, id := range refs {
				read.listing.addRef(ref, id)
			}
		}
		err := checkRefs(read.listing.refs)
		if err != nil {
			return read, err
		}
		if read.head, read.headCommit, err = repo.Head(); err != nil {
			return read, err
		}
		read.partial = repo.IsPartial()
		read.shallow, err = repo.Shallow()
		return read, err
	})
}

// copyRepository updates the mirror to the state of a repository on disk.
func (m *Mirror) copyRepository(ctx context.Context, r code.Repository, src source) (State, error) {
	listed, err := m.listDisk(ctx, r, src, m.ms.o.FetchTimeout)
	if err != nil {
		return State{}, err
	}
	if _, err := listed.selectState(r); err != nil {
		return State{}, err
	}
	if err := m.ensureBare(ctx, listed.format); err != nil {
		return State{}, err
	}
	if _, err := m.copyObjects(ctx, src, nil); err != nil {
		return State{}, err
	}
	if err := m.writeShallow(listed.shallow); err != nil {
		return State{}, err
	}
	s, err := m.selectCommits(ctx, r, listed.listing)
	if err == nil {
		s, err = m.limitRefs(ctx, s)
	}
	if err != nil {
		return State{}, err
	}
	s.Selection.Partial = listed.partial
	return s, m.copyRefs(ctx, s)
}

// copyObjects first reads the refs and then copies the objects, so that the copies
// include the objects of the refs. The mirror must exist.
func (m *Mirror) copyObjects(ctx context.Context, src source, refs []code.Ref) (diskRead, error) {
	if err := m.markCopy(src); err != nil {
		return diskRead{}, err
	}
	copies := m.copies
	read, err := m.readDisk(ctx, src, m.ms.o.FetchTimeout, func(ctx context.Context, repo *ondisk.Repository) (diskRead, error) {
		if repo.Format() != m.objectFormat() {
			// There is now a different repository at the path: a full fetch starts over.
			return diskRead{}, fmt.Errorf("%s has another object format than its mirror: %w", src.path, code.ErrNotFound)
		}
		found, err := repo.Find(ctx, refs)
		if err != nil {
			return diskRead{}, err
		}
		shallow, err := repo.Shallow()
		if err != nil {
			return diskRead{}, err
		}
		copied, err := copies.Update(ctx, repo)
		m.ms.metrics.fetchBytes.Add(float64(copied))
		if !m.hasGraph() {
			m.ms.noteRepack(m)
		}
		return diskRead{refs: found, shallow: shallow}, err
	})
	if err == nil {
		err = removeIfThere(m.borrowedMark())
	}
	return read, err
}

// markCopy records the repository from which the objects of the mirror are copied.
func (m *Mirror) markCopy(src source) error {
	if strings.ContainsRune(src.path, '\n') {
		return fmt.Errorf("%w: a path with a line break", ErrRefused)
	}
	file := filepath.Join(m.gitDir(), copyName)
	if have, _ := os.ReadFile(file); string(have) == src.path+"\n" {
		return nil
	}
	m.resetCopies()
	return writeFile(file, []byte(src.path+"\n"))
}

// isCopy reports whether the mirror's objects are copies from a repository on disk.
func (m *Mirror) isCopy() bool { return isFile(filepath.Join(m.gitDir(), copyName)) }

// endCopy turns a mirror of copies into one that is fetched. It keeps the objects.
func (m *Mirror) endCopy() error {
	return errors.Join(removeIfThere(filepath.Join(m.gitDir(), copyName)), removeIfThere(m.borrowedMark()))
}

// resetCopies drops the record of copied files: the next copy compares all files.
func (m *Mirror) resetCopies() {
	m.copies = &ondisk.Objects{Directory: filepath.Join(m.gitDir(), "objects"), MaxBytes: m.ms.o.MaxMirrorBytes, RemoveAfter: removeCopiesAfter}
}

// isShallow reports whether commits of the mirror lack their parents.
func (m *Mirror) isShallow() bool {
	info, err := os.Stat(filepath.Join(m.gitDir(), "shallow"))
	return err == nil && info.Size() > 0
}

// writeShallow writes the list of commits that lack their parents.
func (m *Mirror) writeShallow(commits []code.CommitID) error {
	file := filepath.Join(m.gitDir(), "shallow")
	if len(commits) == 0 {
		return removeIfThere(file)
	}
	var b strings.Builder
	for _, id := range commits {
		b.WriteString(string(id) + "\n")
	}
	if have, _ := os.ReadFile(file); string(have) == b.String() {
		return nil
	}
	return writeFile(file, []byte(b.String()))
}

// selectCommits returns the state of a listing. A ref that names something other than a
// commit or a tag of one is only in its selection, as unsupported.
func (m *Mirror) selectCommits(ctx context.Context, r code.Repository, l listing) (State, error) {
	var dropped []code.Ref
	for {
		s, err := l.selectState(r)
		if err != nil || len(s.Revisions) == 0 {
			return s, err
		}
		commits := make(map[code.Ref]code.CommitID, len(s.Revisions))
		for _, rev := range s.Revisions {
			commits[rev.Ref] = rev.Commit
		}
		missing, err := m.peelTags(ctx, commits)
		if err := errors.Join(err, missing); err != nil {
			return State{}, err
		}
		if len(commits) == len(s.Revisions) {
			for i, rev := range s.Revisions {
				s.Revisions[i].Commit = commits[rev.Ref]
			}
			slices.Sort(dropped)
			for _, ref := range dropped {
				s.Selection.addCommitless(ref)
			}
			return s, nil
		}
		for _, rev := range s.Revisions {
			if _, ok := commits[rev.Ref]; !ok {
				delete(l.refs, rev.Ref)
				dropped = append(dropped, rev.Ref)
			}
		}
		l.headCommit = "" // no branch is left: the repository has no commits
	}
}

// peelTags replaces tag objects by the commits that they tag, and removes the refs that
// name something else. It keeps refs whose objects the mirror lacks; missing then wraps
// ErrMissing.
func (m *Mirror) peelTags(ctx context.Context, refs map[code.Ref]code.CommitID) (missing, err error) {
	if len(refs) == 0 {
		return nil, nil
	}
	reader, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	names, ids := make([]code.Ref, 0, len(refs)), make([]ObjectID, 0, len(refs))
	for ref, commit := range refs {
		id, err := ParseObjectID([]byte(commit))
		if err != nil {
			return nil, err
		}
		names, ids = append(names, ref), append(ids, id)
	}
	var tags []code.Ref
	err = reader.Kinds(ctx, ids, func(i int, kind string) {
		switch {
		case kind == "":
			missing = fmt.Errorf("%s names %s: %w", names[i], ids[i], ErrMissing)
		case kind == "tag" && names[i].IsTag():
			tags = append(tags, names[i])
		case kind != "commit":
			delete(refs, names[i])
		}
	})
	if err != nil {
		return missing, err
	}
	for _, ref := range tags {
		c, err := reader.commit(ctx, string(refs[ref]))
		if errors.Is(err, ErrMissing) {
			delete(refs, ref)
			continue
		}
		if err != nil {
			return missing, err
		}
		refs[ref] = c.ID
	}
	return missing, nil
}

// copyRefs sets the branches and tags of the mirror to those of s.
func (m *Mirror) copyRefs(ctx context.Context, s State) error {
	have, err := m.fetchedRefs(ctx)
	if err != nil {
		return err
	}
	var update, remove refUpdate
	for _, r := range s.Revisions {
		if have[r.Ref] != r.Commit {
			if err := update.setRef(string(r.Ref), r.Commit); err != nil {
				return err
			}
		}
		delete(have, r.Ref)
	}
	for ref := range have {
		if err := remove.setRef(string(ref), ""); err != nil {
			return err
		}
	}
	// Two transactions: within one, branch a cannot make room for a/b.
	if err := m.updateRefs(ctx, remove); err != nil {
		return err
	}
	return m.updateRefs(ctx, update)
}

// copyPushed copies refs of a repository on disk and adds their commits to commits. A
// single branch usually takes no process; for several refs, one process writes those that
// exist and one removes the others.
func (m *Mirror) copyPushed(ctx context.Context, src source, refs []code.Ref, commits map[code.Ref]code.CommitID) error {
	read, err := m.copyObjects(ctx, src, refs)
	if err != nil {
		return err
	}
	if err := m.writeShallow(read.shallow); err != nil {
		return err
	}
	missing, err := m.peelTags(ctx, read.refs)
	if err := errors.Join(err, missing); err != nil {
		return err
	}
	var update, remove refUpdate
	for _, ref := range refs {
		id, ok := read.refs[ref]
		if ok {
			err = update.setRef(string(ref), id)
			commits[ref] = id
		} else {
			err = remove.setRef(string(ref), "")
		}
		if err != nil {
			return err
		}
	}
	// Two transactions: within one, branch a cannot make room for a/b.
	if err := m.updateRefs(ctx, remove); err != nil {
		return err
	}
	if id := commits[refs[0]]; len(refs) == 1 && id != "" {
		return m.setRef(ctx, string(refs[0]), id)
	}
	return m.updateRefs(ctx, update)
}

// findOnDisk returns, for a mirror of copies, the refs that read finds in the repository
// now; for any other mirror, it returns none.
func (m *Mirror) findOnDisk(ctx context.Context, read func(context.Context, *ondisk.Repository) (ondisk.Refs, error)) (ondisk.Refs, error) {
	src, err := m.copySource(ctx)
	if err != nil || src.path == "" {
		return nil, err
	}
	found, err := m.readDisk(ctx, src, listTimeout, func(ctx context.Context, repo *ondisk.Repository) (diskRead, error) {
		refs, err := read(ctx, repo)
		return diskRead{refs: refs}, err
	})
	return found.refs, err
}

// copySource returns the repository whose objects the mirror copies, if the policy still
// allows reading it; none if the mirror is fetched.
func (m *Mirror) copySource(ctx context.Context) (source, error) {
	path, err := readSmall(filepath.Join(m.gitDir(), copyName))
	if errors.Is(err, fs.ErrNotExist) {
		return source{}, nil
	} else if err != nil {
		return source{}, err
	}
	return m.ms.o.Policy.checkURL(ctx, strings.TrimSuffix(string(path), "\n"))
}

// Before version 0.2 a mirror borrowed the objects of a repository on disk through
// objects/info/alternates. disownBorrowed keeps git from following that file immediately;
// adoptBorrowed copies the objects when the mirror is first used.

// borrowedMark returns the path of the file that marks a mirror without the objects that
// it used to borrow.
func (m *Mirror) borrowedMark() string {
	return filepath.Join(m.gitDir(), "objects", "info", "borrowed-before")
}

func (m *Mirror) disownBorrowed() {
	alternates := filepath.Join(m.gitDir(), "objects", "info", "alternates")
	if err := os.Rename(alternates, m.borrowedMark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.ms.o.Logger.Error("a mirror still borrows objects; remove its directory", "repository_id", m.id.String(), "directory", m.dir, "error", err)
	}
}

// adoptBorrowed copies the objects that the mirror used to borrow.
func (m *Mirror) adoptBorrowed(ctx context.Context) error {
	if !isFile(m.borrowedMark()) {
		return nil
	}
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	if !isFile(m.borrowedMark()) {
		return nil
	}
	objects, err := readSmall(m.borrowedMark())
	if err != nil {
		return err
	}
	src, err := m.ms.o.Policy.checkURL(ctx, filepath.Dir(strings.TrimSuffix(string(objects), "\n")))
	if err == nil {
		_, err = m.copyObjects(ctx, src, nil)
	}
	if err != nil {
		return fmt.Errorf("%w: the objects of the repository are not copied yet: %v", ErrMissing, err)
	}
	return nil
}

// formatOfConfig returns extensions.objectFormat from a configuration that git wrote.
func formatOfConfig(b []byte) string {
	if strings.Contains(strings.ToLower(string(b)), "objectformat = sha256") {
		return "sha256"
	}
	return "sha1"
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
