package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Browser reads repositories at revisions.
type Browser struct {
	o            Options
	metrics      *metrics
	cache        *cache
	reads, walks *callPool
}

// New returns a Browser.
func New(o Options) (*Browser, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Browser{o: o, cache: newCache(o.CacheBytes)}
	b.metrics = newMetrics(o.Registerer, b.cache.sizeBytes)
	b.reads = newPool("reads", o.MaxReads, o.MaxWait, b.metrics)
	b.walks = newPool("walks", o.MaxWalks, o.MaxWait, b.metrics)
	return b, nil
}

// revision is a commit of a repository; ref is an indexed ref at that commit, if there is
// one.
type revision struct {
	id     code.RepositoryID
	commit code.CommitID
	ref    code.Ref
}

// withRevision calls read with a snapshot of the index and the revision that a name
// refers to in it; the empty name is the default branch.
func (b *Browser) withRevision(ctx context.Context, r *code.Repository, name string, read func(Snapshot, revision) error) error {
	parsed := code.RevisionName{Head: true}
	if name != "" {
		var err error
		if parsed, err = code.ParseRevisionName(name); err != nil {
			return err
		}
	}
	s, err := b.o.Index.Snapshot(ctx, r.ID)
	if err != nil {
		return err
	}
	defer s.Release()
	rev, err := b.resolveRevision(ctx, s, r, parsed)
	if err != nil {
		return fmt.Errorf("revision %q of %s: %w", name, r.Name, err)
	}
	return read(s, rev)
}

// resolveRevision checks the index first: a branch name refers to its indexed commit. A
// commit ID is accepted only if a ref leads to the commit, because a mirror also contains
// commits that a forced push has dropped.
func (b *Browser) resolveRevision(ctx context.Context, s Snapshot, r *code.Repository, name code.RevisionName) (revision, error) {
	rev := revision{id: r.ID}
	head, mustReach := s.Default(r.ID), false
	if rev.ref, rev.commit = findIndexed(s, r.ID, name, head); rev.commit != "" {
		if name.Steps == "" {
			return rev, nil
		}
		name = code.RevisionName{Commit: string(rev.commit), Steps: name.Steps}
		rev.ref = ""
	} else {
		mustReach = name.Commit != "" && !b.o.ServeUnreachable
	}
	if head == "" && r.DefaultBranch != "" {
		head = code.BranchRef(r.DefaultBranch)
	}
	if name.Head && head == "" {
		return rev, fmt.Errorf("the default branch is not indexed yet: %w", ErrNoRevision)
	}
	err := b.callGit(ctx, b.reads, operationResolve, func(ctx context.Context) (err error) {
		rev.commit, err = b.o.Git.Resolve(ctx, r.ID, name, head)
		return err
	})
	if err != nil {
		return rev, err
	}
	if rev.ref = s.RefAt(r.ID, rev.commit); rev.ref == "" && mustReach {
		err = b.checkReach(ctx, s, rev)
	}
	return rev, err
}

// findIndexed returns the indexed ref and commit for a name, ignoring its steps.
func findIndexed(s Snapshot, id code.RepositoryID, name code.RevisionName, head code.Ref) (code.Ref, code.CommitID) {
	if name.Head {
		if head == "" {
			return "", ""
		}
		return head, s.Commit(id, head)
	}
	if name.IsFullCommit() {
		if ref := s.RefAt(id, code.CommitID(name.Commit)); ref != "" {
			return ref, code.CommitID(name.Commit)
		}
		return "", ""
	}
	return name.Refs[0], s.Commit(id, name.Refs[0])
}

// callGit runs a git call within the bounds.
func (b *Browser) callGit(ctx context.Context, p *callPool, operation string, call func(context.Context) error) error {
	if b.o.Git == nil {
		return fmt.Errorf("%w in this process; its operator can set git.peers to the processes that have mirrors", ErrUnavailable)
	}
	if err := p.acquireSlot(ctx); err != nil {
		return err
	}
	defer p.releaseSlot()
	defer b.metrics.observeCall(operation, time.Now())
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.Timeout, fmt.Errorf("%w: more than %s", ErrTimeout, b.o.Timeout))
	defer cancel()
	err := call(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// File returns a file at a revision. The text of a symbolic link is its target. The error
// wraps ErrDirectory or ErrSubmodule if the path is one.
func (b *Browser) File(ctx context.Context, r *code.Repository, name, path string) (File, error) {
	if err := code.ValidatePath(path); err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrInvalidPath, err)
	}
	var file File
	var rev revision
	err := b.withRevision(ctx, r, name, func(s Snapshot, at revision) (err error) {
		rev, err = at, ErrNotIndexed
		if rev.ref != "" {
			file, err = s.File(ctx, r.ID, rev.ref, path)
		}
		if !errors.Is(err, ErrNoPath) {
			return err
		}
		switch _, listed := s.List(ctx, rev.id, rev.ref, path, 1); {
		case listed == nil || errors.Is(listed, ErrTooLarge):
			return ErrDirectory
		case errors.Is(listed, ErrNoPath) || errors.Is(listed, ErrNotIndexed):
			return err
		default:
			return listed
		}
	})
	if err == nil {
		b.metrics.indexed.Inc()
	}
	if errors.Is(err, ErrNotIndexed) {
		skipped, _ := errors.AsType[*SkippedError](err)
		err = b.callGit(ctx, b.reads, operationFile, func(ctx context.Context) (err error) {
			file, err = b.o.Git.File(ctx, r.ID, rev.commit, path, b.o.MaxFileBytes)
			return err
		})
		if skipped != nil {
			file.Skipped = skipped.Reason
		}
	}
	if err != nil {
		return File{}, fmt.Errorf("file %.200q of %s: %w", path, r.Name, err)
	}
	return file, nil
}

// Files returns the paths of all files at a revision, in order.
func (b *Browser) Files(ctx context.Context, r *code.Repository, name string) ([]string, error) {
	var files []string
	var rev revision
	err := b.withRevision(ctx, r, name, func(s Snapshot, at revision) (err error) {
		if rev = at; rev.ref == "" {
			return ErrNotIndexed
		}
		// This is the only result from the index that can be large.
		if err := b.walks.acquireSlot(ctx); err != nil {
			return err
		}
		defer b.walks.releaseSlot()
		files, err = s.Files(ctx, r.ID, rev.ref, MaxFiles)
		return err
	})
	if err == nil {
		b.metrics.indexed.Inc()
	}
	if errors.Is(err, ErrNotIndexed) {
		err = b.callGit(ctx, b.walks, operationFiles, func(ctx context.Context) (err error) {
			files, err = b.o.Git.Files(ctx, r.ID, rev.commit, MaxFiles)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("files of %s: %w", r.Name, err)
	}
	return files, nil
}

// Folder returns the entries of one directory at a revision, directories first; "" is the
// root.
func (b *Browser) Folder(ctx context.Context, r *code.Repository, name, path string) ([]Entry, error) {
	path, err := cleanDirectory(path)
	if err != nil {
		return nil, err
	}
	directories, err := b.readDirectories(ctx, r, name, []string{path})
	if err != nil {
		return nil, fmt.Errorf("directory %.200q of %s: %w", path, r.Name, err)
	}
	entries, ok := directories[path]
	if !ok {
		return nil, fmt.Errorf("directory %.200q of %s: %w", path, r.Name, ErrNoPath)
	}
	sortEntries(entries)
	return entries, nil
}

// readDirectories returns the entries of the directories that exist.
func (b *Browser) readDirectories(ctx context.Context, r *code.Repository, name string, paths []string) (map[string][]Entry, error) {
	var found map[string][]Entry
	var rev revision
	err := b.withRevision(ctx, r, name, func(s Snapshot, at revision) (err error) {
		rev, err = at, ErrNotIndexed
		if rev.ref != "" {
			found, err = listAll(ctx, s, rev, paths)
		}
		return err
	})
	if err == nil {
		b.metrics.indexed.Inc()
	}
	if errors.Is(err, ErrNotIndexed) {
		err = b.callGit(ctx, b.reads, operationDirectories, func(ctx context.Context) (err error) {
			found, err = b.o.Git.Directories(ctx, r.ID, rev.commit, paths, MaxEntries)
			return err
		})
	}
	return found, err
}

func listAll(ctx context.Context, s Snapshot, rev revision, paths []string) (map[string][]Entry, error) {
	found := make(map[string][]Entry, len(paths))
	room := MaxEntries
	for _, path := range paths {
		entries, err := s.List(ctx, rev.id, rev.ref, path, room)
		if errors.Is(err, ErrNoPath) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[path] = entries
		room -= len(entries)
	}
	return found, nil
}

// cleanDirectory removes the slashes around a path and validates it.
func cleanDirectory(path string) (string, error) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return "", nil
	}
	if err := code.ValidatePath(path); err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalidPath, err)
	}
	return path, nil
}

// sortEntries puts directories first, then sorts by name, ignoring case.
func sortEntries(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		if (a.Kind == KindTree) != (b.Kind == KindTree) {
			if a.Kind == KindTree {
				return -1
			}
			return 1
		}
		if d := strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
}
