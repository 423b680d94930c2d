package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// RepositorySession answers calls about one repository from one state of the index. It is
// used by one goroutine at a time.
type RepositorySession interface {
	// Call carries out one call. Its errors are those of source.Snapshot.
	Call(ctx context.Context, c *RepositoryCall) (*RepositoryReply, error)
	// Close ends the session.
	Close()
}

// RepositoryCall is a call about the repository of a session: the first of its fields that
// is set.
type RepositoryCall struct {
	// Refs returns the indexed refs, Status the progress of indexing.
	Refs, Status bool
	// File, List, Files and Skipped are calls of source.Snapshot and of api.Status.
	File, List, Files *RefPath
	Skipped           *SkippedFiles
}

// RefPath is a path at an indexed ref, with the limit of a list.
type RefPath struct {
	Ref   code.Ref
	Path  string
	Limit int
}

// SkippedFiles is a page of the skipped files of a ref.
type SkippedFiles struct {
	Ref           code.Ref
	Reason        string
	Offset, Limit int
}

// RepositoryReply is the answer to a RepositoryCall.
type RepositoryReply struct {
	Default  code.Ref
	Branches []source.Branch
	File     *source.File
	Entries  []source.Entry
	Files    []string
	Status   *indexing.Status
	Skipped  []indexing.SkippedFile
	Total    int // of the skipped files
}

// OpenRepository returns a session about a repository, which the caller describes. Its first
// call connects.
func (p *Peer) OpenRepository(caller []byte) RepositorySession {
	return repositorySession{&session{peer: p, path: repositoryPath, caller: caller}}
}

// repositorySession is a session about a repository.
type repositorySession struct{ *session }

// Call implements RepositorySession.
func (s repositorySession) Call(ctx context.Context, c *RepositoryCall) (*RepositoryReply, error) {
	in, err := s.exchange(ctx, &call{Repository: c})
	if err != nil {
		return nil, err
	}
	if err := in.failureError(); err != nil {
		return nil, err
	}
	if r := in.Repository; r == nil || c.File != nil && r.File == nil || c.Status && r.Status == nil {
		return nil, s.lossError(ctx, errors.New("its reply does not answer the call"))
	}
	return in.Repository, nil
}

// remoteError is an error of a peer with its kind. Its text is that of the peer, so that an
// answer of a front is that of a process with everything.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return fmt.Sprintf("%.300s", e.text) }

// Unwrap returns the kind.
func (e *remoteError) Unwrap() error { return e.kind }
