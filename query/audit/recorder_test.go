package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// memory is a log that fails while fail is set, and blocks while gate is set.
type memory struct {
	mu      sync.Mutex
	fail    error
	gate    chan struct{}
	lose    bool // accepts the record, but reports an error
	records []event.Record
	tries   int
}

func (m *memory) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries++
	if m.fail != nil && !m.lose {
		return nil, m.fail
	}
	for i := range records {
		records[i].Position = event.Position{Topic: topic, Partition: partition, Offset: event.Offset(len(m.records))}
		m.records = append(m.records, records[i])
	}
	return make([]event.Position, len(records)), m.fail
}

func (m *memory) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records)
}

func (m *memory) setFailure(fail error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

// appendedEvents decodes the appended events.
func (m *memory) appendedEvents(t *testing.T) (ids []string, groups [][]audit.Record) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, rec := range m.records {
		env, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		ids, groups = append(ids, env.ID), append(groups, ev.(*event.AuditRecorded).Records)
	}
	return ids, groups
}

func searchRecord(n int) audit.Record {
	return audit.Record{
		At: time.Unix(1_700_000_000, 0), Action: audit.Searched, Actor: account.Actor{Kind: account.ActorUser, User: "u1", Address: "192.0.2.7"},
		TargetType: audit.TargetInstance, Status: 200, Metadata: map[string]string{"query": strconv.Itoa(n)},
	}
}

// runDuring runs f while a recorder runs, and returns the result of Run.
func runDuring(t *testing.T, o Options, f func(r *Recorder)) (err error) {
	t.Helper()
	r, newErr := New(o)
	if newErr != nil {
		t.Fatal(newErr)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	f(r)
	stop()
	return <-done
}

func queryTexts(groups [][]audit.Record) (all []string) {
	for _, g := range groups {
		for i := range g {
			all = append(all, g[i].Metadata["query"])
		}
	}
	return all
}

func TestNotesAreAppendedTogetherAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{}
		err := runDuring(t, Options{Log: log}, func(r *Recorder) {
			for i := range 5 {
				if err := r.Note(t.Context(), searchRecord(i)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if n, _, _ := r.queueState(); n != 5 || log.len() != 0 {
				t.Errorf("%d wait and %d are appended before the time of a group is over", n, log.len())
			}
			<-time.After(DefaultFlushEvery)
			synctest.Wait()
			if n, bytes, since := r.queueState(); n != 0 || bytes != 0 || !since.IsZero() {
				t.Errorf("%d records of %d bytes still wait since %s", n, bytes, since)
			}
		})
		_, groups := log.appendedEvents(t)
		if err != nil || len(groups) != 1 || !slices.Equal(queryTexts(groups), []string{"0", "1", "2", "3", "4"}) {
			t.Errorf("groups %v, error %v", groups, err)
		}
	})
}

func TestFullEventIsFlushedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{}
		err := runDuring(t, Options{Log: log, FlushEvery: time.Hour}, func(r *Recorder) {
			for i := range event.MaxAuditRecords + 1 {
				if err := r.Note(t.Context(), searchRecord(i)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if _, groups := log.appendedEvents(t); len(groups) != 1 || len(groups[0]) != event.MaxAuditRecords {
				t.Errorf("%d groups", len(groups))
			}
		})
		if _, groups := log.appendedEvents(t); err != nil || len(queryTexts(groups)) != event.MaxAuditRecords+1 {
			t.Errorf("the end left records behind: %v", err)
		}
	})
}

func TestRecordsShareAnAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{gate: make(chan struct{})}
		err := runDuring(t, Options{Log: log}, func(r *Recorder) {
			var wg sync.WaitGroup
			record := func(i int) {
				wg.Go(func() {
					if err := r.Record(t.Context(), searchRecord(i)); err != nil {
						t.Error(err)
					}
				})
			}
			record(0)
			synctest.Wait() // the first is being appended
			for i := range 9 {
				record(1 + i)
			}
			synctest.Wait()
			if log.len() != 0 {
				t.Error("appended before the log took it")
			}
			close(log.gate)
			wg.Wait()
		})
		_, groups := log.appendedEvents(t)
		if err != nil || len(groups) != 2 || len(groups[0]) != 1 || len(groups[1]) != 9 {
			t.Errorf("%d groups, error %v", len(groups), err)
		}
	})
}

// TestFailedAppendIsRetried checks that an append without an acknowledgement is retried with the
// same ID, even if the log has accepted the event.
func TestFailedAppendIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{fail: errors.New("no leader"), lose: true}
		err := runDuring(t, Options{Log: log}, func(r *Recorder) {
			if err := r.Note(t.Context(), searchRecord(1)); err != nil {
				t.Fatal(err)
			}
			<-time.After(DefaultFlushEvery)
			synctest.Wait()
			if err := r.Note(t.Context(), searchRecord(2)); err != nil {
				t.Fatal(err)
			}
			log.setFailure(nil)
			<-time.After(maxWait)
		})
		ids, groups := log.appendedEvents(t)
		if err != nil || len(ids) != 3 || ids[0] != ids[1] || ids[1] == ids[2] || !slices.Equal(queryTexts(groups), []string{"1", "1", "2"}) {
			t.Errorf("events %v with %v, error %v", ids, queryTexts(groups), err)
		}
	})
}

func TestFullQueueRejectsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{fail: errors.New("no leader")}
		_ = runDuring(t, Options{Log: log, QueueBytes: 1000}, func(r *Recorder) {
			if err := r.Note(t.Context(), searchRecord(1)); err != nil {
				t.Fatal(err)
			}
			if err := r.Note(t.Context(), searchRecord(2)); err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			if err := r.Note(t.Context(), searchRecord(3)); !errors.Is(err, ErrUnavailable) || time.Since(started) != DefaultMaxWait {
				t.Errorf("after %s: %v", time.Since(started), err)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := r.Note(gone, searchRecord(4)); !errors.Is(err, context.Canceled) {
				t.Errorf("a client that has gone: %v, want %v", err, context.Canceled)
			}
			if err := r.Record(t.Context(), searchRecord(5)); !errors.Is(err, ErrUnavailable) {
				t.Errorf("record: %v, want %v", err, ErrUnavailable)
			}
			log.setFailure(nil)
			if err := r.Note(t.Context(), searchRecord(6)); err != nil {
				t.Errorf("once the log answers: %v", err)
			}
		})
		if _, groups := log.appendedEvents(t); !slices.Equal(queryTexts(groups), []string{"1", "2", "6"}) {
			t.Errorf("appended %v", queryTexts(groups))
		}
	})
}

func TestLossyRecorderReportsLostRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{fail: errors.New("no leader")}
		err := runDuring(t, Options{Log: log, QueueBytes: 500, Lossy: true}, func(r *Recorder) {
			for i := range 4 {
				if err := r.Note(t.Context(), searchRecord(i)); err != nil {
					t.Fatal(err)
				}
			}
			log.setFailure(nil)
			<-time.After(maxWait)
			if err := r.Note(t.Context(), searchRecord(9)); err != nil {
				t.Fatal(err)
			}
		})
		_, groups := log.appendedEvents(t)
		if err != nil || len(groups) != 2 || len(groups[1]) != 2 {
			t.Fatalf("%v, error %v", groups, err)
		}
		if last := groups[1][1]; last.Action != audit.RecordsLost || last.Metadata["count"] != "3" {
			t.Errorf("the log says %+v", last)
		}
	})
}

func TestTheEndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{fail: errors.New("no leader")}
		var started time.Time
		var r *Recorder
		waits := make(chan error, 1)
		err := runDuring(t, Options{Log: log, MaxWait: time.Hour}, func(x *Recorder) {
			r = x
			go func() { waits <- r.Record(t.Context(), searchRecord(1)) }()
			synctest.Wait()
			started = time.Now()
		})
		if !errors.Is(err, ErrUnavailable) || time.Since(started) != DefaultDrainTimeout {
			t.Errorf("ended after %s: %v", time.Since(started), err)
		}
		if err := <-waits; !errors.Is(err, ErrUnavailable) {
			t.Errorf("who waited: %v, want %v", err, ErrUnavailable)
		}
		if err := r.Note(t.Context(), searchRecord(2)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("behind the end: %v, want %v", err, ErrUnavailable)
		}
	})
}

// TestRecordsSurviveAStopWithoutTheLog stops recorders while the log accepts nothing, one
// of them while it writes the pending records of another, and checks that every record is
// appended once, in order.
func TestRecordsSurviveAStopWithoutTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pending")
	synctest.Test(t, func(t *testing.T) {
		log := &memory{fail: errors.New("disk full")}
		o := Options{Log: log, PendingFile: file}
		n := 0
		for range 2 {
			began := time.Now()
			err := runDuring(t, o, func(r *Recorder) {
				for range event.MaxAuditRecords + 5 {
					if err := r.Note(t.Context(), searchRecord(n)); err != nil {
						t.Fatal(err)
					}
					n++
				}
				<-time.After(time.Second)
			})
			if took := time.Since(began); err != nil || took > 4*time.Second {
				t.Errorf("the stop, after %v: %v", took, err)
			}
		}
		log.setFailure(nil)
		if err := runDuring(t, o, func(*Recorder) { <-time.After(time.Second) }); err != nil {
			t.Error(err)
		}
		_, groups := log.appendedEvents(t)
		var want []string
		for i := range n {
			want = append(want, strconv.Itoa(i))
		}
		if got := queryTexts(groups); !slices.Equal(got, want) {
			t.Errorf("%d records, want %d in order", len(got), len(want))
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v, want %v", err, os.ErrNotExist)
		}
	})
}

// TestDamagedPendingFileIsKept checks that the readable records of a file are appended
// and the file is kept.
func TestDamagedPendingFileIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pending")
	synctest.Test(t, func(t *testing.T) {
		log := &memory{fail: errors.New("disk full")}
		o := Options{Log: log, PendingFile: file}
		if err := runDuring(t, o, func(r *Recorder) { _ = r.Note(t.Context(), searchRecord(0)) }); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("{\"value\":")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		log.setFailure(nil)
		if err := runDuring(t, o, func(*Recorder) { <-time.After(time.Second) }); err != nil {
			t.Error(err)
		}
		if _, groups := log.appendedEvents(t); len(groups) != 1 {
			t.Errorf("%d groups, want 1", len(groups))
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	})
}

// TestTheLargestRecordsFit uses records in which JSON escapes every byte, the worst case.
func TestTheLargestRecordsFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{}
		worst := strings.Repeat("\x01", audit.MaxTargetBytes+1)
		rec := audit.Record{Action: audit.FetchedSource, Target: worst, Metadata: map[string]string{}}
		for i := range audit.MaxMetadata + 3 {
			rec.Metadata[fmt.Sprintf("field-%02d", i)] = worst
		}
		err := runDuring(t, Options{Log: log}, func(r *Recorder) {
			for range 2 * event.MaxAuditRecords {
				if err := r.Note(t.Context(), rec); err != nil {
					t.Fatal(err)
				}
			}
		})
		_, groups := log.appendedEvents(t)
		n := 0
		for _, g := range groups {
			n += len(g)
		}
		if err != nil || n != 2*event.MaxAuditRecords || len(groups) < 2 {
			t.Errorf("%d records in %d events, error %v", n, len(groups), err)
		}
	})
}

func TestInvalidRecordIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memory{}
		err := runDuring(t, Options{Log: log}, func(r *Recorder) {
			bad := searchRecord(1)
			bad.Actor.User = "not an ID"
			for _, rec := range []audit.Record{searchRecord(0), bad, searchRecord(2)} {
				if err := r.Note(t.Context(), rec); err != nil {
					t.Fatal(err)
				}
			}
		})
		_, groups := log.appendedEvents(t)
		if err != nil || len(groups) != 1 || len(groups[0]) != 3 {
			t.Fatalf("%v, error %v", groups, err)
		}
		if got := groups[0][1]; got.Action != audit.RecordInvalid || got.Metadata["action"] != string(audit.Searched) || got.Metadata["reason"] == "" {
			t.Errorf("instead of it %+v", got)
		}
	})
}

func TestCleanBoundsAndRedacts(t *testing.T) {
	secret := account.PrefixKey + strings.Repeat("0123456789abcdef", 4)
	rec := audit.Record{
		Action: audit.Searched, Target: strings.Repeat("é", audit.MaxTargetBytes), RequestID: "a\nb", Status: 7777,
		Actor:    account.Actor{Client: "curl\r\n/8 \xff" + strings.Repeat("x", 400)},
		Metadata: map[string]string{"query": "who uses " + secret + "?", "empty": "", strings.Repeat("n", 100): "v"},
	}
	before := maps.Clone(rec.Metadata)
	got := Clean(rec)
	if !maps.Equal(before, rec.Metadata) {
		t.Error("Clean changed what it was given")
	}
	if len(got.Target) > audit.MaxTargetBytes || !strings.HasSuffix(got.Target, "é…") {
		t.Errorf("target of %d bytes", len(got.Target))
	}
	if got.RequestID != "a b" || got.Status != 0 || got.TargetType != audit.TargetInstance || got.Actor.Kind != account.ActorAnonymous {
		t.Errorf("%+v", got)
	}
	if len(got.Actor.Client) > account.MaxClientBytes || strings.ContainsAny(got.Actor.Client, "\r\n") || !utf8.ValidString(got.Actor.Client) {
		t.Errorf("client %q", got.Actor.Client)
	}
	if q := got.Metadata["query"]; q != "who uses qk_012345…?" {
		t.Errorf("query %q, want \"who uses qk_012345…?\"", q)
	}
	if len(got.Metadata) != 2 {
		t.Errorf("metadata %v", got.Metadata)
	}
	for _, prefix := range []string{account.PrefixToken, account.PublicPrefixKey, account.PublicPrefixToken, account.LegacyPrefixKey} {
		rec.Target = prefix + strings.Repeat("0123456789abcdef", 4)
		if got := Clean(rec).Target; got != prefix+"012345…" {
			t.Errorf("target %q", got)
		}
	}
}

func FuzzCleanIsValid(f *testing.F) {
	f.Add("user.performed_code_search", "a\x00\xffb", "192.0.2.1", "curl", "q", "v")
	f.Fuzz(func(t *testing.T, action, target, address, client, name, value string) {
		if action == "" {
			return
		}
		rec := Clean(audit.Record{
			At: time.Unix(1, 0), Action: audit.Action(action), Target: target, RequestID: client,
			Actor: account.Actor{Address: address, Client: client, Credential: address}, Metadata: map[string]string{name: value},
		})
		_, err := event.Encode(event.Envelope{ID: "x", Source: source, Time: time.Unix(1, 0)}, &event.AuditRecorded{Records: []audit.Record{rec}})
		if err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkNote(b *testing.B) {
	r, err := New(Options{Log: discard{}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	rec := searchRecord(1)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Note(ctx, rec); err != nil {
			b.Fatal(err)
		}
	}
	stop()
	<-done
}

type discard struct{}

func (discard) Append(_ context.Context, _ event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	return make([]event.Position, len(records)), nil
}
