package server

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/versions"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// newFeed returns what callers of GET /api/events follow.
func (s *Server) newFeed() (*live.Feed, error) {
	return live.New(live.Options{
		Log: liveLog{s.log}, AwaitApplied: s.awaitApplied,
		Repository:     s.versions.Registered,
		DeliveryOfPush: s.deliveryOfPush,
		Running:        s.runningWork, WorkOn: s.workOn,
		Secret: s.masterSecret.DeriveKey("positions of events"),
		Now:    boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// liveLog begins with the oldest record of a partition where earlier ones are gone.
type liveLog struct{ eventlog.Log }

// Tail implements live.Log.
func (l liveLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	reader, err := l.Log.Tail(ctx, topic, partition, from)
	if errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		return l.Log.Tail(ctx, topic, partition, 0)
	}
	return reader, err
}

// awaitApplied returns once the live version has applied a record, and the repository that
// it is about has its number or is not registered. A version of the past applies nothing:
// then it waits for the one that follows the log.
func (s *Server) awaitApplied(ctx context.Context, at event.Position, id code.RepositoryID) error {
	for {
		err := s.awaitVersion(ctx, s.versions.Live(), at)
		if err == nil {
			return s.awaitNumber(ctx, id)
		}
		if ctx.Err() != nil || !errors.Is(err, context.Canceled) {
			return err
		}
	}
}

// awaitVersion fails with context.Canceled if another version takes the place of v.
func (s *Server) awaitVersion(ctx context.Context, v *versions.Version, at event.Position) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		if v.Meta.IsFrozen() {
			<-ctx.Done()
			done <- ctx.Err()
			return
		}
		done <- v.Runner.WaitFor(ctx, at)
	}()
	select {
	case err := <-done:
		return err
	case <-v.Superseded:
		cancel()
		return <-done
	}
}

const (
	// numberPause is how long to wait before looking again whether a repository has a
	// number, maxNumberWait how long in all.
	numberPause   = 20 * time.Millisecond
	maxNumberWait = 10 * time.Second
)

// awaitNumber waits, for a bounded time, until a registered repository has its number.
func (s *Server) awaitNumber(ctx context.Context, id code.RepositoryID) error {
	for waited := time.Duration(0); waited < maxNumberWait && id != 0; waited += numberPause {
		if _, registered := s.versions.Registered(id); !registered || s.numbering.HasNumber(id) {
			return nil
		}
		if err := clock.Sleep(ctx, numberPause); err != nil {
			return err
		}
	}
	return nil
}

// deliveryOfPush returns the position of the first event of the delivery of a push.
func (s *Server) deliveryOfPush(push event.Position) (event.Position, bool) {
	i := s.versions.Acquire()
	defer i.Release()
	at, id, err := i.Ledger.OfPush(push)
	return at, err == nil && id != ""
}

// runningWork returns what the pipeline of this process does now.
func (s *Server) runningWork() (out []live.Work) {
	if s.pipeline == nil {
		return nil
	}
	for id := range s.pipeline.indexer.Running() {
		if w, ok := s.workOn(id); ok && w.Running {
			out = append(out, w)
		}
	}
	return out
}

// workOn returns how far the indexing of a repository is.
func (s *Server) workOn(id code.RepositoryID) (live.Work, bool) {
	status, ok := s.newStatusReader().Work(id)
	w := live.Work{Repository: id, State: string(status.State)}
	if p := status.Progress; p != nil {
		w.Running, w.Files, w.FilesTotal, w.Bytes, w.BytesTotal = true, p.Files, p.FilesTotal, p.Bytes, p.BytesTotal
	}
	if f := status.LastError; f != nil {
		w.Code = f.Code
	}
	return w, ok
}
