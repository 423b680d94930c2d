package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// member runs Join in a goroutine.
type member struct {
	s      *suite
	cancel context.CancelFunc
	joined chan error
}

func (s *suite) joinGroup(group string, handle func(context.Context, eventlog.Assignment) error) *member {
	ctx, cancel := context.WithCancel(s.ctx)
	m := &member{s: s, cancel: cancel, joined: make(chan error, 1)}
	go func() { m.joined <- s.log.Join(ctx, group, s.topic, handle) }()
	s.Cleanup(cancel)
	return m
}

// leaveGroup ends the membership and waits until its handles have returned.
func (m *member) leaveGroup() {
	m.s.Helper()
	m.cancel()
	if err := awaitValue(m.s, "Join after cancellation", m.joined); !errors.Is(err, context.Canceled) {
		m.s.Errorf("Join: %v, want context.Canceled", err)
	}
}

// collectTexts returns a handle that commits each record and sends its text.
func collectTexts(to chan<- string) func(context.Context, eventlog.Assignment) error {
	return func(ctx context.Context, a eventlog.Assignment) error {
		for {
			rec, err := a.Next(ctx)
			if err != nil {
				return nil
			}
			// Commit before sending: the receiver may rely on the commit.
			if err := a.Commit(context.WithoutCancel(ctx), rec.Position.Offset+1); err != nil {
				return nil
			}
			select {
			case to <- string(rec.Value):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (s *suite) committedOffsets(group string) []event.Offset {
	s.Helper()
	offsets, err := s.log.Committed(s.ctx, group, s.topic)
	s.mustSucceed(err)
	return offsets
}

func (s *suite) groupResumesAtCommit() {
	if got := s.committedOffsets("resuming"); !slices.Equal(got, make([]event.Offset, partitions)) {
		s.Errorf("committed offsets of a new group: %v, want zeros", got)
	}
	position := s.appendTo(s.topic, 1, newRecord("k", "a"), newRecord("k", "b"))[1]
	got := make(chan string)
	m := s.joinGroup("resuming", collectTexts(got))
	for _, want := range []string{"a", "b"} {
		if text := awaitValue(s, "record", got); text != want {
			s.Fatalf("group read %q, want %q", text, want)
		}
	}
	m.leaveGroup()
	want := make([]event.Offset, partitions)
	want[1] = position.Offset + 1
	if got := s.committedOffsets("resuming"); !slices.Equal(got, want) {
		s.Errorf("committed offsets %v, want %v", got, want)
	}
	s.reopenLog()
	if got := s.committedOffsets("resuming"); !slices.Equal(got, want) {
		s.Errorf("committed offsets after reopening %v, want %v", got, want)
	}
	s.appendTo(s.topic, 1, newRecord("k", "c"))
	m = s.joinGroup("resuming", collectTexts(got))
	if text := awaitValue(s, "record", got); text != "c" {
		s.Errorf("group goes on with %q, want %q", text, "c")
	}
	m.leaveGroup()
}

func (s *suite) groupsAreApart() {
	s.appendTo(s.topic, 0, newRecord("k", "a"))
	first, second := make(chan string), make(chan string)
	m1, m2 := s.joinGroup("first", collectTexts(first)), s.joinGroup("second", collectTexts(second))
	for _, c := range []chan string{first, second} {
		if text := awaitValue(s, "record", c); text != "a" {
			s.Errorf("group read %q, want a", text)
		}
	}
	m1.leaveGroup()
	m2.leaveGroup()
}

// holderLedger records which member holds which partition.
type holderLedger struct {
	s  *suite
	mu struct {
		sync.Mutex
		holder  map[int32]string
		changed chan struct{}
	}
}

func newHolderLedger(s *suite) *holderLedger {
	l := &holderLedger{s: s}
	l.mu.holder = map[int32]string{}
	l.mu.changed = make(chan struct{})
	return l
}

func (l *holderLedger) setHolder(partition int32, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch holder := l.mu.holder[partition]; {
	case name == "":
		delete(l.mu.holder, partition)
	case holder != "":
		l.s.Errorf("partition %d handed to %s while %s holds it", partition, name, holder)
	default:
		l.mu.holder[partition] = name
	}
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
}

// awaitHolders returns when each member holds the wanted number of partitions.
func (l *holderLedger) awaitHolders(want map[string]int) {
	l.s.Helper()
	for {
		l.mu.Lock()
		got := map[string]int{}
		for _, name := range l.mu.holder {
			got[name]++
		}
		changed := l.mu.changed
		l.mu.Unlock()
		if fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		select {
		case <-changed:
		case <-l.s.ctx.Done():
			l.s.Fatalf("members hold %v, want %v", got, want)
		}
	}
}

// trackHolder records the partition in the ledger while inner runs.
func (l *holderLedger) trackHolder(name string, inner func(context.Context, eventlog.Assignment) error) func(context.Context, eventlog.Assignment) error {
	return func(ctx context.Context, a eventlog.Assignment) error {
		l.setHolder(a.Partition(), name)
		defer l.setHolder(a.Partition(), "")
		return inner(ctx, a)
	}
}

func (s *suite) groupTakeover() {
	l := newHolderLedger(s)
	got := make(chan string, 100)
	first := s.joinGroup("shared", l.trackHolder("first", collectTexts(got)))
	l.awaitHolders(map[string]int{"first": partitions})
	second := s.joinGroup("shared", l.trackHolder("second", collectTexts(got)))
	l.awaitHolders(map[string]int{"first": partitions / 2, "second": partitions / 2})
	for p := range int32(partitions) {
		s.appendTo(s.topic, p, newRecord("k", fmt.Sprint("shared ", p)))
	}
	s.wantTexts(got, "shared 0", "shared 1", "shared 2", "shared 3")
	first.leaveGroup()
	l.awaitHolders(map[string]int{"second": partitions})
	for p := range int32(partitions) {
		s.appendTo(s.topic, p, newRecord("k", fmt.Sprint("alone ", p)))
	}
	s.wantTexts(got, "alone 0", "alone 1", "alone 2", "alone 3")
	second.leaveGroup()
	l.awaitHolders(map[string]int{})
	if len(got) != 0 {
		s.Errorf("record %q was handed out twice", <-got)
	}
}

// wantTexts receives the texts in any order.
func (s *suite) wantTexts(from <-chan string, want ...string) {
	s.Helper()
	var got []string
	for range want {
		got = append(got, awaitValue(s, "record", from))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("read %q, want %q", got, want)
	}
}

func (s *suite) groupHandleFails() {
	failure := errors.New("handle failed")
	m := s.joinGroup("failing", func(ctx context.Context, a eventlog.Assignment) error {
		if a.Partition() == 2 {
			return failure
		}
		<-ctx.Done()
		return nil
	})
	if err := awaitValue(s, "Join", m.joined); !errors.Is(err, failure) {
		s.Errorf("Join: %v, want %v", err, failure)
	}
	// The member has left: another one gets everything immediately.
	l := newHolderLedger(s)
	next := s.joinGroup("failing", l.trackHolder("next", func(ctx context.Context, _ eventlog.Assignment) error {
		<-ctx.Done()
		return nil
	}))
	l.awaitHolders(map[string]int{"next": partitions})
	next.leaveGroup()
}

func (s *suite) commitAfterLoss() {
	s.appendTo(s.topic, 0, newRecord("k", "a"))
	held := make(chan eventlog.Assignment, partitions)
	m := s.joinGroup("losing", func(ctx context.Context, a eventlog.Assignment) error {
		held <- a
		<-ctx.Done()
		return nil
	})
	var first eventlog.Assignment
	for range partitions {
		if a := awaitValue(s, "assignment", held); a.Partition() == 0 {
			first = a
		}
	}
	m.leaveGroup()
	if err := first.Commit(s.ctx, 1); !errors.Is(err, eventlog.ErrPartitionLost) {
		s.Errorf("Commit: %v, want ErrPartitionLost", err)
	}
	if got := s.committedOffsets("losing"); got[0] != 0 {
		s.Errorf("committed offset %d, want 0", got[0])
	}
}

// commitBackwards commits, from a member that has finished no record, the offset at which
// it started, which changes nothing, and a lower one.
func (s *suite) commitBackwards() {
	s.appendTo(s.topic, 0, newRecord("k", "a"), newRecord("k", "b"))
	s.mustSucceed(s.noteOffsets("backwards", 1, 0, 0, 0))
	results := make(chan error, 2)
	m := s.joinGroup("backwards", func(ctx context.Context, a eventlog.Assignment) error {
		if a.Partition() == 0 {
			results <- a.Commit(ctx, 1)
			results <- a.Commit(ctx, 0)
		}
		<-ctx.Done()
		return nil
	})
	s.mustSucceed(awaitValue(s, "commit of the beginning", results))
	if err := awaitValue(s, "commit of less", results); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		s.Errorf("Commit below the beginning: %v, want ErrOffsetOutOfRange", err)
	}
	m.leaveGroup()
	if got := s.committedOffsets("backwards"); got[0] != 1 {
		s.Errorf("committed offset %d, want 1", got[0])
	}
}
