package tail

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openLog(t *testing.T) eventlog.Log {
	t.Helper()
	log, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func encodePush(t *testing.T, repository code.RepositoryID, ref code.Ref) event.Record {
	t.Helper()
	rec, err := event.Encode(event.Envelope{ID: string(ref), Source: "test", Time: time.Unix(1e9, 0).UTC()},
		&event.Push{Repository: repository, Ref: ref, Action: event.ActionRefresh, ReceivedAt: time.Unix(1e9, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func appendPush(t *testing.T, log eventlog.Log, repository code.RepositoryID, ref code.Ref) event.Position {
	t.Helper()
	positions, err := log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, encodePush(t, repository, ref))
	if err != nil {
		t.Fatal(err)
	}
	return positions[0]
}

func getLines(t *testing.T, handler http.Handler, query string) (int, []Line) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, nil))
	var lines []Line
	for text := range strings.Lines(w.Body.String()) {
		var l Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return w.Code, lines
}

func TestHandler(t *testing.T) {
	log := openLog(t)
	handler := Handler(log, nil, slog.New(slog.DiscardHandler))
	if status, lines := getLines(t, handler, ""); status != http.StatusOK || len(lines) != 0 {
		t.Errorf("empty log: %d, %v", status, lines)
	}
	var last event.Position
	for i := range 20 {
		rec := encodePush(t, code.RepositoryID(i+1), code.BranchRef("b"))
		rec.Time = time.UnixMilli(1_000_000_000_000 + int64(i))
		positions, err := log.(eventlog.Importer).Import(t.Context(), event.TopicEvents, eventlog.AnyPartition, rec)
		if err != nil {
			t.Fatal(err)
		}
		last = positions[0]
	}
	if _, err := log.Append(t.Context(), event.TopicEvents, 0, event.Record{Key: []byte("k"), Value: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	status, lines := getLines(t, handler, "")
	if status != http.StatusOK || len(lines) != 21 {
		t.Fatalf("%d, %d lines, want 21", status, len(lines))
	}
	for i, l := range lines[:20] {
		if l.Type != event.TypePush || l.Data.(map[string]any)["repository"] != float64(i+1) {
			t.Errorf("line %d = %+v: partitions are not merged in the order of time", i, l)
		}
	}
	if lines[20].Error == "" {
		t.Error("a record that cannot be decoded has no reason")
	}
	if _, lines := getLines(t, handler, "from="+last.String()); len(lines) == 0 || lines[0].Position != last.String() {
		t.Errorf("from %s: %v", last, lines)
	}
	for _, query := range []string{"from=x", "from=7/0", "from=-1/0", "from=quarry.deadletters/0/0"} {
		if status, _ := getLines(t, handler, query); status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", query, status)
		}
	}
}

// trimmedLog is a log whose partitions begin at an offset.
type trimmedLog struct {
	eventlog.Log
	first event.Offset
}

// Tail implements eventlog.Log.
func (l trimmedLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	if from < l.first {
		return nil, &event.RangeError{First: l.first, End: 9}
	}
	return l.Log.Tail(ctx, topic, partition, from)
}

// TestDeletedBeginning reads a log whose beginning was deleted, of one partition and of all: the
// stream begins at the first record that is kept, and says so.
func TestDeletedBeginning(t *testing.T) {
	log := openLog(t)
	var last event.Position
	for range 12 {
		last = appendPush(t, log, 7, code.BranchRef("b"))
	}
	handler := Handler(trimmedLog{log, 5}, nil, slog.New(slog.DiscardHandler))
	from := func(offset int) string { return fmt.Sprintf("from=%d/%d", last.Partition, offset) }
	for query, want := range map[string]int{from(0): 7, from(4): 7, from(5): 7, from(11): 1} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, nil))
		notices := w.Header().Values(HeaderNotice)
		said := len(notices) == 1 && notices[0] == fmt.Sprintf("the records of partition %d before 5 were deleted from the log", last.Partition)
		if lines := strings.Count(w.Body.String(), "\n"); w.Code != http.StatusOK || lines != want || said != (query == from(0) || query == from(4)) {
			t.Errorf("%s: %d, %d lines, %q; want %d lines", query, w.Code, lines, notices, want)
		}
	}
	if status, _ := getLines(t, handler, from(13)); status != http.StatusBadRequest {
		t.Errorf("after the end: %d, want 400", status)
	}
}

func TestFollow(t *testing.T) {
	log := openLog(t)
	appendPush(t, log, 1, "refs/heads/one")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	records := make(chan event.Record)
	ended := make(chan error, 1)
	go func() {
		ended <- Stream(ctx, log, Options{Partition: eventlog.AnyPartition, Follow: true}, func(rec event.Record) error {
			records <- rec
			return nil
		})
	}()
	<-records
	appendPush(t, log, 2, "refs/heads/two")
	if rec := <-records; NewLine(rec).Data.(*event.Push).Ref != "refs/heads/two" {
		t.Errorf("followed %+v", NewLine(rec))
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Stream = %v, want %v", err, context.Canceled)
	}
}

// TestFollowEndsWithTheServer checks that a stream that follows the log ends with a whole
// line when the server stops, although its client has not disconnected.
func TestFollowEndsWithTheServer(t *testing.T) {
	log := openLog(t)
	appendPush(t, log, 1, "refs/heads/one")
	stopping := make(chan struct{})
	server := httptest.NewServer(Handler(log, stopping, slog.New(slog.DiscardHandler)))
	defer server.Close()
	response, err := server.Client().Get(server.URL + "?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "refs/heads/one") {
		t.Fatalf("first line %q, %v", line, err)
	}
	close(stopping)
	rest, err := io.ReadAll(lines)
	if err := errors.Join(err, response.Body.Close()); err != nil || len(rest) != 0 {
		t.Errorf("after the stop: %q, %v; want the end of the stream", rest, err)
	}
}
