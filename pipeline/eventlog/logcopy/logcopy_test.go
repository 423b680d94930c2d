package logcopy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/logcopy"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	partitions = 3
	// perPartition is the number of records of each partition, and trimmed the number of
	// records that the source has deleted from the audit log.
	perPartition = 20
	trimmed      = 7
	group        = "workers"
)

var topicNames = []event.Topic{event.TopicEvents, event.TopicDeadLetters, event.TopicAccounts, event.TopicAudit}

func options() logcopy.Options {
	return logcopy.Options{Topics: topicNames, Groups: []logcopy.Group{{Name: group, Topic: event.TopicEvents}, {Name: "idle", Topic: event.TopicEvents}}}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func openLog(t *testing.T, dir string, n int32) *embeddedlog.Log {
	t.Helper()
	l := must[*embeddedlog.Log](t)(embeddedlog.Open(dir, embeddedlog.Options{Partitions: n, MinFreeBytes: 1}))
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// testRecord returns a record with a time whose nanoseconds a copy may drop.
func testRecord(i int) event.Record {
	rec := event.Record{Key: fmt.Append(nil, "key ", i), Value: fmt.Append(nil, "value ", i), Time: time.UnixMilli(int64(1_700_000_000_000 + 37*i%11)).Add(time.Duration(i))}
	for h := range i % 3 {
		rec.Headers = append(rec.Headers, event.Header{Name: fmt.Sprint("h", h), Value: []byte{byte(i)}})
	}
	if i%5 == 0 {
		rec.Key = nil
	}
	return rec
}

// fill imports records to every partition of all topics.
func fill(t *testing.T, l *embeddedlog.Log) {
	t.Helper()
	for _, topic := range topicNames {
		for p := range must[int32](t)(l.Partitions(t.Context(), topic)) {
			for i := range perPartition {
				must[[]event.Position](t)(l.Import(t.Context(), topic, p, testRecord(i)))
			}
		}
	}
}

// newSource returns a log whose audit log was trimmed and whose group has committed.
func newSource(t *testing.T) *embeddedlog.Log {
	t.Helper()
	l := openLog(t, t.TempDir(), partitions)
	fill(t, l)
	if err := errors.Join(l.Trim(t.Context(), event.TopicAudit, 0, trimmed), l.Note(t.Context(), group, event.TopicEvents, []event.Offset{5, 0, perPartition})); err != nil {
		t.Fatal(err)
	}
	return l
}

// wantEqual reads both logs and compares everything that a copy must keep.
func wantEqual(t *testing.T, from, to eventlog.Log) {
	t.Helper()
	ctx := clocktest.NewContext(t)
	for _, topic := range topicNames {
		ends, got := must[[]event.Offset](t)(from.HighWater(ctx, topic)), must[[]event.Offset](t)(to.HighWater(ctx, topic))
		if !slices.Equal(ends, got) {
			t.Fatalf("%s ends at %v, want %v", topic, got, ends)
		}
		for p, end := range ends {
			var all [2][]event.Record
			for i, log := range []eventlog.Log{from, to} {
				for rec, err := range event.ReadRange(ctx, log, topic, int32(p), 0, end) {
					if err != nil {
						t.Fatal(err)
					}
					all[i] = append(all[i], rec)
				}
			}
			if !slices.EqualFunc(all[0], all[1], sameRecord) {
				t.Fatalf("%s/%d: %v, want %v", topic, p, all[1], all[0])
			}
		}
	}
	want, got := must[[]event.Offset](t)(from.Committed(ctx, group, event.TopicEvents)), must[[]event.Offset](t)(to.Committed(ctx, group, event.TopicEvents))
	if !slices.Equal(want, got) {
		t.Errorf("committed %v, want %v", got, want)
	}
}

func sameRecord(a, b event.Record) bool {
	return a.Position == b.Position && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && a.Time.UnixMilli() == b.Time.UnixMilli() &&
		slices.EqualFunc(a.Headers, b.Headers, func(a, b event.Header) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) })
}

// TestCopy copies a log twice: the second time there is nothing to do, and then what was
// appended in the meantime. A copy continues with the next offset.
func TestCopy(t *testing.T) {
	from, to := newSource(t), openLog(t, t.TempDir(), partitions)
	var steps []string
	o := options()
	o.Progress = func(p logcopy.Progress) {
		if !slices.Contains(steps, p.Step) {
			steps = append(steps, p.Step)
		}
	}
	dry := o
	dry.DryRun = true
	for i, want := range []struct{ present, lacking int64 }{{0, 8*perPartition - trimmed}, {8*perPartition - trimmed, 0}, {8*perPartition - trimmed, 1}} {
		if i == 2 {
			must[[]event.Position](t)(from.Append(t.Context(), event.TopicAudit, 0, testRecord(1)))
		}
		for _, o := range []logcopy.Options{dry, o} {
			var present, lacking int64
			for _, p := range must[[]logcopy.Partition](t)(logcopy.Copy(t.Context(), from, to, o)) {
				present, lacking = present+p.Present, lacking+p.Lacking
				if p.Topic == event.TopicAudit && (p.First != trimmed || p.Refused != "") {
					t.Errorf("audit log: %+v, want First %d", p, trimmed)
				}
			}
			if present != want.present || lacking != want.lacking {
				t.Errorf("copy %d, dry run %t: %d present and %d lacking, want %+v", i, o.DryRun, present, lacking, want)
			}
		}
		wantEqual(t, from, to)
	}
	if want := []string{"reading", "copying", "verifying", "comparing"}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	if at := must[[]event.Position](t)(to.Append(t.Context(), event.TopicEvents, 1, testRecord(1))); at[0].Offset != perPartition {
		t.Errorf("the copy continues at %s, want %d", at[0], perPartition)
	}
}

// TestDryRunWritesNothing compares with a target that does not exist.
func TestDryRunWritesNothing(t *testing.T) {
	o := options()
	o.DryRun, o.Missing = true, topicNames
	got := must[[]logcopy.Partition](t)(logcopy.Copy(t.Context(), newSource(t), nil, o))
	if len(got) != 8 || got[7].Lacking != perPartition-trimmed || got[0].Lacking != perPartition {
		t.Errorf("%+v, want all records lacking", got)
	}
}

var errKilled = errors.New("killed")

// dyingTarget is killed at a call that writes, in its middle or after it.
type dyingTarget struct {
	*embeddedlog.Log
	calls  int // until it is killed
	middle bool
}

// dies counts a call, and reports whether it is the last one.
func (d *dyingTarget) dies() bool {
	d.calls--
	return d.calls == 0
}

func (d *dyingTarget) Import(ctx context.Context, topic event.Topic, p int32, records ...event.Record) ([]event.Position, error) {
	dies := d.dies()
	if dies && d.middle {
		records = records[:len(records)/2]
	}
	positions, err := d.Log.Import(ctx, topic, p, records...)
	if dies {
		return nil, errors.Join(errKilled, err)
	}
	return positions, err
}

func (d *dyingTarget) DeleteBefore(ctx context.Context, topic event.Topic, p int32, before event.Offset) error {
	dies := d.dies()
	if dies && d.middle {
		return errKilled
	}
	err := d.Log.DeleteBefore(ctx, topic, p, before)
	if dies {
		return errors.Join(errKilled, err)
	}
	return err
}

func (d *dyingTarget) Note(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error {
	if d.dies() {
		return errKilled
	}
	return d.Log.Note(ctx, group, topic, offsets)
}

// TestKilledAtEveryStep ends a copy at each call that writes, and resumes it.
func TestKilledAtEveryStep(t *testing.T) {
	from := newSource(t)
	for _, middle := range []bool{true, false} {
		kills := 0
		for ; ; kills++ {
			to := openLog(t, t.TempDir(), partitions)
			_, err := logcopy.Copy(t.Context(), from, &dyingTarget{Log: to, calls: kills + 1, middle: middle}, options())
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatalf("killed at call %d: %v", kills, err)
			}
			must[[]logcopy.Partition](t)(logcopy.Copy(t.Context(), from, to, options()))
			wantEqual(t, from, to)
		}
		// An append for each partition, the placeholders, their deletion, and a group.
		if kills != 8+1+1+1 {
			t.Errorf("killed at %d calls, want 11", kills)
		}
	}
}

// TestRefusals expects a copy to a target that cannot continue the source to fail before
// it writes anything.
func TestRefusals(t *testing.T) {
	at := func(i int, change func(*event.Record)) func(*testing.T, *embeddedlog.Log) {
		return func(t *testing.T, to *embeddedlog.Log) {
			for j := range i {
				must[[]event.Position](t)(to.Import(t.Context(), event.TopicEvents, 2, testRecord(j)))
			}
			rec := testRecord(i)
			change(&rec)
			must[[]event.Position](t)(to.Import(t.Context(), event.TopicEvents, 2, rec))
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(*testing.T, *embeddedlog.Log)
		want    string
	}{
		{"key", at(4, func(r *event.Record) { r.Key = []byte("x") }), "record quarry.events/2/4 differs from that of the source in its key"},
		{"value", at(0, func(r *event.Record) { r.Value = nil }), "record quarry.events/2/0 differs from that of the source in its value"},
		{"header", at(7, func(r *event.Record) { r.Headers[0].Name = "x" }), "quarry.events/2/7 differs from that of the source in its headers"},
		{"time", at(3, func(r *event.Record) { r.Time = r.Time.Add(time.Millisecond) }), "quarry.events/2/3 differs from that of the source in its time"},
		{"longer", func(t *testing.T, to *embeddedlog.Log) {
			fill(t, to)
			must[[]event.Position](t)(to.Append(t.Context(), event.TopicAccounts, 0, testRecord(1)))
			if err := to.Trim(t.Context(), event.TopicAudit, 0, trimmed); err != nil {
				t.Fatal(err)
			}
		}, "quarry.accounts/0 ends at offset 21 at the target and at 20 at the source"},
		{"trimmed at the target", func(t *testing.T, to *embeddedlog.Log) {
			fill(t, to)
			if err := to.Trim(t.Context(), event.TopicAudit, 0, trimmed+1); err != nil {
				t.Fatal(err)
			}
		}, "quarry.audit/0 begins at offset 8 at the target and at 7 at the source"},
		{"record that the source has deleted", func(t *testing.T, to *embeddedlog.Log) {
			must[[]event.Position](t)(to.Import(t.Context(), event.TopicAudit, 0, testRecord(0)))
		}, "the target has the record quarry.audit/0/0, which the source has deleted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := openLog(t, t.TempDir(), partitions)
			test.prepare(t, to)
			from := newSource(t)
			result, err := logcopy.Copy(t.Context(), from, &dyingTarget{Log: to, calls: 1}, options())
			if !errors.Is(err, logcopy.ErrRefused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			refused := slices.DeleteFunc(result, func(p logcopy.Partition) bool { return p.Refused == "" })
			if len(refused) != 1 || !strings.Contains(refused[0].Refused, test.want) {
				t.Errorf("refused: %+v, want one partition", refused)
			}
		})
	}
	t.Run("partitions", func(t *testing.T) {
		_, err := logcopy.Copy(t.Context(), newSource(t), openLog(t, t.TempDir(), 4), options())
		if !errors.Is(err, logcopy.ErrRefused) || !strings.Contains(err.Error(), "quarry.events has 3 partitions at the source and 4 at the target: the partition of a repository decides") {
			t.Errorf("%v, want the numbers of partitions", err)
		}
	})
}

// gapLog has no record with a certain offset in the events topic.
type gapLog struct {
	*embeddedlog.Log
	gap event.Offset
}

func (g gapLog) Tail(ctx context.Context, topic event.Topic, p int32, from event.Offset) (eventlog.Reader, error) {
	r, err := g.Log.Tail(ctx, topic, p, from)
	if topic != event.TopicEvents || p != 0 {
		return r, err
	}
	return gapReader{r, g.gap}, err
}

type gapReader struct {
	eventlog.Reader
	gap event.Offset
}

func (g gapReader) Next(ctx context.Context) (event.Record, error) {
	rec, err := g.Reader.Next(ctx)
	if err == nil && rec.Position.Offset == g.gap {
		return g.Reader.Next(ctx)
	}
	return rec, err
}

// TestGaps expects a copy of a log without one of its records to fail: the first one of a
// topic that is kept whole, and one in the middle.
func TestGaps(t *testing.T) {
	for gap, want := range map[event.Offset]string{
		0: "quarry.events/0 begins at offset 1 at the source: records of a topic that must be kept whole",
		9: "quarry.events/0 has no record at offset 9, the next one is at 10",
	} {
		to := openLog(t, t.TempDir(), partitions)
		_, err := logcopy.Copy(t.Context(), gapLog{newSource(t), gap}, to, options())
		if !errors.Is(err, logcopy.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("without record %d: %v, want %q", gap, err, want)
		}
		if ends := must[[]event.Offset](t)(to.HighWater(t.Context(), event.TopicEvents)); ends[0] != 0 {
			t.Errorf("without record %d: %d records were copied", gap, ends[0])
		}
		dry := options()
		dry.DryRun = true
		result, err := logcopy.Copy(t.Context(), gapLog{newSource(t), gap}, to, dry)
		if !errors.Is(err, logcopy.ErrRefused) || !strings.Contains(err.Error(), want) || result[0].Refused == "" {
			t.Errorf("a dry run without record %d: %v, %+v, want %q", gap, err, result, want)
		}
	}
}

// interfering is a target during whose imports something else happens.
type interfering struct {
	*embeddedlog.Log
	before, after func(event.Topic)
}

func (i interfering) Import(ctx context.Context, topic event.Topic, p int32, records ...event.Record) ([]event.Position, error) {
	if i.before != nil {
		i.before(topic)
	}
	positions, err := i.Log.Import(ctx, topic, p, records...)
	if i.after != nil {
		i.after(topic)
	}
	return positions, err
}

// TestOtherWriters expects a copy to notice records that others add to either log.
func TestOtherWriters(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(from, to *embeddedlog.Log) interfering
		want error
		text string
	}{
		{"before an append", func(_, to *embeddedlog.Log) interfering {
			return interfering{Log: to, before: func(topic event.Topic) { _, _ = to.Append(context.Background(), topic, 0, testRecord(0)) }}
		}, logcopy.ErrForeignWriter, "added at offset 1 in place of 0"},
		{"after an append", func(_, to *embeddedlog.Log) interfering {
			return interfering{Log: to, after: func(topic event.Topic) {
				if topic == event.TopicAccounts {
					_, _ = to.Append(context.Background(), topic, 0, testRecord(0))
				}
			}}
		}, logcopy.ErrForeignWriter, "quarry.accounts/0 ends at offset 21 in place of 20"},
		{"at the source", func(from, to *embeddedlog.Log) interfering {
			return interfering{Log: to, after: func(topic event.Topic) {
				if topic == event.TopicAccounts {
					_, _ = from.Append(context.Background(), topic, 0, testRecord(0), testRecord(1))
				}
			}}
		}, logcopy.ErrGrown, "quarry.accounts/0 has 2 new records"},
	} {
		t.Run(test.name, func(t *testing.T) {
			from, to := newSource(t), openLog(t, t.TempDir(), partitions)
			_, err := logcopy.Copy(t.Context(), from, test.run(from, to), options())
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want %v with %q", err, test.want, test.text)
			}
			if noted := must[[]event.Offset](t)(to.Committed(t.Context(), group, event.TopicEvents)); slices.Max(noted) > 0 {
				t.Errorf("offsets %v of the group were copied", noted)
			}
		})
	}
}

// TestGroupInUse expects a copy to a log that a server uses to fail, and to be complete
// after another run.
func TestGroupInUse(t *testing.T) {
	from, to := newSource(t), openLog(t, t.TempDir(), partitions)
	ctx, cancel := context.WithCancel(t.Context())
	joined, left := make(chan struct{}, partitions), make(chan error, 1)
	go func() {
		left <- to.Join(ctx, group, event.TopicEvents, func(ctx context.Context, _ eventlog.Assignment) error {
			joined <- struct{}{}
			<-ctx.Done()
			return nil
		})
	}()
	<-joined
	if _, err := logcopy.Copy(t.Context(), from, to, options()); !errors.Is(err, eventlog.ErrGroupInUse) || !strings.Contains(err.Error(), "stop every server that uses the target") {
		t.Errorf("%v, want ErrGroupInUse", err)
	}
	cancel()
	<-left
	must[[]logcopy.Partition](t)(logcopy.Copy(t.Context(), from, to, options()))
	wantEqual(t, from, to)
}

// alteringTarget stores accounts with other times, as a topic with the time of the broker
// does.
type alteringTarget struct{ *embeddedlog.Log }

func (a alteringTarget) Import(ctx context.Context, topic event.Topic, p int32, records ...event.Record) ([]event.Position, error) {
	if topic == event.TopicAccounts {
		records[len(records)-1].Time = time.UnixMilli(1)
	}
	return a.Log.Import(ctx, topic, p, records...)
}

// TestCopiedRecordsAreReadBack expects a copy to notice that the target does not have what
// was sent.
func TestCopiedRecordsAreReadBack(t *testing.T) {
	_, err := logcopy.Copy(t.Context(), newSource(t), alteringTarget{openLog(t, t.TempDir(), partitions)}, options())
	if want := "quarry.accounts/0/19 differs from that of the source in its time"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
