package eventlogtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

func (s *suite) recordsComeBackWhole() {
	before := time.Now().Add(-time.Second)
	want := []event.Record{
		{Key: []byte("k"), Value: []byte(`{"a":1}`), Headers: []event.Header{
			{Name: "ce_id", Value: []byte("1")}, {Name: "ce_type", Value: []byte("t")}, {Name: "ce_id", Value: []byte("again")},
		}},
		{Key: []byte{0, 0xff, '\n'}, Value: []byte{0, 1, 2, 0xfe}},
		{Value: []byte("without key")},
		{Key: []byte("without value")},
		{Key: []byte("k"), Value: []byte("x"), Headers: []event.Header{{Name: "empty"}}},
	}
	positions := s.appendTo(s.topic, 1, want...)
	r := s.openTail(1, 0)
	for i := range want {
		got := s.next(r)
		if got.Position != positions[i] {
			s.Errorf("record %d at %s, acknowledged at %s", i, got.Position, positions[i])
		}
		if got.Time.Before(before) || got.Time.After(time.Now().Add(time.Second)) {
			s.Errorf("record %d has time %s, which is not now", i, got.Time)
		}
		if !sameContent(got, want[i]) {
			s.Errorf("record %d: read %+v, want %+v", i, got, want[i])
		}
	}
}

// importKeepsTimes imports records with times in any order, and then appends one.
func (s *suite) importKeepsTimes() {
	log, ok := s.log.(eventlog.Importer)
	if !ok {
		s.Skip("no log is copied to it")
	}
	var imported []event.Record
	for _, ms := range []int64{1_790_000_000_123, 0, 1_790_000_000_122, 1_600_000_000_000} {
		rec := newRecord("k", fmt.Sprint(ms))
		rec.Time = time.UnixMilli(ms)
		imported = append(imported, rec)
	}
	positions, err := log.Import(s.ctx, s.topic, 2, imported...)
	s.mustSucceed(err)
	before := time.Now().Add(-time.Second)
	s.appendTo(s.topic, 2, newRecord("k", "now"))
	r := s.openTail(2, 0)
	for i, want := range imported {
		got := s.next(r)
		if got.Position != positions[i] || got.Position.Offset != event.Offset(i) || !got.Time.Equal(want.Time) || !sameContent(got, want) {
			s.Errorf("imported %+v, read %+v", want, got)
		}
	}
	if got := s.next(r); string(got.Value) != "now" || got.Time.Before(before) {
		s.Errorf("appended %+v, want the time of the append", got)
	}
	if err := log.DeleteBefore(s.ctx, s.topic, 2, 1); !errors.Is(err, eventlog.ErrKeptWhole) {
		s.Errorf("delete from a topic that is kept whole: %v, want ErrKeptWhole", err)
	}
}

func sameContent(a, b event.Record) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) &&
		slices.EqualFunc(a.Headers, b.Headers, func(a, b event.Header) bool {
			return a.Name == b.Name && bytes.Equal(a.Value, b.Value)
		})
}

// orderAndOffsets writes enough records that a reader needs more than one chunk.
func (s *suite) orderAndOffsets() {
	const batches, batchSize = 15, 100
	last := event.Offset(-1)
	for b := range batches {
		var records []event.Record
		for i := range batchSize {
			records = append(records, newRecord("one", fmt.Sprint(b*batchSize+i)))
		}
		for _, p := range s.append(records...) {
			if p.Offset <= last {
				s.Fatalf("offset %d after %d", p.Offset, last)
			}
			last = p.Offset
		}
	}
	r := s.openTail(eventlog.PartitionOf([]byte("one"), partitions), 0)
	last = -1
	for i := range batches * batchSize {
		rec := s.next(r)
		if string(rec.Value) != fmt.Sprint(i) || rec.Position.Offset <= last {
			s.Fatalf("record %d is %q at %s", i, rec.Value, rec.Position)
		}
		last = rec.Position.Offset
	}
}

func (s *suite) partitionOfKey() {
	var records []event.Record
	for i := range 64 {
		records = append(records, newRecord(fmt.Sprint(i), "x"))
	}
	used := map[int32]int{}
	for i, p := range s.append(records...) {
		if want := eventlog.PartitionOf(records[i].Key, partitions); p.Partition != want {
			s.Errorf("key %q in partition %d, want %d", records[i].Key, p.Partition, want)
		}
		used[p.Partition]++
	}
	if len(used) != partitions {
		s.Errorf("64 keys use partitions %v, want all %d", used, partitions)
	}
}

func (s *suite) explicitPartition() {
	for p := range int32(partitions) {
		for _, position := range s.appendTo(s.topic, p, newRecord("same key", "a"), newRecord("same key", "b")) {
			if position.Partition != p || position.Topic != s.topic {
				s.Errorf("appended to %s, want partition %d", position, p)
			}
		}
	}
}

func (s *suite) badArguments() {
	for _, p := range []int32{-2, partitions} {
		if _, err := s.log.Append(s.ctx, s.topic, p, newRecord("k", "x")); err == nil {
			s.Errorf("append to partition %d: no error", p)
		}
	}
	for _, p := range []int32{-1, partitions} {
		if r, err := s.log.Tail(s.ctx, s.topic, p, 0); err == nil {
			s.Errorf("tail of partition %d: no error", p)
			_ = r.Close()
		}
	}
	bad := event.Topic("no/such topic")
	if _, err := s.log.Append(s.ctx, bad, 0, newRecord("k", "x")); err == nil {
		s.Errorf("append to topic %q: no error", bad)
	}
	if _, err := s.log.Partitions(s.ctx, bad); err == nil {
		s.Errorf("partitions of topic %q: no error", bad)
	}
	if err := s.log.Join(s.ctx, "bad/group", s.topic, nil); err == nil {
		s.Error("join of a group with a bad name: no error")
	}
	positions, err := s.log.Append(s.ctx, s.topic, eventlog.AnyPartition)
	if err != nil || len(positions) != 0 {
		s.Errorf("append of nothing: %v, %v", positions, err)
	}
	n, err := s.log.Partitions(s.ctx, s.topic)
	if err != nil || n != partitions {
		s.Errorf("%d partitions (%v), want %d", n, err, partitions)
	}
}

func (s *suite) topicsAreApart() {
	s.appendTo(s.other, 0, newRecord("k", "other"))
	s.appendTo(s.topic, 0, newRecord("k", "mine"))
	s.expectTexts(s.openTail(0, 0), "mine")
	if marks := s.highWaters(); marks[0] != 1 {
		s.Errorf("high-water mark %d, want 1", marks[0])
	}
}

func (s *suite) offsetsSurviveReopen() {
	first := s.appendTo(s.topic, 2, newRecord("k", "a"), newRecord("k", "b"))
	marks := s.highWaters()
	s.reopenLog()
	if again := s.highWaters(); !slices.Equal(again, marks) {
		s.Errorf("high-water marks %v, were %v", again, marks)
	}
	second := s.appendTo(s.topic, 2, newRecord("k", "c"))
	if second[0].Offset <= first[1].Offset {
		s.Errorf("offset %d given out after %d", second[0].Offset, first[1].Offset)
	}
	s.expectTexts(s.openTail(2, 0), "a", "b", "c")
}

func (s *suite) tailFromOffset() {
	texts := []string{"a", "b", "c", "d", "e"}
	var records []event.Record
	for _, text := range texts {
		records = append(records, newRecord("k", text))
	}
	// Together they are one batch in Kafka, which returns the whole batch.
	positions := s.appendTo(s.topic, 3, records...)
	for i, p := range positions {
		s.expectTexts(s.openTail(3, p.Offset), texts[i:]...)
	}
	end := s.highWaters()[3]
	r := s.openTail(3, end)
	s.appendTo(s.topic, 3, newRecord("k", "f"))
	s.expectTexts(r, "f")
	for _, from := range []event.Offset{-1, end + 100} {
		if err := s.tailError(from); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
			s.Errorf("tail from %d: %v, want ErrOffsetOutOfRange", from, err)
		}
	}
}

func (s *suite) tailError(from event.Offset) error {
	r, err := s.log.Tail(s.ctx, s.topic, 3, from)
	if err == nil {
		_ = r.Close()
	}
	return err
}

// nextWaits reads records with a reader that waits for each of them.
func (s *suite) nextWaits() {
	var delays, appends []time.Duration
	for _, d := range s.appendWhileReading() {
		delays, appends = append(delays, d.read), append(appends, d.acknowledged)
	}
	slices.Sort(delays)
	slices.Sort(appends)
	delay, acknowledged := delays[len(delays)/2], appends[len(appends)/2]
	s.Logf("append to read: median %v, worst %v; append to acknowledgement: median %v", delay, delays[len(delays)-1], acknowledged)
	// In a bubble, nextWakesAtOnce measures it exactly.
	if !s.driver.Bubble && delay > maxWakeRatio*acknowledged {
		s.Errorf("append to read takes %v, want at most %d times the %v that an append takes: does Next poll?", delay, maxWakeRatio, acknowledged)
	}
}

// maxWakeRatio is the largest accepted ratio of the time until a record is read to the
// time until it is acknowledged. Both wait for the same servers.
const maxWakeRatio = 10

// nextWakesAtOnce does the same in a bubble, in which time passes only while everything
// waits: a reader that polls would take some.
func (s *suite) nextWakesAtOnce() {
	for i, d := range s.appendWhileReading() {
		if d.read != 0 {
			s.Errorf("record %d was read %v after its append began, want at once", i, d.read)
		}
	}
}

// wakeDelay holds times from the beginning of an append.
type wakeDelay struct{ acknowledged, read time.Duration }

// appendWhileReading appends records one by one, and returns when each was acknowledged
// and when a waiting reader had it.
func (s *suite) appendWhileReading() (delays []wakeDelay) {
	const rounds = 21
	r := s.openTail(0, 0)
	read := make(chan time.Time)
	failed := make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for range rounds {
			if _, err := r.Next(s.ctx); err != nil {
				failed <- err
				return
			}
			read <- time.Now()
		}
	})
	defer reading.Wait()
	for i := range rounds {
		began := time.Now()
		s.appendTo(s.topic, 0, newRecord("k", fmt.Sprint(i)))
		acknowledged := time.Since(began)
		select {
		case at := <-read:
			delays = append(delays, wakeDelay{acknowledged, at.Sub(began)})
		case err := <-failed:
			s.Fatal(err)
		}
	}
	return delays
}

func (s *suite) callsAreCanceled() {
	ctx, cancel := context.WithCancel(s.ctx)
	r := s.openTail(0, 0)
	done := make(chan error, 1)
	go func() {
		_, err := r.Next(ctx)
		done <- err
	}()
	cancel()
	if err := awaitValue(s, "Next after cancellation", done); !errors.Is(err, context.Canceled) {
		s.Errorf("Next: %v, want context.Canceled", err)
	}
	if _, err := s.log.Append(ctx, s.topic, 0, newRecord("k", "x")); !errors.Is(err, context.Canceled) {
		s.Errorf("Append: %v, want context.Canceled", err)
	}
	// The reader still works.
	s.appendTo(s.topic, 0, newRecord("k", "after"))
	s.expectTexts(r, "after")
}

func (s *suite) highWater() {
	before := s.highWaters()
	position := s.appendTo(s.topic, 1, newRecord("k", "a"))[0]
	after := s.highWaters()
	if after[1] <= position.Offset || after[1] <= before[1] {
		s.Errorf("high-water mark %d after an append at %d, was %d", after[1], position.Offset, before[1])
	}
	if got := s.next(s.openTail(1, 0)).Position.Offset + 1; got != after[1] {
		s.Errorf("caught up at %d, the mark is %d", got, after[1])
	}
	if after[0] != before[0] {
		s.Errorf("mark of another partition moved from %d to %d", before[0], after[0])
	}
}

func (s *suite) tooLarge() {
	largest := event.Record{Key: []byte("k"), Value: bytes.Repeat([]byte("x"), eventlog.MaxRecordBytes-1)}
	larger := event.Record{Key: []byte("k"), Value: bytes.Repeat([]byte("x"), eventlog.MaxRecordBytes)}
	if _, err := s.log.Append(s.ctx, s.topic, 0, newRecord("k", "first"), larger); !errors.Is(err, eventlog.ErrRecordTooLarge) {
		s.Fatalf("append of a record above the bound: %v, want ErrRecordTooLarge", err)
	}
	if mark := s.highWaters()[0]; mark != 0 {
		s.Fatalf("high-water mark %d after a refused append, want 0", mark)
	}
	// More than fits into one Kafka request.
	s.appendTo(s.topic, 0, largest, largest, newRecord("k", "small"))
	r := s.openTail(0, 0)
	for range 2 {
		if got := s.next(r); len(got.Value) != len(largest.Value) {
			s.Fatalf("read %d bytes, want %d", len(got.Value), len(largest.Value))
		}
	}
	s.expectTexts(r, "small")
}

// batchOfRefs appends as much as the indexer announces of many refs together, while
// others append to the same partition. The batch stays in order, in at most two pieces,
// because a merge in between would see documents as dead that later records name.
func (s *suite) batchOfRefs() {
	const refs, bytesOfAll = 256, 800 << 10
	batch := make([]event.Record, refs)
	for i := range batch {
		batch[i] = newRecord("k", fmt.Sprintf("%04d", i)+strings.Repeat("x", bytesOfAll/refs-64))
	}
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.log.Append(s.ctx, s.topic, 0, newRecord("other", "other")); err != nil {
				s.Error(err)
				return
			}
		}
	}()
	for range 3 {
		positions, err := s.log.Append(s.ctx, s.topic, 0, batch...)
		if err != nil || len(positions) != refs {
			s.Fatalf("%d positions, %v", len(positions), err)
		}
		pieces := 1
		for i := 1; i < refs; i++ {
			switch step := positions[i].Offset - positions[i-1].Offset; {
			case step <= 0:
				s.Fatalf("record %d comes before the one before it", i)
			case step > 1:
				pieces++
			}
		}
		if pieces > 2 {
			s.Errorf("%d bytes of %d records are in the log in %d pieces, want at most 2", bytesOfAll, refs, pieces)
		}
		r := s.openTail(0, positions[0].Offset)
		for i := 0; i < refs; {
			got := s.next(r)
			if string(got.Key) == "other" {
				continue
			}
			if !bytes.Equal(got.Value, batch[i].Value) || got.Position != positions[i] {
				s.Fatalf("record %d is %.10q at %v, want %.10q at %v", i, got.Value, got.Position, batch[i].Value, positions[i])
			}
			i++
		}
	}
	close(stop)
	<-done
}

func (s *suite) concurrentAppends() {
	const writers, each = 8, 40
	var mu sync.Mutex
	seen := map[event.Position]string{}
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%d:%d", w, i)
				positions, err := s.log.Append(s.ctx, s.topic, eventlog.AnyPartition, newRecord(fmt.Sprint("key", w), text))
				if err != nil {
					s.Error(err)
					return
				}
				mu.Lock()
				if other, found := seen[positions[0]]; found {
					s.Errorf("%q and %q both at %s", text, other, positions[0])
				}
				seen[positions[0]] = text
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	if s.Failed() {
		return
	}
	nextOf := make([]int, writers)
	for p, mark := range s.highWaters() {
		r := s.openTail(int32(p), 0)
		for at := event.Offset(0); at < mark; {
			rec := s.next(r)
			at = rec.Position.Offset + 1
			if seen[rec.Position] != string(rec.Value) {
				s.Errorf("%q at %s, acknowledged %q there", rec.Value, rec.Position, seen[rec.Position])
			}
			var w, i int
			if _, err := fmt.Sscanf(strings.Replace(string(rec.Value), ":", " ", 1), "%d %d", &w, &i); err != nil {
				s.Fatal(err)
			}
			if i != nextOf[w] {
				s.Errorf("writer %d: record %d, want %d", w, i, nextOf[w])
			}
			nextOf[w]++
		}
	}
	for w, n := range nextOf {
		if n != each {
			s.Errorf("writer %d: %d records read, want %d", w, n, each)
		}
	}
}

func (s *suite) close() {
	waiting := make(chan error, 2)
	r := s.openTail(0, 0)
	go func() {
		_, err := r.Next(s.ctx)
		waiting <- err
	}()
	started := make(chan struct{}, partitions)
	go func() {
		waiting <- s.log.Join(s.ctx, "closing", s.topic, func(ctx context.Context, a eventlog.Assignment) error {
			started <- struct{}{}
			_, err := a.Next(ctx)
			return err
		})
	}()
	for range partitions {
		awaitValue(s, "handle", started)
	}
	s.mustSucceed(s.log.Close())
	for range 2 {
		if err := awaitValue(s, "waiting call after Close", waiting); !errors.Is(err, eventlog.ErrClosed) {
			s.Errorf("waiting call: %v, want ErrClosed", err)
		}
	}
	calls := map[string]func() error{
		"Append":    func() error { _, err := s.log.Append(s.ctx, s.topic, 0, newRecord("k", "x")); return err },
		"Tail":      func() error { _, err := s.log.Tail(s.ctx, s.topic, 0, 0); return err },
		"HighWater": func() error { _, err := s.log.HighWater(s.ctx, s.topic); return err },
		"Committed": func() error { _, err := s.log.Committed(s.ctx, "closing", s.topic); return err },
		"Note":      func() error { return s.log.Note(s.ctx, "noting", s.topic, make([]event.Offset, partitions)) },
		"Next":      func() error { _, err := r.Next(s.ctx); return err },
		"Join": func() error {
			return s.log.Join(s.ctx, "closing", s.topic, func(context.Context, eventlog.Assignment) error { return nil })
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, eventlog.ErrClosed) {
			s.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	if err := s.log.Close(); err != nil {
		s.Errorf("second Close: %v", err)
	}
}
