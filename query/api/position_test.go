package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// fakePositions are positions of a log with two partitions, at 58 and 13. An event is
// visible if it is in the first partition.
type fakePositions struct{ waited []event.LogPosition }

var fakeNext = []event.Offset{58, 13}

func (p *fakePositions) WaitFor(ctx context.Context, wanted event.LogPosition, sees func(*code.Repository) bool) ([]event.Offset, error) {
	p.waited = append(p.waited, wanted)
	reached := len(wanted.Next) <= len(fakeNext)
	for partition, next := range wanted.Next {
		reached = reached && next <= fakeNext[partition]
	}
	for _, at := range wanted.Events {
		hidden := at.Partition == 1 && sees != nil && !sees(&bare.Repository)
		reached = reached && at.Offset < fakeNext[at.Partition] && !hidden
	}
	if reached {
		return nil, nil
	}
	<-ctx.Done()
	return nil, fmt.Errorf("wait: %w", ctx.Err())
}

// blockedPositions are positions that nothing reaches before the end of the wait.
type blockedPositions struct{ waiting chan struct{} }

func (p blockedPositions) WaitFor(ctx context.Context, _ event.LogPosition, _ func(*code.Repository) bool) ([]event.Offset, error) {
	p.waiting <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestPositionWaitsAreShared has each caller wait for a position as often as it may: further
// waits of the same caller are refused, the operator's too, and others can still wait, until
// the process has its bound.
func TestPositionWaitsAreShared(t *testing.T) {
	w, positions := newWorld(), blockedPositions{make(chan struct{}, front.MaxWaits)}
	w.gate.strict = true
	o := w.serverOptions()
	o.Positions, o.PositionWait = positions, time.Hour
	s := newServer(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	search := func(ctx context.Context, address string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:7070/api/search", strings.NewReader(`{"query": "boil", "matches": 10, "minPosition": "quarry.events/0/57"}`)).WithContext(ctx)
		req.RemoteAddr = address + ":4711"
		if address == "127.0.0.1" {
			req.Header.Set("Authorization", "Bearer owner")
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		return rec
	}
	var waiting sync.WaitGroup
	wait := func(ctx context.Context, address string) {
		t.Helper()
		answered := make(chan *httptest.ResponseRecorder, 1)
		waiting.Go(func() { answered <- search(ctx, address) })
		select {
		case <-positions.waiting:
		case rec := <-answered:
			t.Fatalf("%s cannot wait: %d %s", address, rec.Code, rec.Body)
		}
	}
	for _, address := range []string{"127.0.0.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		for range front.MaxCallerWaits {
			wait(ctx, address)
		}
		want := http.StatusTooManyRequests
		if address == "192.0.2.3" {
			want = http.StatusServiceUnavailable // the bound of all
		}
		if rec := search(t.Context(), address); rec.Code != want || rec.Header().Get("Retry-After") == "" {
			t.Errorf("wait %d of %s: %d %s, want %d with Retry-After", front.MaxCallerWaits+1, address, rec.Code, rec.Body, want)
		}
	}
	cancel()
	waiting.Wait()
	ctx, cancel = context.WithCancel(t.Context())
	wait(ctx, "192.0.2.1")
	cancel()
	waiting.Wait()
}

// TestMinPosition sends searches with positions, as the owner, who sees everything, and as
// a member who may not see one of the repositories.
func TestMinPosition(t *testing.T) {
	w := newWorld()
	w.coverage.Next = fakeNext
	w.gate.invisible = map[string]bool{bare.Name: true}
	positions := &fakePositions{}
	o := w.serverOptions()
	o.Positions, o.PositionSecret, o.PositionWait = positions, []byte(strings.Repeat("k", 32)), time.Millisecond
	s := newServer(t, o)
	search := func(path, credential, minPosition string) (status int, body string) {
		text, err := json.Marshal(map[string]any{"query": "boil", "matches": 10, "minPosition": minPosition})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:7070"+path, strings.NewReader(string(text)))
		req.Header.Set("Authorization", "Bearer "+credential)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		return rec.Code, rec.Body.String()
	}
	positionOf := func(body string) string {
		_, rest, _ := strings.Cut(body, `"position":"`)
		position, _, _ := strings.Cut(rest, `"`)
		return position
	}
	_, body := search("/api/search", "owner", "")
	if got := positionOf(body); got != "0:58,1:13" {
		t.Errorf("the position for the owner is %q, want 0:58,1:13: %s", got, body)
	}
	_, body = search("/api/search", "member", "")
	encrypted := positionOf(body)
	other := byte('x') // than the one in the position
	if len(encrypted) > 50 && encrypted[50] == other {
		other = 'y'
	}
	if len(encrypted) < 51 || strings.Contains(encrypted, ":") {
		t.Errorf("the position for a member is %q, want an encrypted one", encrypted)
	}
	for _, c := range []struct {
		credential, minPosition string
		status                  int
		want                    string // in the response
		waited                  event.LogPosition
	}{
		{"owner", "0:58,1:13", 200, `"position":"0:58,1:13"`, event.LogPosition{Next: fakeNext}},
		{"owner", encrypted, 200, "", event.LogPosition{Next: fakeNext}},
		{"member", encrypted, 200, "", event.LogPosition{Next: fakeNext}},
		{"owner", "0:59", 503, "minPosition was not reached within 1ms: want 0:59, this process is at 0:58,1:13", event.LogPosition{Next: []event.Offset{59}}},
		{"owner", "quarry.events/0/57,quarry.events/1/3", 200, "", event.LogPosition{Events: []event.Position{{Topic: event.TopicEvents, Offset: 57}, {Topic: event.TopicEvents, Partition: 1, Offset: 3}}}},
		{"owner", "quarry.events/1/13", 503, "POSITION_NOT_REACHED", event.LogPosition{Events: []event.Position{{Topic: event.TopicEvents, Partition: 1, Offset: 13}}}},
		{"member", "quarry.events/0/57", 200, "", event.LogPosition{Events: []event.Position{{Topic: event.TopicEvents, Offset: 57}}}},
		// A hidden event and one that does not exist look the same.
		{"member", "quarry.events/1/3", 503, `"message":"minPosition was not reached within 1ms"`, event.LogPosition{Events: []event.Position{{Topic: event.TopicEvents, Partition: 1, Offset: 3}}}},
		{"member", "quarry.events/1/99", 503, `"message":"minPosition was not reached within 1ms"`, event.LogPosition{Events: []event.Position{{Topic: event.TopicEvents, Partition: 1, Offset: 99}}}},
		{"member", "0:58,1:13", 400, "INVALID_POSITION", event.LogPosition{}},
		{"owner", "1:13,0:58", 400, "INVALID_POSITION", event.LogPosition{}},
		{"owner", "0:-1", 400, "INVALID_POSITION", event.LogPosition{}},
		{"owner", "quarry.accounts/0/5", 400, "INVALID_POSITION", event.LogPosition{}},
		{"owner", strings.Repeat(",quarry.events/0/1", event.MaxAwaited)[1:], 200, "", event.LogPosition{
			Events: slices.Repeat([]event.Position{{Topic: event.TopicEvents, Offset: 1}}, event.MaxAwaited)}},
		{"owner", strings.Repeat("quarry.events/0/1,", event.MaxAwaited) + "quarry.events/0/1", 400, "at most 1024", event.LogPosition{}},
		{"owner", "nonsense", 400, "INVALID_POSITION", event.LogPosition{}},
		{"owner", encrypted[:50] + string(other) + encrypted[51:], 400, "INVALID_POSITION", event.LogPosition{}},
	} {
		for _, path := range []string{"/api/search", "/api/stream_search"} {
			positions.waited = nil
			status, body := search(path, c.credential, c.minPosition)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%s: %s with %.60q: %d %.300s, want %d with %q", path, c.credential, c.minPosition, status, body, c.status, c.want)
			}
			got := event.LogPosition{}
			if len(positions.waited) > 0 {
				got = positions.waited[0]
			}
			if !slices.Equal(got.Next, c.waited.Next) || !slices.Equal(got.Events, c.waited.Events) {
				t.Errorf("%s: %s with %.60q waited for %+v, want %+v", path, c.credential, c.minPosition, got, c.waited)
			}
		}
	}
}
