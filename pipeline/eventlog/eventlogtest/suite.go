package eventlogtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
	"go.uber.org/goleak"
)

// Driver creates the logs for the suite.
type Driver struct {
	// New creates empty storage with the topics, each with the given number of
	// partitions, and returns a function that opens a log on it. The suite closes a log
	// before it opens the storage again. New may call t.Cleanup.
	New func(t *testing.T, partitions int32, topics ...event.Topic) func() (eventlog.Log, error)
	// Bubble means that the driver can run in a bubble of testing/synctest: it waits for
	// nothing outside the process.
	Bubble bool
}

// Run tests the driver, with one subtest for each guarantee.
func Run(t *testing.T, d Driver) {
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"RecordsComeBackWhole", (*suite).recordsComeBackWhole},
		{"BatchOfRefs", (*suite).batchOfRefs},
		{"OrderAndOffsets", (*suite).orderAndOffsets},
		{"PartitionOfKey", (*suite).partitionOfKey},
		{"ExplicitPartition", (*suite).explicitPartition},
		{"BadArguments", (*suite).badArguments},
		{"TopicsAreApart", (*suite).topicsAreApart},
		{"Reopen", (*suite).offsetsSurviveReopen},
		{"TailFromOffset", (*suite).tailFromOffset},
		{"NextWaits", (*suite).nextWaits},
		{"Cancel", (*suite).callsAreCanceled},
		{"HighWater", (*suite).highWater},
		{"TooLarge", (*suite).tooLarge},
		{"Trim", (*suite).trimDeletesBeginning},
		{"ImportKeepsTimes", (*suite).importKeepsTimes},
		{"ConcurrentAppends", (*suite).concurrentAppends},
		{"GroupResumesAtCommit", (*suite).groupResumesAtCommit},
		{"GroupsAreApart", (*suite).groupsAreApart},
		{"GroupTakeover", (*suite).groupTakeover},
		{"GroupHandleFails", (*suite).groupHandleFails},
		{"CommitAfterLoss", (*suite).commitAfterLoss},
		{"CommitBackwards", (*suite).commitBackwards},
		{"Notes", (*suite).notesAreKept},
		{"NotesOfGroupInUse", (*suite).notesOfGroupInUse},
		{"Close", (*suite).close},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			topics := 1 // a topic takes a second of the CPU time of three brokers
			if test.name == "TopicsAreApart" {
				topics = 2
			}
			t.Run("log", func(t *testing.T) { test.run(newSuite(t, d, clocktest.NewContext(t), topics)) })
			goleak.VerifyNone(t, before)
		})
	}
	if d.Bubble {
		t.Run("NextWakesAtOnce", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newSuite(t, d, t.Context(), 1).nextWakesAtOnce() })
		})
	}
}

// suite is one subtest, with its own storage and a log open on it.
type suite struct {
	*testing.T
	driver Driver
	topic  event.Topic
	other  event.Topic // a second topic, if the subtest needs it
	open   func() (eventlog.Log, error)
	log    eventlog.Log
	ctx    context.Context // for calls that wait
}

// partitions is the number of partitions of every topic of the suite.
const partitions = 4

// topicNumber keeps topics of different subtests apart if their storages share a server.
var topicNumber atomic.Int64

func newSuite(t *testing.T, d Driver, ctx context.Context, topics int) *suite {
	n := topicNumber.Add(1)
	stamp := time.Now().UnixNano()
	s := &suite{
		T: t, driver: d, ctx: ctx,
		topic: event.Topic(fmt.Sprintf("conformance-%d-%d", stamp, n)),
		other: event.Topic(fmt.Sprintf("conformance-%d-%d.other", stamp, n)),
	}
	s.open = d.New(t, partitions, []event.Topic{s.topic, s.other}[:topics]...)
	s.log = s.mustOpen()
	t.Cleanup(func() {
		if err := s.log.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (s *suite) mustOpen() eventlog.Log {
	s.Helper()
	log, err := s.open()
	s.mustSucceed(err)
	return log
}

// reopenLog closes the log and opens it again on the same storage.
func (s *suite) reopenLog() {
	s.Helper()
	s.mustSucceed(s.log.Close())
	s.log = s.mustOpen()
}

func (s *suite) mustSucceed(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// awaitValue receives a value from c.
func awaitValue[T any](s *suite, what string, c <-chan T) T {
	s.Helper()
	select {
	case v := <-c:
		return v
	case <-s.ctx.Done():
		s.Fatalf("%s: nothing until the tests have to end", what)
		panic("unreachable")
	}
}

// newRecord returns a record whose value is text.
func newRecord(key, text string) event.Record {
	return event.Record{
		Key: []byte(key), Value: []byte(text),
		Headers: []event.Header{{Name: "ce_id", Value: []byte("id-" + text)}},
	}
}

// append appends records by key.
func (s *suite) append(records ...event.Record) []event.Position {
	s.Helper()
	return s.appendTo(s.topic, eventlog.AnyPartition, records...)
}

func (s *suite) appendTo(topic event.Topic, partition int32, records ...event.Record) []event.Position {
	s.Helper()
	positions, err := s.log.Append(s.ctx, topic, partition, records...)
	s.mustSucceed(err)
	if len(positions) != len(records) {
		s.Fatalf("%d positions for %d records", len(positions), len(records))
	}
	return positions
}

func (s *suite) openTail(partition int32, from event.Offset) eventlog.Reader {
	s.Helper()
	r, err := s.log.Tail(s.ctx, s.topic, partition, from)
	s.mustSucceed(err)
	s.Cleanup(func() {
		if err := r.Close(); err != nil {
			s.Errorf("close reader: %v", err)
		}
	})
	return r
}

func (s *suite) next(r eventlog.Reader) event.Record {
	s.Helper()
	rec, err := r.Next(s.ctx)
	s.mustSucceed(err)
	return rec
}

// expectTexts reads one record for each text.
func (s *suite) expectTexts(r eventlog.Reader, texts ...string) {
	s.Helper()
	for _, want := range texts {
		if got := string(s.next(r).Value); got != want {
			s.Fatalf("read %q, want %q", got, want)
		}
	}
}

func (s *suite) highWaters() []event.Offset {
	s.Helper()
	marks, err := s.log.HighWater(s.ctx, s.topic)
	s.mustSucceed(err)
	if len(marks) != partitions {
		s.Fatalf("%d high-water marks, want %d", len(marks), partitions)
	}
	return marks
}
