package rpc

import (
	"context"
	"errors"
	"strconv"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// ErrNotHeld reports that a process does not handle the events of a repository, so that its
// mirror may have old refs.
var ErrNotHeld = errors.New("the process does not handle the events of the repository")

// GitMethod is a method of source.Git.
type GitMethod string

// The methods of source.Git.
const (
	gitResolve     GitMethod = "resolve"
	gitReach       GitMethod = "reach"
	gitBranches    GitMethod = "branches"
	gitFile        GitMethod = "file"
	gitContent     GitMethod = "content"
	gitDirectories GitMethod = "directories"
	gitFiles       GitMethod = "files"
	gitLog         GitMethod = "log"
	gitCount       GitMethod = "count"
	gitChanges     GitMethod = "last_changes"
	gitAuthors     GitMethod = "authors"
	gitMergeBase   GitMethod = "merge_base"
	gitDiff        GitMethod = "diff"
	gitBlame       GitMethod = "blame"
)

// The methods of Mirrors.
const (
	mirrorState    GitMethod = "mirror_state"
	mirrorTree     GitMethod = "mirror_tree"
	mirrorSizes    GitMethod = "mirror_sizes"
	mirrorReaching GitMethod = "mirror_reaching"
)

// Mirrors reads mirrors for verifications and erasures.
type Mirrors interface {
	ReadState(ctx context.Context, id code.RepositoryID) (verification.MirrorState, error)
	// ListTree returns the first files of a commit whose paths are after one, by bytes, at most
	// MaxTreePage, and whether there are more.
	ListTree(ctx context.Context, id code.RepositoryID, commit code.CommitID, after string) (files []verification.TreeFile, isCut bool, err error)
	// ReadSizes returns the sizes of blobs that were read and agree with their names; -1 for those
	// with more than maxBytes.
	ReadSizes(ctx context.Context, id code.RepositoryID, blobs []string, maxBytes int64) ([]int64, error)
	// FindReaching returns a commit that a ref leads to and that keeps a commit, or a path, from
	// being erased; empty if there is none.
	FindReaching(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) (code.CommitID, error)
}

const (
	// MaxTreePage bounds the files in a reply.
	MaxTreePage = 50_000
	// maxMirrorBlobs bounds the blobs whose sizes a call asks for.
	maxMirrorBlobs = 1000
	// maxMirrorBlobBytes bounds each of them.
	maxMirrorBlobBytes = 16 << 20
)

// GitCall is a call of source.Git with its arguments, of which a method uses some. The caller has
// checked that its client may read the repository.
type GitCall struct {
	Method     GitMethod
	Repository code.RepositoryID
	// Held wants ErrNotHeld from a process that does not handle the events of the repository.
	Held bool

	Name   code.RevisionName
	Head   code.Ref
	Commit code.CommitID
	// Base is the other commit of a difference or a merge base.
	Base code.CommitID
	// Indexed are the indexed refs of the caller.
	Indexed []code.Revision
	Path    string
	Paths   []string // of directories, or names of entries
	Log     source.LogQuery
	// After is a path, which git does not get, and Blobs are names of objects.
	After string
	Blobs []string
	// Limit bounds a list, and MaxBytes a file or a difference.
	Limit    int
	MaxBytes int64
}

// NeedsRefs reports whether the answer depends on the refs of a mirror. Other answers follow from
// the names of commits, and so are those of any mirror that has the commits.
func (c *GitCall) NeedsRefs() bool {
	switch c.Method {
	case gitResolve, gitReach, gitBranches, mirrorState, mirrorReaching:
		return true
	}
	return false
}

// GitReply is the answer to a GitCall: the results of its method.
type GitReply struct {
	Commit      code.CommitID
	Reach       source.Reach
	Branches    []source.Branch
	File        source.File
	Content     []byte
	Directories map[string][]source.Entry
	Files       []string
	Commits     []source.Commit
	Count       int
	Changes     map[string]source.Commit
	IsCut       bool
	Authors     []source.Author
	Diff        []source.FileDiff
	Blame       *source.Blame
	State       verification.MirrorState
	Tree        []verification.TreeFile
	Sizes       []int64
}

// CallGit sends a call to a process with mirrors, through a connection for this call. The error is
// search.ErrShardLost if the process does not answer.
func (p *Peer) CallGit(ctx context.Context, c *GitCall) (*GitReply, error) {
	s := &session{peer: p, path: gitPath, caller: strconv.AppendUint(nil, uint64(c.Repository), 10)}
	defer s.Close()
	in, err := s.exchange(ctx, &call{Git: c})
	if err != nil {
		return nil, err
	}
	if err := in.failureError(); err != nil {
		return nil, err
	}
	if in.Git == nil || c.Method == gitBlame && in.Git.Blame == nil {
		return nil, s.lossError(ctx, errors.New("its reply does not answer the call"))
	}
	return in.Git, nil
}

// CheckGit connects to a process with mirrors, with a handshake and no call.
func (p *Peer) CheckGit(ctx context.Context) error {
	s := &session{peer: p, path: gitPath, caller: []byte("0")}
	defer s.Close()
	return s.openConnection(ctx)
}

// RemoteGit implements source.Git and Mirrors by calls.
type RemoteGit struct {
	// Call carries out a call. Its reply is not nil unless there is an error.
	Call func(ctx context.Context, c *GitCall) (*GitReply, error)
}

var (
	_ source.Git = RemoteGit{}
	_ Mirrors    = RemoteGit{}
)

// call returns the reply, or an empty one with the error.
func (g RemoteGit) call(ctx context.Context, c GitCall) (*GitReply, error) {
	r, err := g.Call(ctx, &c)
	if err != nil {
		return &GitReply{}, err
	}
	return r, nil
}

// Resolve implements source.Git.
func (g RemoteGit) Resolve(ctx context.Context, id code.RepositoryID, name code.RevisionName, head code.Ref) (code.CommitID, error) {
	r, err := g.call(ctx, GitCall{Method: gitResolve, Repository: id, Name: name, Head: head})
	return r.Commit, err
}

// Reach implements source.Git.
func (g RemoteGit) Reach(ctx context.Context, id code.RepositoryID, commit code.CommitID, indexed []code.Revision) (source.Reach, error) {
	r, err := g.call(ctx, GitCall{Method: gitReach, Repository: id, Commit: commit, Indexed: indexed})
	return r.Reach, err
}

// Branches implements source.Git.
func (g RemoteGit) Branches(ctx context.Context, id code.RepositoryID) ([]source.Branch, error) {
	r, err := g.call(ctx, GitCall{Method: gitBranches, Repository: id})
	return r.Branches, err
}

// File implements source.Git.
func (g RemoteGit) File(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (source.File, error) {
	r, err := g.call(ctx, GitCall{Method: gitFile, Repository: id, Commit: commit, Path: path, MaxBytes: maxBytes})
	return r.File, err
}

// Content implements source.Git.
func (g RemoteGit) Content(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) ([]byte, error) {
	r, err := g.call(ctx, GitCall{Method: gitContent, Repository: id, Commit: commit, Path: path, MaxBytes: maxBytes})
	return r.Content, err
}

// Directories implements source.Git.
func (g RemoteGit) Directories(ctx context.Context, id code.RepositoryID, commit code.CommitID, paths []string, limit int) (map[string][]source.Entry, error) {
	r, err := g.call(ctx, GitCall{Method: gitDirectories, Repository: id, Commit: commit, Paths: paths, Limit: limit})
	return r.Directories, err
}

// Files implements source.Git.
func (g RemoteGit) Files(ctx context.Context, id code.RepositoryID, commit code.CommitID, limit int) ([]string, error) {
	r, err := g.call(ctx, GitCall{Method: gitFiles, Repository: id, Commit: commit, Limit: limit})
	return r.Files, err
}

// Log implements source.Git.
func (g RemoteGit) Log(ctx context.Context, id code.RepositoryID, q source.LogQuery) ([]source.Commit, error) {
	r, err := g.call(ctx, GitCall{Method: gitLog, Repository: id, Log: q})
	return r.Commits, err
}

// CountLog implements source.Git.
func (g RemoteGit) CountLog(ctx context.Context, id code.RepositoryID, q source.LogQuery) (int, error) {
	r, err := g.call(ctx, GitCall{Method: gitCount, Repository: id, Log: q})
	return r.Count, err
}

// LastChanges implements source.Git.
func (g RemoteGit) LastChanges(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, names []string) (
	changes map[string]source.Commit, isCut bool, err error,
) {
	r, err := g.call(ctx, GitCall{Method: gitChanges, Repository: id, Commit: commit, Path: path, Paths: names})
	return r.Changes, r.IsCut, err
}

// Authors implements source.Git.
func (g RemoteGit) Authors(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) ([]source.Author, error) {
	r, err := g.call(ctx, GitCall{Method: gitAuthors, Repository: id, Commit: commit, Path: path})
	return r.Authors, err
}

// MergeBase implements source.Git.
func (g RemoteGit) MergeBase(ctx context.Context, id code.RepositoryID, a, b code.CommitID) (code.CommitID, error) {
	r, err := g.call(ctx, GitCall{Method: gitMergeBase, Repository: id, Base: a, Commit: b})
	return r.Commit, err
}

// Diff implements source.Git.
func (g RemoteGit) Diff(ctx context.Context, id code.RepositoryID, base, head code.CommitID, path string, maxBytes int64) ([]source.FileDiff, error) {
	r, err := g.call(ctx, GitCall{Method: gitDiff, Repository: id, Base: base, Commit: head, Path: path, MaxBytes: maxBytes})
	return r.Diff, err
}

// Blame implements source.Git.
func (g RemoteGit) Blame(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (*source.Blame, error) {
	r, err := g.call(ctx, GitCall{Method: gitBlame, Repository: id, Commit: commit, Path: path, MaxBytes: maxBytes})
	return r.Blame, err
}

// ReadState implements Mirrors.
func (g RemoteGit) ReadState(ctx context.Context, id code.RepositoryID) (verification.MirrorState, error) {
	r, err := g.call(ctx, GitCall{Method: mirrorState, Repository: id})
	return r.State, err
}

// ListTree implements Mirrors.
func (g RemoteGit) ListTree(ctx context.Context, id code.RepositoryID, commit code.CommitID, after string) (files []verification.TreeFile, isCut bool, err error) {
	r, err := g.call(ctx, GitCall{Method: mirrorTree, Repository: id, Commit: commit, After: after})
	return r.Tree, r.IsCut, err
}

// ReadSizes implements Mirrors.
func (g RemoteGit) ReadSizes(ctx context.Context, id code.RepositoryID, blobs []string, maxBytes int64) ([]int64, error) {
	r, err := g.call(ctx, GitCall{Method: mirrorSizes, Repository: id, Blobs: blobs, MaxBytes: maxBytes})
	if err == nil && len(r.Sizes) != len(blobs) {
		err = errors.New("a process with mirrors answers with other blobs")
	}
	return r.Sizes, err
}

// FindReaching implements Mirrors.
func (g RemoteGit) FindReaching(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) (code.CommitID, error) {
	r, err := g.call(ctx, GitCall{Method: mirrorReaching, Repository: id, Commit: commit, Path: path})
	return r.Commit, err
}
