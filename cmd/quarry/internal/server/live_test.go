package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestEventsAsEveryRole checks that each kind of caller reads the events of the
// repositories that they may see, and nothing about others.
func TestEventsAsEveryRole(t *testing.T) {
	t.Parallel()
	repositories := map[string]*written{}
	for _, mark := range marks {
		repositories[mark] = writeSecret(t, mark)
	}
	w := newSeenWorld(t, repositories, marks...)
	for i := range w.roles {
		x := &w.roles[i]
		rec := w.sendRequest(x.name, http.MethodGet, "/api/events?since="+url.QueryEscape(w.events), "")
		want := http.StatusOK
		if refusal := x.expectedRefusal("search", ""); refusal != 0 {
			want = refusal
		}
		if rec.Code != want {
			t.Errorf("%s: %d, want %d", x.name, rec.Code, want)
			continue
		}
		for _, mark := range marks {
			sees := want == http.StatusOK && slices.Contains(x.sees, mark)
			if got := strings.Contains(rec.Body.String(), mark); got != sees {
				t.Errorf("%s: the answer names %s: %v, want %v", x.name, mark, got, sees)
			}
			if registered := strings.Contains(rec.Body.String(), `"change":"registered"`); sees && !registered {
				t.Errorf("%s: no registration in %s", x.name, rec.Body)
			}
		}
	}
}

// TestPushIsFollowed follows the events of a running server with the client: a
// registration and its import, then a push, then the end of the server.
func TestPushIsFollowed(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "followed", "main")
	first := g.commitFiles("a.go", "package a\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+g.dir))
	c, err := client.New(s.URL(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	frames, failed := make(chan *wire.EventFrame), make(chan error, 1)
	go func() {
		defer close(frames)
		for f, err := range c.FollowEvents(t.Context(), client.FollowEventsParams{Follow: true}) {
			if err != nil {
				failed <- err
				return
			}
			frames <- f
		}
	}()
	next := func(match func(*wire.EventFrame) bool) *wire.EventFrame {
		late := time.After(hangTimeout)
		for {
			select {
			case f, ok := <-frames:
				if !ok {
					t.Fatal(<-failed)
				}
				if match(f) {
					return f
				}
			case <-late:
				t.Fatalf("no such event came within %s", hangTimeout)
			}
		}
	}
	next(func(f *wire.EventFrame) bool { return f.Type == wire.EventFrameTypeReady })
	s.registerAt(t, g, first)
	next(func(f *wire.EventFrame) bool {
		return f.Change == wire.EventFrameChangeRegistered && f.Repository == g.Name
	})
	next(func(f *wire.EventFrame) bool { return f.Commit == string(first) })
	second := g.commitFiles("b.go", "package b\n")
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	f := next(func(f *wire.EventFrame) bool { return f.Type == wire.EventFrameTypeSearchable })
	if f.Commit != string(second) || f.Ref != "refs/heads/main" || f.Files == nil || *f.Files != 1 || f.RepositoryID == 0 {
		t.Errorf("the push is %+v", f)
	}
	if got := s.defaultAt(g.ID); got != second {
		t.Errorf("the event came before searches see it: they see %s, want %s", got, second)
	}
	subscription, _, err := s.feed.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	defer subscription.Close()
	n, changed, err := subscription.Next()
	for ; n != nil && err == nil; n, changed, err = subscription.Next() {
	}
	if err != nil {
		t.Fatal(err)
	}
	s.feed.Close()
	select {
	case <-changed:
	default:
		t.Error("the end of the feed does not wake its readers, which see it at their next heartbeat")
	}
	late := time.After(hangTimeout)
	for open := true; open; {
		select {
		case f, ok := <-frames:
			if ok && f.Type != wire.EventFrameTypePosition { // a heartbeat may have been under way
				t.Errorf("after the end: %+v", f)
			}
			open = ok
		case <-late:
			t.Fatalf("the stream has not ended %s after the feed", hangTimeout)
		}
	}
}
