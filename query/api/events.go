package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Bounds of GET /api/events.
const (
	// maxFollowTime ends a stream; its caller then resumes from its position.
	maxFollowTime = time.Hour
	// followHeartbeat is the fixed interval at which a position is sent: its timing
	// reveals nothing about events that the caller may not see.
	followHeartbeat = 15 * time.Second
	// reconnectMillis is how long browsers wait before they reconnect.
	reconnectMillis = 2000
)

// Types of event frames that are not kinds of notices.
const (
	eventReady    = "ready"
	eventLost     = "lost"
	eventPosition = "position"
)

// Why a stream of events ended.
const (
	followedToEnd = "end" // of the available notices, or of maxFollowTime
	followStopped = "stopped"
	followLost    = "slow_reader"
	followFailed  = "failed"
)

// followEvents handles GET /api/events.
func (s *Server) followEvents(w http.ResponseWriter, r *http.Request) error {
	p := queryParams(r)
	since := cmp.Or(r.Header.Get("Last-Event-ID"), p.textParam("since", live.MaxPositionBytes))
	if p.err != nil {
		return p.err
	}
	if s.o.Events == nil {
		return fmt.Errorf("%w: this process does not stream events", failure.ErrUnavailable)
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	subscription, lost, err := s.o.Events.Subscribe(since)
	if err != nil {
		return fmt.Errorf("%w: %w", failure.ErrUnavailable, err)
	}
	defer subscription.Close()
	ctx, cancel := context.WithTimeout(r.Context(), maxFollowTime)
	defer cancel()
	frames := newFrameWriter(w, front.ExchangeIn(r.Context()).Control(), s.o.PartTimeout, time.Now().Add(maxFollowTime+s.o.WriteTimeout))
	defer frames.close()
	f := &follower{s: s, r: r, frames: frames, subscription: subscription, follow: p.values.Get("follow") == "true"}
	err = f.run(ctx, lost)
	s.metrics.followed.WithLabelValues(followResult(err)).Inc()
	if errors.Is(err, live.ErrLost) || errors.Is(err, live.ErrClosed) {
		s.o.Logger.Info("event stream ended", "request_id", front.ExchangeIn(r.Context()).ID(), "reason", err)
		err = nil // the caller goes on from its position
	}
	if err == nil {
		_ = frames.control.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // restore it for later requests on the connection
	}
	return err
}

func followResult(err error) string {
	switch {
	case err == nil:
		return followedToEnd
	case errors.Is(err, live.ErrLost):
		return followLost
	case errors.Is(err, live.ErrClosed), errors.Is(err, context.Canceled):
		return followStopped
	}
	return followFailed
}

// follower writes the notices of a subscription that the caller may see.
type follower struct {
	s            *Server
	r            *http.Request
	frames       *frameWriter
	subscription *live.Subscription
	follow       bool
}

// run writes the available notices and, if the caller follows, new ones until ctx ends.
func (f *follower) run(ctx context.Context, lost bool) error {
	if lost {
		if err := f.send(&wire.EventFrame{Type: eventLost}); err != nil {
			return err
		}
	}
	f.frames.beginAnswer()
	f.frames.out.Raw(fmt.Sprintf("retry: %d\n", reconnectMillis))
	// The first frame has a position, from which browsers resume.
	if err := f.send(&wire.EventFrame{Type: eventReady, Position: f.subscription.Position()}); err != nil {
		return err
	}
	heartbeat := time.NewTicker(followHeartbeat)
	defer heartbeat.Stop()
	for {
		changed, err := f.sendNotices()
		if err != nil {
			return err
		}
		if !f.follow || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return f.frames.sendLine("[DONE]")
		}
		select {
		case <-changed:
		case <-heartbeat.C:
			err = f.send(&wire.EventFrame{Type: eventPosition, Position: f.subscription.Position()})
		case <-ctx.Done():
			err = f.r.Context().Err()
		}
		if err != nil {
			return err
		}
	}
}

func (f *follower) send(frame *wire.EventFrame) error {
	if frame.Position != "" {
		f.frames.out.Raw("id: " + frame.Position + "\n")
	}
	return f.frames.sendFrame(frame)
}

// sendNotices sends the available notices. It authenticates the caller, and determines
// what it may see, for each notice.
func (f *follower) sendNotices() (changed <-chan struct{}, err error) {
	for {
		n, changed, err := f.subscription.Next()
		if n == nil || err != nil {
			return changed, err
		}
		frame, err := f.newFrame(n)
		if err == nil && frame != nil {
			err = f.send(frame)
		}
		if err != nil {
			return nil, err
		}
	}
}

// newFrame returns the frame of a notice; nil if the caller may not see it.
func (f *follower) newFrame(n *live.Notice) (*wire.EventFrame, error) {
	caller, err := f.s.o.Gate.Authenticate(f.r)
	if err != nil {
		return nil, err
	}
	if n.Kind == live.KindDelivery {
		if !caller.Owner() || caller.Repositories != nil {
			return nil, nil
		}
		return f.newDelivery(n), nil
	}
	number := f.s.numberOf(n.Repository.ID)
	if number == 0 || !f.maySee(caller, n) {
		return nil, nil
	}
	frame := &wire.EventFrame{
		Type: wire.EventFrameType(n.Kind), Position: f.subscription.Position(), At: wire.At(n.At),
		RepositoryID: number, Repository: n.Repository.Name,
	}
	switch n.Kind {
	case live.KindRepository:
		frame.Change = wire.EventFrameChange(n.Change)
	case live.KindSearchable:
		frame.Ref, frame.Commit, frame.Deleted = string(n.Ref), string(n.Commit), n.Commit == ""
		frame.PushedAt, frame.IndexedAt = wire.At(n.PushedAt), wire.At(n.IndexedAt)
		if n.Files >= 0 {
			frame.Files = &n.Files
		}
	case live.KindWork:
		addWork(frame, &n.Work)
	}
	return frame, nil
}

// maySee reports whether the repository of a notice exists for the caller: as it is now
// or, if it was removed, as it was.
func (f *follower) maySee(caller *auth.Principal, n *live.Notice) bool {
	repository, err := f.s.o.Catalog.Find(f.r.Context(), code.Repository{ID: n.Repository.ID})
	if err != nil {
		if n.Change != live.ChangeRemoved {
			return false
		}
		repository = n.Repository
	}
	return f.s.o.Gate.Visible(caller).Sees(&repository)
}

func (f *follower) newDelivery(n *live.Notice) *wire.EventFrame {
	frame := &wire.EventFrame{
		Type: wire.EventFrameType(n.Kind), Position: f.subscription.Position(), At: wire.At(n.At),
		DeliveryKey: spellDeliveryKey(n.Delivery.Position), Outcome: n.Delivery.Outcome,
	}
	if number := f.s.numberOf(n.Repository.ID); number != 0 {
		frame.RepositoryID, frame.Repository = number, n.Repository.Name
	}
	return frame
}

func addWork(frame *wire.EventFrame, w *live.Work) {
	frame.State = wire.EventFrameState(w.State)
	if w.Running {
		frame.Progress = wire.ImportProgress{Files: w.Files, FilesTotal: w.FilesTotal, Bytes: w.Bytes, BytesTotal: w.BytesTotal}
	}
	if w.Code != "" {
		frame.LastError = wire.ImportFailure{Code: wire.FailureCode(w.Code), Message: failure.Describe(w.Code).Message()}
	}
}
