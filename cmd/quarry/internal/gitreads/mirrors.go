package gitreads

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/verify"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

var _ rpc.Mirrors = (*Reads)(nil)

// errRemoved reports that a mirror was damaged.
var errRemoved = errors.New("the mirror was damaged, and is removed: a repair, a request for its history or its next push fetches it again")

// mapDamage removes a mirror that an error shows to be damaged, and has it fetched again.
func (g *Reads) mapDamage(ctx context.Context, id code.RepositoryID, err error) error {
	reset, resetErr := g.mirrorOf(id).ResetDamaged(ctx, err)
	switch {
	case resetErr != nil || !reset:
		return errors.Join(MapError(err), resetErr)
	case g.requester.RequestMirror(ctx, id):
		return fmt.Errorf("%w; that has begun", errRemoved)
	}
	return errRemoved
}

// ReadState implements rpc.Mirrors.
func (g *Reads) ReadState(ctx context.Context, id code.RepositoryID) (s verification.MirrorState, err error) {
	m := g.mirrorOf(id)
	if s.Missing = !m.Exists(); s.Missing {
		g.requester.RequestMirror(ctx, id)
		return s, nil
	}
	s.Default = m.AnnouncedDefault()
	if s.Indexed, err = m.IndexedRevisions(ctx); err != nil {
		err = g.mapDamage(ctx, id, err)
	}
	return s, err
}

// errPage ends a listing whose page is full.
var errPage = errors.New("the page is full")

// maxPageBytes bounds the paths of a page, besides rpc.MaxTreePage.
const maxPageBytes = 64 << 20

// ListTree implements rpc.Mirrors.
func (g *Reads) ListTree(ctx context.Context, id code.RepositoryID, commit code.CommitID, after string) (files []verification.TreeFile, isCut bool, err error) {
	bytes := 0
	err = g.mirrorOf(id).ListTree(ctx, commit, func(path string, e mirror.Entry) error {
		if path <= after && after != "" {
			return nil
		}
		files = append(files, verification.TreeFile{Path: path, Mode: uint32(e.Mode), ID: e.ID.String(), SizeBytes: e.Size})
		if bytes += len(path); len(files) == rpc.MaxTreePage || bytes > maxPageBytes {
			return errPage
		}
		return nil
	})
	if err != nil && !errors.Is(err, errPage) {
		return nil, false, g.mapDamage(ctx, id, err)
	}
	return files, err != nil, nil
}

// ReadSizes implements rpc.Mirrors.
func (g *Reads) ReadSizes(ctx context.Context, id code.RepositoryID, blobs []string, maxBytes int64) ([]int64, error) {
	ids, sizes := make([]mirror.ObjectID, len(blobs)), make([]int64, len(blobs))
	for i, b := range blobs {
		var err error
		if ids[i], err = mirror.ParseObjectID([]byte(b)); err != nil {
			return nil, err
		}
	}
	err := g.mirrorOf(id).ReadSizes(ctx, ids, maxBytes, func(i int, bytes int64, err error) error {
		if sizes[i] = bytes; errors.Is(err, mirror.ErrTooLarge) {
			sizes[i], err = -1, nil
		}
		return err
	})
	if err != nil {
		return nil, g.mapDamage(ctx, id, err)
	}
	return sizes, nil
}

// FindReaching implements rpc.Mirrors.
func (g *Reads) FindReaching(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) (code.CommitID, error) {
	m := g.mirrorOf(id)
	if path != "" {
		found, err := m.ReachesPath(ctx, path)
		return found, MapError(err)
	}
	has, err := m.HasCommit(ctx, commit)
	if err != nil || !has {
		return "", MapError(err)
	}
	reach, err := m.Reach(ctx, commit)
	if err != nil || reach == mirror.ReachNone {
		commit = ""
	}
	return commit, MapError(err)
}

// RemoteMirror is the mirror of a repository in another process. It implements verify.Mirror.
type RemoteMirror struct {
	id    code.RepositoryID
	reads rpc.Mirrors
	state verification.MirrorState // as it was last read
}

var _ verify.Mirror = (*RemoteMirror)(nil)

// OpenRemote returns the mirror of a repository. The error wraps verify.ErrElsewhere.
func OpenRemote(ctx context.Context, reads rpc.Mirrors, id code.RepositoryID) (*RemoteMirror, error) {
	m := &RemoteMirror{id: id, reads: reads}
	_, err := m.IndexedRevisions(ctx)
	return m, err
}

// wrapRemote makes an error one of what is not compared, unless the caller has ended the call.
func wrapRemote(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", verify.ErrElsewhere, err)
}

// Exists implements verify.Mirror.
func (m *RemoteMirror) Exists() bool { return !m.state.Missing }

// AnnouncedDefault implements verify.Mirror: the one that IndexedRevisions has read.
func (m *RemoteMirror) AnnouncedDefault() code.Ref { return m.state.Default }

// IndexedRevisions implements verify.Mirror.
func (m *RemoteMirror) IndexedRevisions(ctx context.Context) (_ []code.Revision, err error) {
	m.state, err = m.reads.ReadState(ctx, m.id)
	return m.state.Indexed, wrapRemote(ctx, err)
}

// List implements verify.Mirror.
func (m *RemoteMirror) List(context.Context, code.Repository) (mirror.State, error) {
	return mirror.State{}, fmt.Errorf("%w: only a process with the role pipeline lists the refs of a code host", verify.ErrElsewhere)
}

// ListTree implements verify.Mirror.
func (m *RemoteMirror) ListTree(ctx context.Context, commit code.CommitID, fn func(path string, e mirror.Entry) error) error {
	for after := ""; ; {
		page, isCut, err := m.reads.ListTree(ctx, m.id, commit, after)
		if err != nil {
			return wrapRemote(ctx, err)
		}
		for _, f := range page {
			if f.Path <= after {
				return wrapRemote(ctx, fmt.Errorf("its listing of %s is not in the order of paths", commit))
			}
			after = f.Path
			id, err := mirror.ParseObjectID([]byte(f.ID))
			if err != nil {
				return wrapRemote(ctx, err)
			}
			if err := fn(f.Path, mirror.Entry{Mode: mirror.Mode(f.Mode), ID: id, Size: f.SizeBytes}); err != nil {
				return err
			}
		}
		if !isCut || len(page) == 0 {
			return nil
		}
	}
}

// ReadSizes implements verify.Mirror.
func (m *RemoteMirror) ReadSizes(ctx context.Context, ids []mirror.ObjectID, maxBytes int64, fn func(i int, bytes int64, err error) error) error {
	blobs := make([]string, len(ids))
	for i, id := range ids {
		blobs[i] = id.String()
	}
	sizes, err := m.reads.ReadSizes(ctx, m.id, blobs, maxBytes)
	if err != nil {
		return wrapRemote(ctx, err)
	}
	for i, bytes := range sizes {
		if bytes < 0 {
			err = mirror.ErrTooLarge
		} else {
			err = nil
		}
		if err := fn(i, bytes, err); err != nil {
			return err
		}
	}
	return nil
}

// ResetDamaged implements verify.Mirror. The process with the mirror does it itself.
func (m *RemoteMirror) ResetDamaged(context.Context, error) (bool, error) { return false, nil }
