package api_test

import (
	"bufio"
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

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// eventWorld is a world with a log that callers follow.
type eventWorld struct {
	*world
	log  eventlog.Log
	feed *live.Feed
	mu   sync.Mutex // of the gate
}

// Authenticate implements api.Gate.
func (w *eventWorld) Authenticate(r *http.Request) (*auth.Principal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gate.Authenticate(r)
}

// Visible implements api.Gate.
func (w *eventWorld) Visible(p *auth.Principal) auth.Visible {
	w.mu.Lock()
	defer w.mu.Unlock()
	hidden := w.gate.invisible
	return (&fakeGate{invisible: hidden}).Visible(p)
}

func (w *eventWorld) hide(names ...string) {
	hidden := map[string]bool{}
	for _, name := range names {
		hidden[name] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate.invisible = hidden
}

// eventGate reads the permissions that change during a stream from the world.
type eventGate struct {
	api.Gate
	w *eventWorld
}

func (g eventGate) Authenticate(r *http.Request) (*auth.Principal, error) {
	return g.w.Authenticate(r)
}
func (g eventGate) Visible(p *auth.Principal) auth.Visible { return g.w.Visible(p) }

func newEventWorld(t *testing.T) (*eventWorld, *api.Server) {
	t.Helper()
	w := &eventWorld{world: closedWorld()}
	var err error
	if w.log, err = embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	w.feed, err = live.New(live.Options{
		Log: w.log, Secret: make([]byte, 32),
		AwaitApplied: func(context.Context, event.Position, code.RepositoryID) error { return nil },
		Repository: func(id code.RepositoryID) (code.Repository, bool) {
			known, err := w.Find(context.Background(), code.Repository{ID: id})
			return known, err == nil
		},
		DeliveryOfPush: func(push event.Position) (event.Position, bool) { return push, true },
		Running:        func() []live.Work { return nil },
		WorkOn:         func(code.RepositoryID) (live.Work, bool) { return live.Work{}, false },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = w.feed.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done; _ = w.log.Close() })
	o := without429(w.serverOptions())
	o.Gate, o.Events = eventGate{&w.gate, w}, w.feed
	return w, newServer(t, o)
}

// push appends a record that makes a push searchable, and waits until the feed has it.
func (w *eventWorld) push(t *testing.T, id code.RepositoryID, commit string) {
	t.Helper()
	s := w.subscribe(t)
	defer s.Close()
	rec, err := event.Encode(event.Envelope{ID: commit, Source: "/test", Time: day}, &event.RevisionIndexed{
		Repository: id, Ref: "refs/heads/main", Commit: code.CommitID(strings.Repeat(commit, 40)), CommitTime: day,
		Cause: event.Position{Topic: event.TopicEvents, Offset: 7}, PushedAt: day, IndexedAt: day, Changes: []event.Change{{Path: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.log.Append(t.Context(), event.TopicEvents, 0, rec); err != nil {
		t.Fatal(err)
	}
	for seen := 0; seen < 2; {
		n, changed, err := s.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case n != nil:
			seen++
		default:
			<-changed
		}
	}
}

func (w *eventWorld) subscribe(t *testing.T) *live.Subscription {
	t.Helper()
	ctx := clocktest.NewContext(t)
	for {
		s, _, err := w.feed.Subscribe("")
		if err == nil {
			return s
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func summarize(f *wire.EventFrame) string {
	switch f.Type {
	case "searchable":
		return fmt.Sprintf("%s %.1s", f.Repository, f.Commit)
	case "delivery":
		return "delivery " + f.DeliveryKey + " " + f.Outcome
	}
	return string(f.Type)
}

// eventsSince returns the events that a caller reads from a position on.
func eventsSince(t *testing.T, s *api.Server, credential, since string) (lines []string, position string) {
	t.Helper()
	rec := sendRequest(s, http.MethodGet, "/api/events?since="+since, "", credential)
	if rec.Code != http.StatusOK || rec.Header().Get("X-Accel-Buffering") != "no" || rec.Header().Get("Cache-Control") != "no-cache, no-transform" {
		t.Fatalf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	last := ""
	for line := range strings.Lines(rec.Body.String()) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = strings.TrimSpace(id)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var f wire.EventFrame
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatal(err)
		}
		if f.Position != "" {
			if position = f.Position; position != last {
				t.Errorf("the position %q has the id %q", position, last)
			}
		}
		lines = append(lines, summarize(&f))
	}
	return lines, position
}

// TestEventsAreOfTheCaller checks that each caller reads the events of the repositories
// that exist for them now, and owners the outcomes of deliveries.
func TestEventsAreOfTheCaller(t *testing.T) {
	w, s := newEventWorld(t)
	w.hide(bare.Name)
	w.subscribe(t).Close()
	_, start := eventsSince(t, s, "", "")
	w.push(t, bareID, "a")
	w.push(t, kettleID, "b")
	const kettleB, bareA = "github.com/meadow/kettle b", "srv/git/Bare a"
	for credential, want := range map[string][]string{
		"":         {"ready", kettleB},
		"member":   {"ready", kettleB},
		"searcher": {"ready", kettleB},
		"ownerkey": {"ready", bareA, kettleB}, // sees all repositories, but does not administer
		"owner":    {"ready", "delivery 0-7 indexed", bareA, "delivery 0-7 indexed", kettleB},
	} {
		if got, _ := eventsSince(t, s, credential, start); !slices.Equal(got, want) {
			t.Errorf("%q reads %q, want %q", credential, got, want)
		}
	}
	if rec := sendRequest(s, http.MethodGet, "/api/events", "", "gitter"); rec.Code != http.StatusForbidden {
		t.Errorf("a key without the scope search: %d", rec.Code)
	}
	_, end := eventsSince(t, s, "", start)
	if again, _ := eventsSince(t, s, "", end); !slices.Equal(again, []string{"ready"}) {
		t.Errorf("from the last position: %q", again)
	}
	w.hide(kettle.Name)
	if got, _ := eventsSince(t, s, "member", start); !slices.Equal(got, []string{"ready", bareA}) {
		t.Errorf("after the permissions changed: %q", got)
	}
	if got, _ := eventsSince(t, s, "member", "nonsense"); !slices.Equal(got, []string{"lost", "ready"}) {
		t.Errorf("from no position: %q", got)
	}
}

// TestFollowedEventsEndWithTheirCredential follows events while permissions change, until
// the credential is deleted.
func TestFollowedEventsEndWithTheirCredential(t *testing.T) {
	w, s := newEventWorld(t)
	w.subscribe(t).Close()
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/events?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer member")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read to its end
	lines := bufio.NewScanner(response.Body)
	nextFrame := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var f wire.EventFrame
				if err := json.Unmarshal([]byte(data), &f); err != nil {
					t.Fatal(err)
				}
				return summarize(&f)
			}
		}
		return ""
	}
	got := []string{nextFrame()}
	w.push(t, bareID, "a")
	got = append(got, nextFrame())
	w.hide(bare.Name)
	w.push(t, bareID, "b")
	w.push(t, kettleID, "c")
	got = append(got, nextFrame())
	if want := []string{"ready", "srv/git/Bare a", "github.com/meadow/kettle c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	w.audit.mu.Lock()
	records := len(w.audit.records)
	w.audit.mu.Unlock()
	if records != 1 || w.audit.records[0].Action != audit.ListedRepositories {
		t.Errorf("%d records while the stream goes on, want that it began", records)
	}
	w.mu.Lock()
	w.gate.err = auth.ErrUnauthenticated
	w.mu.Unlock()
	w.push(t, kettleID, "d")
	if rest := nextFrame(); rest != "" { // nor [DONE], which is not a frame
		t.Errorf("after the deletion: %q", rest)
	}
}
