package server

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// newFeed returns the event stream of GET /api/events.
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

// liveLog starts at the oldest record of a partition if the requested record was deleted.
type liveLog struct{ eventlog.Log }

// Tail implements live.Log.
func (l liveLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	reader, err := l.Log.Tail(ctx, topic, partition, from)
	if out := new(event.RangeError); errors.As(err, &out) {
		return l.Log.Tail(ctx, topic, partition, out.First)
	}
	return reader, err
}

// awaitApplied returns once the live version has applied a record, and at a front its shard, and
// the repository of the record has its number or is not registered. A version of the past
// applies nothing; in that case awaitApplied waits for the version that follows the log.
func (s *Server) awaitApplied(ctx context.Context, at event.Position, id code.RepositoryID) error {
	for {
		err := s.awaitVersion(ctx, s.versions.Live(), at)
		if err == nil && s.front != nil {
			err = s.front.AwaitApplied(ctx, at)
		}
		if err == nil {
			return s.awaitNumber(ctx, id)
		}
		if ctx.Err() != nil || !errors.Is(err, context.Canceled) {
			return err
		}
	}
}

// awaitVersion returns context.Canceled if another version replaces v.
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
	// numberPause is the time between two checks whether a repository has a number;
	// maxNumberWait bounds the whole wait.
	numberPause   = 20 * time.Millisecond
	maxNumberWait = 10 * time.Second
)

// awaitNumber waits, up to maxNumberWait, until a registered repository has its number.
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

// deliveryOfPush returns the position of the first event in the delivery of a push.
func (s *Server) deliveryOfPush(push event.Position) (event.Position, bool) {
	i := s.versions.Acquire()
	defer i.Release()
	at, id, err := i.Ledger.OfPush(push)
	return at, err == nil && id != ""
}

// runningWork returns the work that the pipeline of this process is doing now.
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

// workOn returns the progress of indexing a repository.
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
