package source

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// CommitsRequest selects a page of a history.
type CommitsRequest struct {
	// Revision is where the history begins; empty for the default branch. base..head
	// selects the commits of head that are not in base; either side may be empty for the
	// default branch.
	Revision string
	LogQuery // Commit and Except are not used
}

// Commits returns a page of a history, newest first, and the total number of commits. The
// path need not exist at the revision: it may have existed before.
func (b *Browser) Commits(ctx context.Context, r *code.Repository, q CommitsRequest) ([]Commit, int, error) {
	if err := q.CheckBounds(); err != nil {
		return nil, 0, err
	}
	base, head, isRange := strings.Cut(q.Revision, "..")
	if !isRange {
		base, head = "", q.Revision
	}
	rev, err := b.findRevision(ctx, r, head)
	if err != nil {
		return nil, 0, err
	}
	q.LogQuery.Commit = rev.commit
	if isRange {
		except, err := b.findRevision(ctx, r, base)
		if err != nil {
			return nil, 0, err
		}
		q.LogQuery.Except = except.commit
	}
	var commits []Commit
	var total int
	err = b.callGit(ctx, b.walks, operationLog, func(ctx context.Context) (err error) {
		commits, total, err = b.readPage(ctx, r.ID, q.LogQuery)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("commits of %s: %w", r.Name, err)
	}
	return commits, total, nil
}

// findRevision returns the revision of a name and releases the snapshot.
func (b *Browser) findRevision(ctx context.Context, r *code.Repository, name string) (rev revision, err error) {
	err = b.withRevision(ctx, r, name, func(_ Snapshot, at revision) error {
		rev = at
		return nil
	})
	return rev, err
}

// countResult is the result of a count.
type countResult struct {
	n   int
	err error
}

// readPage reads a page and, concurrently, the total count. The last page of a history
// implies the count.
func (b *Browser) readPage(ctx context.Context, id code.RepositoryID, q LogQuery) ([]Commit, int, error) {
	key := cacheKey{operation: operationCount, id: id, commit: q.Commit, query: q}
	key.query.Skip, key.query.Limit, key.query.Commit = 0, 0, ""
	known, hit := b.cache.get(key)
	b.metrics.observeLookup(operationCount, hit)
	if hit {
		commits, err := b.o.Git.Log(ctx, id, q)
		return commits, known.(int), err
	}
	counting, stop := context.WithCancel(ctx)
	result := make(chan countResult, 1)
	go func() {
		n, err := b.o.Git.CountLog(counting, id, q)
		result <- countResult{n, err}
	}()
	commits, err := b.o.Git.Log(ctx, id, q)
	if last := len(commits) < q.Limit && (len(commits) > 0 || q.Skip == 0); err != nil || last {
		stop()
		<-result
		if err == nil {
			b.cache.put(key, q.Skip+len(commits), 0)
		}
		return commits, q.Skip + len(commits), err
	}
	count := <-result
	stop()
	if count.err == nil {
		b.cache.put(key, count.n, 0)
	}
	return commits, count.n, count.err
}

// CheckBounds refuses values that must not reach git. It does not check Commit and Except.
func (q *LogQuery) CheckBounds() (err error) {
	if q.Path, err = cleanDirectory(q.Path); err != nil {
		return err
	}
	if q.Skip < 0 || q.Skip > MaxSkippedCommits {
		return fmt.Errorf("%w: page after more than %d commits", ErrTooLarge, MaxSkippedCommits)
	}
	if q.FirstLine != 0 || q.LastLine != 0 {
		switch {
		case q.Path == "":
			return fmt.Errorf("%w: set path to the file that has them", ErrNoLine)
		case q.Follow:
			return fmt.Errorf("%w: their history always follows renames: omit follow", ErrNoLine)
		case q.FirstLine < 1 || q.LastLine < q.FirstLine || q.LastLine-q.FirstLine >= MaxHistoryLines:
			return fmt.Errorf("%w: want a range of 1 to %d lines", ErrNoLine, MaxHistoryLines)
		}
	}
	return cmp.Or(checkPattern("query", q.Message), checkPattern("author", q.Author))
}

// checkPattern refuses patterns for which git's regular expressions would need too much
// memory, such as a{32767} nested in itself. name is the name of the parameter.
func checkPattern(name, p string) error {
	switch {
	case len(p) > MaxPatternBytes:
		return fmt.Errorf("%s: %w: want at most %d bytes", name, ErrInvalidPattern, MaxPatternBytes)
	case strings.ContainsAny(p, "\x00\n\r"):
		return fmt.Errorf("%s: %w: want one line of text", name, ErrInvalidPattern)
	case strings.Contains(p, `\{`):
		return fmt.Errorf(`%s: %w: want no interval such as \{2,3\}`, name, ErrInvalidPattern)
	}
	return nil
}

// Commit returns the commit that a name refers to.
func (b *Browser) Commit(ctx context.Context, r *code.Repository, name string) (Commit, error) {
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return Commit{}, err
	}
	var commits []Commit
	err = b.callGit(ctx, b.walks, operationCommit, func(ctx context.Context) (err error) {
		commits, err = b.o.Git.Log(ctx, r.ID, LogQuery{Commit: rev.commit, Limit: 1})
		return err
	})
	if err == nil && len(commits) == 0 {
		err = ErrNoRevision
	}
	if err != nil {
		return Commit{}, fmt.Errorf("commit %s of %s: %w", rev.commit, r.Name, err)
	}
	return commits[0], nil
}

// authorOverhead is the memory that an Author takes in addition to its strings.
const authorOverhead = 48

// Authors returns the authors of the commits reachable from a revision, below a path if
// it is not empty, most commits first. The caller must not modify the slice.
func (b *Browser) Authors(ctx context.Context, r *code.Repository, name, path string) ([]Author, error) {
	path, err := cleanDirectory(path)
	if err != nil {
		return nil, err
	}
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return nil, err
	}
	key := cacheKey{operation: operationAuthors, id: r.ID, commit: rev.commit, path: path}
	authors, err := readCached(ctx, b, key, authorsBytes, func(ctx context.Context) ([]Author, error) {
		return b.o.Git.Authors(ctx, r.ID, rev.commit, path)
	})
	if err != nil {
		return nil, fmt.Errorf("authors of %s: %w", r.Name, err)
	}
	return authors, nil
}

func authorsBytes(authors []Author) (n int64) {
	for _, a := range authors {
		n += int64(authorOverhead + len(a.Name) + len(a.Email))
	}
	return n
}

// readCached returns the cached value of a key, or calls ask and caches the result.
// Callers that wait for a slot find the value that a concurrent caller has cached.
func readCached[T any](ctx context.Context, b *Browser, key cacheKey, size func(T) int64, ask func(context.Context) (T, error)) (T, error) {
	known, hit := b.cache.get(key)
	b.metrics.observeLookup(key.operation, hit)
	if hit {
		return known.(T), nil
	}
	var value T
	err := b.callGit(ctx, b.walks, key.operation, func(ctx context.Context) (err error) {
		if known, hit := b.cache.get(key); hit {
			value = known.(T)
			return nil
		}
		if value, err = ask(ctx); err == nil {
			b.cache.put(key, value, size(value))
		}
		return err
	})
	return value, err
}

const (
	// commitOverhead is the memory that a Commit takes in addition to its strings.
	commitOverhead = 200
	// cutLifetime is how long last changes that the time of a call cut serve other callers.
	cutLifetime = time.Minute
)

// lastChanges are cached last changes.
type lastChanges struct {
	commits map[string]Commit
	until   time.Time // when they are read again; zero if they are complete
}

// LastChanges returns the newest commits that changed a path, by "", and the given entries of
// the directory that it is, by name. Entries that did not change for long are missing.
func (b *Browser) LastChanges(ctx context.Context, r *code.Repository, name, path string, entries []string) (map[string]Commit, error) {
	path, err := cleanDirectory(path)
	if err != nil {
		return nil, err
	}
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return nil, err
	}
	size := func(changes lastChanges) (n int64) {
		for name, c := range changes.commits {
			n += int64(commitOverhead + len(name) + len(c.AuthorName) + len(c.AuthorEmail) + len(c.Refs) + len(c.Subject) + len(c.Body))
		}
		return n
	}
	key := cacheKey{operation: operationChanges, id: r.ID, commit: rev.commit, path: path}
	if known, hit := b.cache.get(key); hit {
		if until := known.(lastChanges).until; !until.IsZero() && b.o.Now().After(until) {
			b.cache.remove(key)
		}
	}
	changes, err := readCached(ctx, b, key, size, func(ctx context.Context) (changes lastChanges, err error) {
		var isCut bool
		if changes.commits, isCut, err = b.o.Git.LastChanges(ctx, r.ID, rev.commit, path, entries); isCut {
			changes.until = b.o.Now().Add(cutLifetime)
		}
		return changes, err
	})
	if err != nil {
		return nil, fmt.Errorf("last changes of %.200q of %s: %w", path, r.Name, err)
	}
	return changes.commits, nil
}

// Diff returns the differences between two revisions, below a path if it is not empty,
// ordered by path.
func (b *Browser) Diff(ctx context.Context, r *code.Repository, base, head, path string) ([]FileDiff, error) {
	path, err := cleanDirectory(path)
	if err != nil {
		return nil, err
	}
	from, err := b.findRevision(ctx, r, base)
	if err != nil {
		return nil, err
	}
	to, err := b.findRevision(ctx, r, head)
	if err != nil {
		return nil, err
	}
	return b.diffCommits(ctx, r, from.commit, to.commit, path)
}

// Memory that a range and a commit of a Blame take in addition to their strings.
const (
	blameRangeOverhead  = 64
	blameCommitOverhead = 300
)

// Blame returns the origin of each line of a file. The caller must not modify it.
func (b *Browser) Blame(ctx context.Context, r *code.Repository, name, path string) (*Blame, error) {
	if err := code.ValidatePath(path); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidPath, err)
	}
	rev, err := b.findRevision(ctx, r, name)
	if err != nil {
		return nil, err
	}
	key := cacheKey{operation: operationBlame, id: r.ID, commit: rev.commit, path: path}
	blame, err := readCached(ctx, b, key, (*Blame).sizeBytes, func(ctx context.Context) (*Blame, error) {
		return b.o.Git.Blame(ctx, r.ID, rev.commit, path, b.o.MaxFileBytes)
	})
	if err != nil {
		return nil, fmt.Errorf("blame of %.200q of %s: %w", path, r.Name, err)
	}
	return blame, nil
}

// sizeBytes returns the approximate memory size of b. It counts the path of each range,
// although most ranges share theirs.
func (b *Blame) sizeBytes() int64 {
	n := int64(0)
	for _, r := range b.Ranges {
		n += int64(blameRangeOverhead + len(r.Path))
	}
	for _, c := range b.Commits {
		n += int64(blameCommitOverhead + len(c.Subject) + len(c.AuthorName) + len(c.AuthorEmail) + len(c.PreviousPath))
	}
	return n
}
