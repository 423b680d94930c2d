package live

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of a Feed.
const (
	// ringNotices bounds the stored notices, at about 1 KiB each.
	ringNotices = 4096
	// backfillRecords is how many records of each partition are read at the start, so
	// that readers can resume after a restart.
	backfillRecords = 256
)

// Log is the log that a Feed follows.
type Log interface {
	event.Tailer
	// HighWater returns the offset that the next record of each partition will get.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
}

// Options configure a Feed. All but the last three are required.
type Options struct {
	Log Log
	// AwaitApplied returns once searches of this process see the effect of the record at
	// the position. The record is about the given repository, or about none.
	AwaitApplied func(ctx context.Context, at event.Position, id code.RepositoryID) error
	// Repository returns a registered repository.
	Repository func(id code.RepositoryID) (code.Repository, bool)
	// DeliveryOfPush returns the position of the first event of the delivery that
	// announced a push.
	DeliveryOfPush func(push event.Position) (event.Position, bool)
	// Running returns the current work of this process, and WorkOn its last work on a
	// repository.
	Running func() []Work
	WorkOn  func(id code.RepositoryID) (Work, bool)
	// Secret encrypts positions, 32 bytes; processes with the same secret accept each
	// other's positions.
	Secret []byte

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Feed keeps the latest notices.
type Feed struct {
	o       Options
	cipher  PositionCipher
	metrics *metrics

	mu struct {
		sync.Mutex
		// next is the next offset to read of each partition, nil before Run. kept is the
		// offset from which on the ring has all notices of the partition.
		next, kept []event.Offset
		// ring holds the notices, beginning with the sequence number first.
		ring  []*Notice
		first uint64
		// changed is closed, and replaced, when the ring grows or the feed closes.
		changed chan struct{}
		closed  bool
		readers int
	}
}

// New returns a Feed. It is empty before Run.
func New(o Options) (*Feed, error) {
	if o.Log == nil || o.AwaitApplied == nil || o.Repository == nil || o.DeliveryOfPush == nil || o.Running == nil || o.WorkOn == nil {
		return nil, errors.New("live: Log, AwaitApplied, Repository, DeliveryOfPush, Running and WorkOn are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Feed{o: o}
	var err error
	if f.cipher, err = NewPositionCipher(o.Secret, purpose); err != nil {
		return nil, err
	}
	f.mu.changed = make(chan struct{})
	f.metrics = newMetrics(o.Registerer)
	return f, nil
}

// Close ends all subscriptions because the process stops.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.closed = true
	f.announceLocked()
}

func (f *Feed) announceLocked() {
	close(f.mu.changed)
	f.mu.changed = make(chan struct{})
}

// add appends the notices of an applied record, and advances the position of its
// partition; partition is -1 for notices without a position.
func (f *Feed) add(partition int32, next event.Offset, notices ...*Notice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if partition >= 0 {
		f.mu.next[partition] = next
	}
	for _, n := range notices {
		if len(f.mu.ring) == ringNotices {
			f.dropOldestLocked()
		}
		f.mu.ring = append(f.mu.ring, n)
		f.metrics.notices.WithLabelValues(string(n.Kind)).Inc()
	}
	if len(notices) > 0 {
		f.announceLocked()
	}
}

func (f *Feed) dropOldestLocked() {
	if n := f.mu.ring[0]; n.partition >= 0 {
		f.mu.kept[n.partition] = n.offset + 1
	}
	f.mu.ring[0] = nil
	f.mu.ring, f.mu.first = f.mu.ring[1:], f.mu.first+1
}

// hasReaders reports whether there is a subscription.
func (f *Feed) hasReaders() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.readers > 0
}

// A Subscription is the position of one reader in the feed.
type Subscription struct {
	feed *Feed
	// sequence is the number of the next notice; work notices with numbers below live are
	// outdated.
	sequence, live uint64
	next           []event.Offset
	// partial is set if more notices of the last record follow.
	partial bool
}

// ErrNotReady reports that the feed has not begun to follow the log.
var ErrNotReady = errors.New("the events cannot be followed yet; try again in a moment")

// Subscribe returns a subscription from a position on, or from now on if it is empty.
// lost is true if the feed does not reach back to the position or cannot decrypt it; the
// subscription then begins now. The error is ErrNotReady. The caller must call Close.
func (f *Feed) Subscribe(position string) (s *Subscription, lost bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.next == nil {
		return nil, false, ErrNotReady
	}
	f.mu.readers++
	end := f.mu.first + uint64(len(f.mu.ring))
	s = &Subscription{feed: f, sequence: end, live: end, next: slices.Clone(f.mu.next)}
	if position == "" {
		return s, false, nil
	}
	next, at, err := f.cipher.Decrypt(position)
	lost = err != nil || len(next) != len(f.mu.next) || f.o.Now().Sub(at) > maxPositionAge
	for p := 0; !lost && p < len(next); p++ {
		lost = next[p] < f.mu.kept[p]
	}
	if lost {
		f.metrics.positions.WithLabelValues(positionLost).Inc()
		return s, true, nil
	}
	f.metrics.positions.WithLabelValues(positionKept).Inc()
	s.sequence, s.next = f.mu.first, next
	return s, false, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.mu.readers--
}

// ErrLost reports that a slow reader missed notices that are no longer available.
var ErrLost = errors.New("the reader has lost its place")

// ErrClosed reports that the process stops.
var ErrClosed = errors.New("the feed is closed")

// Next returns the next notice. If there is none yet, it returns nil, and changed is
// closed when there may be one. The error is ErrLost or ErrClosed. Position is then after
// the returned notice.
func (s *Subscription) Next() (n *Notice, changed <-chan struct{}, err error) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.mu.closed:
		return nil, nil, ErrClosed
	case s.sequence < f.mu.first:
		return nil, nil, ErrLost
	}
	for ; s.sequence < f.mu.first+uint64(len(f.mu.ring)); s.sequence++ {
		n := f.mu.ring[s.sequence-f.mu.first]
		if s.isNewLocked(n) {
			s.sequence++
			s.advanceLocked(n)
			return n, nil, nil
		}
	}
	for p := range s.next {
		s.next[p] = max(s.next[p], f.mu.next[p])
	}
	return nil, f.mu.changed, nil
}

// isNewLocked reports whether the reader has not seen n.
func (s *Subscription) isNewLocked(n *Notice) bool {
	if n.partition < 0 {
		return s.sequence >= s.live
	}
	return n.offset >= s.next[n.partition]
}

// advanceLocked moves the position past n, unless more notices of the same record follow:
// they would be skipped.
func (s *Subscription) advanceLocked(n *Notice) {
	f := s.feed
	if n.partition < 0 {
		return
	}
	s.partial = false
	if at := s.sequence - f.mu.first; at < uint64(len(f.mu.ring)) {
		m := f.mu.ring[at]
		s.partial = m.partition == n.partition && m.offset == n.offset
	}
	if !s.partial {
		s.next[n.partition] = n.offset + 1
	}
}

// Position returns where to resume; empty while more notices of the last record follow.
func (s *Subscription) Position() string {
	if s.partial {
		return ""
	}
	return s.feed.cipher.Encrypt(s.next, s.feed.o.Now())
}
