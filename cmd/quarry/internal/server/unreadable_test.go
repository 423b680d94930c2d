package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestUnreadableRecordBecomesOneDeadLetter appends records of later versions, of unknown
// types and without a type to the log of a process with all roles. Each becomes one dead
// letter of a named stage, and the later records of the partition are handled.
func TestUnreadableRecordBecomesOneDeadLetter(t *testing.T) {
	t.Parallel()
	t.Run("embedded log", func(t *testing.T) { checkDeadLetters(t, "log.partitions=1") })
	t.Run("a Kafka broker", func(t *testing.T) {
		broker := kafkatest.Start(t)
		checkDeadLetters(t, "log.partitions=1", "log.driver=kafka", "log.kafka.brokers="+strings.Join(broker.Addresses, ","))
	})
}

func checkDeadLetters(t *testing.T, set ...string) {
	t.Helper()
	g := newGitRepository(t, "anvil")
	first := g.commitFiles("a.txt", "needle\n")
	s := runServer(t, testConfig(t, append(set, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0")...))
	s.registerAt(t, g, first)

	push := func(change func(*event.Record)) event.Record {
		rec, err := event.Encode(event.Envelope{ID: "x", Source: "/test", Time: time.Now()},
			&event.Push{Repository: g.ID, Ref: "refs/heads/main", Action: event.ActionUpdated, ReceivedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		change(&rec)
		return rec
	}
	typed := func(name string) func(*event.Record) {
		return func(rec *event.Record) {
			for i, h := range rec.Headers {
				if h.Name == "ce_type" {
					rec.Headers[i].Value = []byte(name)
				}
			}
		}
	}
	const newer = "written by a newer Quarry: upgrade, then replay the dead letter"
	bad := []struct {
		record        event.Record
		stage, reason string
	}{
		{push(typed("dev.quarry.push.v2")), "worker", newer},
		{push(typed("dev.quarry.account.created.v1")), "worker", newer},
		{push(typed("com.example.order.v1")), "worker", "is no event of Quarry"},
		{event.Record{Key: event.RecordKey(g.ID), Value: []byte("hello")}, "worker", "header ce_specversion is missing"},
		{event.Record{Value: []byte("{}")}, "worker", "header ce_specversion is missing"},
		{push(func(rec *event.Record) { rec.Value = []byte(`{"repository":"x"}`) }), "worker", "invalid event"},
		{push(typed(string(event.TypeRevisionIndexed))), "projections", "invalid event"},
	}
	want := map[string]int{}
	for _, b := range bad {
		at, err := s.log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, b.record)
		if err != nil {
			t.Fatal(err)
		}
		want[at[0].String()+" "+b.stage]++
	}
	second := g.commitFiles("b.txt", "haystack\n")
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == second && len(readDeadLetters(t, s)) >= len(bad) })

	got := map[string]int{}
	for i, letter := range readDeadLetters(t, s) {
		got[headerValue(letter, event.HeaderDeadPosition)+" "+headerValue(letter, event.HeaderDeadSource)]++
		for _, b := range bad {
			at := headerValue(letter, event.HeaderDeadPosition)
			if string(b.record.Value) == string(letter.Value) && event.TypeOf(b.record) == event.TypeOf(letter) && !strings.Contains(headerValue(letter, event.HeaderDeadReason), b.reason) {
				t.Errorf("letter %d of %s: reason %q, want %q", i, at, headerValue(letter, event.HeaderDeadReason), b.reason)
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("letters %v\nwant    %v", got, want)
	}
}

func headerValue(rec event.Record, name string) string {
	for _, h := range rec.Headers {
		if h.Name == name {
			return string(h.Value)
		}
	}
	return ""
}

// readDeadLetters returns the current dead letters.
func readDeadLetters(t *testing.T, s *Server) []event.Record {
	return recordsOf(t, s, event.TopicDeadLetters)
}

// recordsOf returns the current records of a topic.
func recordsOf(t *testing.T, s *Server, topic event.Topic) []event.Record {
	t.Helper()
	high, err := s.log.HighWater(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var out []event.Record
	for partition, end := range high {
		reader, err := s.log.Tail(t.Context(), topic, int32(partition), 0)
		if err != nil {
			t.Fatal(err)
		}
		for next := event.Offset(0); next < end; {
			rec, err := reader.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rec)
			next = rec.Position.Offset + 1
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
