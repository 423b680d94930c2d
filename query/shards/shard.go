package shards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// accountsWait bounds the wait of a session for the accounts that the front has applied.
const accountsWait = time.Second

// ShardOptions configure a Shard. All are required.
type ShardOptions struct {
	// Partitions are those that the process holds, ascending.
	Partitions []int32
	Searcher   *search.Searcher
	Screen     *corpus.Screen
	Views      api.Views
	Gate       api.Gate
	// WaitForAccounts waits until the accounts have applied the records at some positions.
	WaitForAccounts func(ctx context.Context, positions ...event.Position) error
	// Registered returns a registered repository of the catalog.
	Registered func(id code.RepositoryID) (code.Repository, bool)
	Index      source.Index
	Status     api.Status
	Snapshots  Snapshots
	// Ready returns an error while sessions must not be opened.
	Ready    func() error
	Coverage func() api.Coverage
	// Missing returns what searches lack.
	Missing func() replay.Missing
	// Settings returns the digest of the settings that decide what callers see.
	Settings func() string
	// Version is the version of the program.
	Version string
}

// Shard opens the sessions of a process with a share.
type Shard struct{ o ShardOptions }

// NewShard returns a Shard.
func NewShard(o ShardOptions) *Shard { return &Shard{o} }

// State returns the state of the shard, or an error if it is not ready.
func (s *Shard) State() (*rpc.State, error) {
	if err := s.o.Ready(); err != nil {
		return nil, err
	}
	covered := s.o.Coverage()
	state := &rpc.State{Program: s.o.Version, Settings: s.o.Settings(), Age: covered.Age, Next: make([]int64, len(covered.Next))}
	for p, next := range covered.Next {
		state.Next[p] = int64(next)
	}
	var failed string
	state.Creating, failed = s.o.Snapshots.State()
	state.SnapshotError = fmt.Sprintf("%.1000s", failed)
	return state, nil
}

// admitCaller decodes a caller, once the shard is ready and knows the accounts that the front
// knows.
func (s *Shard) admitCaller(ctx context.Context, b []byte) (*caller, func(*code.Repository) bool, any, error) {
	if err := s.o.Ready(); err != nil {
		return nil, nil, nil, err
	}
	c, principal, err := decodeCaller(b)
	if err != nil {
		return nil, nil, nil, err
	}
	if c.Settings != "" && c.Settings != s.o.Settings() {
		return nil, nil, nil, errSettings
	}
	ctx, cancel := context.WithTimeout(ctx, accountsWait)
	defer cancel()
	if err := s.o.WaitForAccounts(ctx, c.Accounts...); err != nil {
		return nil, nil, nil, fmt.Errorf("this shard has not applied the accounts that the front has: %w", err)
	}
	visible := s.o.Gate.Visible(principal)
	if visible.Everything() {
		return c, nil, nil, nil
	}
	return c, visible.Sees, visible, nil
}

// OpenSession opens a session of searches. It is rpc.ServerOptions.OpenSession.
func (s *Shard) OpenSession(ctx context.Context, b []byte) (search.Shard, error) {
	_, sees, key, err := s.admitCaller(ctx, b)
	if err != nil {
		return nil, err
	}
	view, err := s.o.Views.View(ctx)
	if err != nil {
		return nil, err
	}
	missing := 0
	if lacking, ok := view.(interface{ MissingDocuments() int }); ok {
		missing = lacking.MissingDocuments()
	}
	reported := s.o.Missing()
	missing = max(missing, reported.Documents+reported.Refs)
	if sees != nil {
		view = s.o.Screen.Hide(view, key, sees)
	}
	session := s.o.Searcher.NewShardSession(view, s.o.Partitions,
		func(r *code.Repository) bool { return s.o.Gate.Visibility(r) == account.Public })
	session.SetMissing(missing)
	return session, nil
}

// OpenRepository opens a session about a repository. It is rpc.ServerOptions.OpenRepository.
func (s *Shard) OpenRepository(ctx context.Context, b []byte) (rpc.RepositorySession, error) {
	c, sees, _, err := s.admitCaller(ctx, b)
	if err != nil {
		return nil, err
	}
	index, err := s.o.Index.Snapshot(ctx, c.Repository)
	if err != nil {
		return nil, err
	}
	// The catalog is read after the snapshot, so that no text is visible before an earlier
	// event has hidden it.
	known, found := s.o.Registered(c.Repository)
	return &repositorySession{s: s, id: c.Repository, index: index, hidden: !found || sees != nil && !sees(&known)}, nil
}

// repositorySession is a session about a repository.
type repositorySession struct {
	s      *Shard
	id     code.RepositoryID
	index  source.Snapshot
	hidden bool
}

// Close implements rpc.RepositorySession.
func (r *repositorySession) Close() { r.index.Release() }

var errCall = errors.New("a call about a repository is malformed")

// Call implements rpc.RepositorySession.
func (r *repositorySession) Call(ctx context.Context, c *rpc.RepositoryCall) (out *rpc.RepositoryReply, err error) {
	if r.hidden {
		return nil, fmt.Errorf("repository: %w", code.ErrNotFound)
	}
	out = &rpc.RepositoryReply{}
	switch {
	case c.Refs:
		out.Default, out.Branches = r.index.Default(r.id), r.index.Branches(r.id)
	case c.Status:
		status, err := r.s.o.Status.Status(ctx, r.id)
		if err != nil {
			return nil, err
		}
		out.Status = &status
	case c.File != nil:
		file, err := r.index.File(ctx, r.id, c.File.Ref, c.File.Path)
		if err != nil {
			return nil, err
		}
		out.File = &file
	case c.List != nil:
		out.Entries, err = r.index.List(ctx, r.id, c.List.Ref, c.List.Path, c.List.Limit)
	case c.Files != nil:
		out.Files, err = r.index.Files(ctx, r.id, c.Files.Ref, min(max(c.Files.Limit, 0), source.MaxFiles))
	case c.Skipped != nil:
		x := c.Skipped
		out.Skipped, out.Total, err = r.s.o.Status.Skipped(ctx, r.id, x.Ref, x.Reason, x.Offset, x.Limit)
	default:
		err = errCall
	}
	return out, err
}
