package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// maxBlameRanges bounds the ranges of a blame in a reply, each of which takes up to some
	// hundred bytes with its path.
	maxBlameRanges = 500_000
	// maxGitCommits bounds the commits of a page, which clients ask for by the hundred.
	maxGitCommits = 10_000
	// maxGitIndexed bounds the indexed refs that a call brings along.
	maxGitIndexed = 200_000
	// maxGitRefs bounds the refs that a revision name may mean: code.ParseRevisionName returns
	// fewer.
	maxGitRefs = 8
)

// GitService answers the git reads of other processes from the mirrors of this one.
type GitService struct {
	// Git reads the mirrors.
	Git source.Git
	// Mirrors reads them for verifications and erasures.
	Mirrors Mirrors
	// Holds reports whether this process handles the events of a repository.
	Holds func(ctx context.Context, id code.RepositoryID) bool
}

// gitSession carries out the calls of a session, which are about one repository.
type gitSession struct {
	*Server
	repository code.RepositoryID
}

// openGit returns a session about the repository in the handshake.
func (s *Server) openGit(caller []byte) (*gitSession, error) {
	id, err := strconv.ParseUint(string(caller), 10, 64)
	if err != nil {
		return nil, errHandshake
	}
	return &gitSession{s, code.RepositoryID(id)}, nil
}

// callGit checks a call and carries it out once there is a slot: as many run at the same time as in
// a process with all roles, see source.Options.
func (g *gitSession) callGit(ctx context.Context, c *GitCall) (*GitReply, error) {
	if err := g.checkCall(c); err != nil {
		return nil, err
	}
	if (c.Held || c.NeedsRefs()) && !g.o.Git.Holds(ctx, g.repository) {
		return nil, ErrNotHeld
	}
	ctx, cancel := context.WithTimeout(ctx, source.DefaultTimeout)
	defer cancel()
	pool, slots := poolWalks, g.walks
	switch c.Method {
	case gitResolve, gitFile, gitContent, gitDirectories, gitBranches:
		pool, slots = poolReads, g.reads
	}
	wait := time.NewTimer(g.gitWait)
	defer wait.Stop()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-wait.C:
		g.metrics.gitBusy.WithLabelValues(pool).Inc()
		return nil, fmt.Errorf("%w: none of %d ended within %s", source.ErrBusy, cap(slots), g.gitWait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.metrics.gitRunning.WithLabelValues(pool).Inc()
	defer g.metrics.gitRunning.WithLabelValues(pool).Dec()
	return g.carryOut(ctx, c)
}

// checkCall returns an error for a call that no client of source.Git sends. git gets names only
// that were checked: a peer that was taken over must not reach further than its reads.
func (g *gitSession) checkCall(c *GitCall) error {
	var errs []error
	for _, path := range append([]string{c.Path, c.Log.Path}, c.Paths...) {
		if path != "" {
			errs = append(errs, code.ValidatePath(path))
		}
	}
	for _, ref := range append([]code.Ref{c.Head}, c.Name.Refs...) {
		if ref != "" {
			errs = append(errs, ref.Validate())
		}
	}
	for _, r := range c.Indexed {
		errs = append(errs, r.Ref.Validate())
	}
	_, err := code.ParseRevisionName(cmp.Or(c.Name.Commit, "HEAD") + c.Name.Steps)
	errs = append(errs, err, c.Log.CheckBounds())
	if c.Repository != g.repository || len(c.Name.Refs) > maxGitRefs || len(c.Paths) > source.MaxEntries || len(c.Indexed) > maxGitIndexed || len(c.Blobs) > maxMirrorBlobs ||
		c.Log.Limit < 0 || c.Log.Limit > maxGitCommits {
		errs = append(errs, errors.New("it is about another repository, or has too many names"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("a git call is malformed: %w", err)
	}
	return nil
}

// carryOut carries out a call. Its bounds are at most those of source.Browser.
func (g *gitSession) carryOut(ctx context.Context, c *GitCall) (r *GitReply, err error) {
	r = &GitReply{}
	id, fileBytes, diffBytes := g.repository, min(c.MaxBytes, source.DefaultMaxFileBytes), min(c.MaxBytes, source.DefaultMaxDiffBytes)
	switch c.Method {
	case gitResolve:
		r.Commit, err = g.o.Git.Git.Resolve(ctx, id, c.Name, c.Head)
	case gitReach:
		r.Reach, err = g.o.Git.Git.Reach(ctx, id, c.Commit, c.Indexed)
	case gitBranches:
		r.Branches, err = g.o.Git.Git.Branches(ctx, id)
	case gitFile:
		r.File, err = g.o.Git.Git.File(ctx, id, c.Commit, c.Path, fileBytes)
	case gitContent:
		r.Content, err = g.o.Git.Git.Content(ctx, id, c.Commit, c.Path, fileBytes)
	case gitDirectories:
		r.Directories, err = g.o.Git.Git.Directories(ctx, id, c.Commit, c.Paths, min(c.Limit, source.MaxEntries))
	case gitFiles:
		r.Files, err = g.o.Git.Git.Files(ctx, id, c.Commit, min(c.Limit, source.MaxFiles))
	case gitLog:
		r.Commits, err = g.o.Git.Git.Log(ctx, id, c.Log)
	case gitCount:
		r.Count, err = g.o.Git.Git.CountLog(ctx, id, c.Log)
	case gitChanges:
		r.Changes, r.IsCut, err = g.o.Git.Git.LastChanges(ctx, id, c.Commit, c.Path, c.Paths)
	case gitAuthors:
		r.Authors, err = g.o.Git.Git.Authors(ctx, id, c.Commit, c.Path)
	case gitMergeBase:
		r.Commit, err = g.o.Git.Git.MergeBase(ctx, id, c.Base, c.Commit)
	case gitDiff:
		r.Diff, err = g.o.Git.Git.Diff(ctx, id, c.Base, c.Commit, c.Path, diffBytes)
	case gitBlame:
		if r.Blame, err = g.o.Git.Git.Blame(ctx, id, c.Commit, c.Path, fileBytes); err == nil && len(r.Blame.Ranges) > maxBlameRanges {
			err = fmt.Errorf("a blame of more than %d ranges: %w", maxBlameRanges, source.ErrTooLarge)
		}
	case mirrorState, mirrorTree, mirrorSizes, mirrorReaching:
		err = g.readMirror(ctx, c, r)
	default:
		err = fmt.Errorf("a git call is malformed: there is no method %.40q", c.Method)
	}
	return r, err
}

// readMirror carries out a call of Mirrors.
func (g *gitSession) readMirror(ctx context.Context, c *GitCall, r *GitReply) (err error) {
	mirrors, id := g.o.Git.Mirrors, g.repository
	switch c.Method {
	case mirrorState:
		r.State, err = mirrors.ReadState(ctx, id)
	case mirrorTree:
		r.Tree, r.IsCut, err = mirrors.ListTree(ctx, id, c.Commit, c.After)
	case mirrorSizes:
		r.Sizes, err = mirrors.ReadSizes(ctx, id, c.Blobs, min(c.MaxBytes, maxMirrorBlobBytes))
	case mirrorReaching:
		r.Commit, err = mirrors.FindReaching(ctx, id, c.Commit, c.Path)
	}
	return err
}
