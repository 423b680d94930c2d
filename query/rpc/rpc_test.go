package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// namesView is a view of repositories without files.
type namesView struct {
	repos    []*corpus.Repository
	released *atomic.Int32
}

func (v namesView) Segments() []corpus.Segment         { return nil }
func (v namesView) Repositories() []*corpus.Repository { return v.repos }
func (v namesView) Release()                           { v.released.Add(1) }
func (v namesView) Revisions(_ context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	for _, r := range v.repos {
		match(r, code.BranchRef("main"))
	}
	return nil, nil, nil
}

// slowShard blocks in each call after the first until its context ends.
type slowShard struct {
	search.Shard
	calls   int
	started chan struct{}
	ended   chan error
}

func (s *slowShard) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	if s.calls++; s.calls == 1 {
		return s.Shard.Call(ctx, c)
	}
	close(s.started)
	<-ctx.Done()
	s.ended <- ctx.Err()
	return nil, ctx.Err()
}

var secret = bytes.Repeat([]byte("secret-1"), 4)

// shardHost is a server with a repository that is named like its caller.
type shardHost struct {
	*Peer
	server   *Server
	released atomic.Int32
	wrap     func(search.Shard) search.Shard
}

func startShard(t testing.TB, partition int32, change ...func(*ServerOptions)) *shardHost {
	t.Helper()
	h := &shardHost{wrap: func(s search.Shard) search.Shard { return s }}
	searcher := search.New(search.Options{MaxDuration: time.Hour})
	o := ServerOptions{
		Secret: secret, Partitions: []int32{partition},
		OpenSession: func(_ context.Context, caller []byte) (search.Shard, error) {
			if string(caller) == "nobody" {
				return nil, errors.New("there is no such caller")
			}
			id := code.RepositoryID(partition + 1)
			repo := &corpus.Repository{Repository: code.Repository{ID: id, Name: fmt.Sprintf("host/%s-%d", caller, id)}}
			return h.wrap(searcher.NewShardSession(namesView{[]*corpus.Repository{repo}, &h.released}, []int32{partition}, nil)), nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if h.server, err = NewServer(o); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h.server)
	t.Cleanup(func() {
		if err := h.server.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	h.Peer = &Peer{Address: web.Listener.Addr().String(), Secret: secret, Owned: []int32{partition}}
	return h
}

func parse(t testing.TB, text string) *syntax.Parsed {
	t.Helper()
	q, err := syntax.Parse(text, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestSessions searches two shards through connections, as one caller.
func TestSessions(t *testing.T) {
	a, b := startShard(t, 0), startShard(t, 1)
	view, err := search.NewShards(t.Context(), []search.Shard{a.NewSession([]byte("ann")), b.NewSession([]byte("ann"))})
	if err != nil {
		t.Fatal(err)
	}
	front := search.New(search.Options{MaxDuration: time.Hour})
	r, err := front.Search(t.Context(), view, search.Request{Query: parse(t, "repo:ann type:repo"), Matches: 10})
	if err != nil || len(r.Repositories) != 2 || r.Repositories[0].Name != "host/ann-1" || !r.Exhaustive {
		t.Fatalf("%+v, %v, want ann-1 and ann-2", r, err)
	}
	r, err = front.Search(t.Context(), view, search.Request{Query: parse(t, "repo:bob hello"), Matches: 10})
	if err != nil || len(r.Notices) != 1 || r.Notices[0].Code != syntax.FilterSelectsNothing {
		t.Fatalf("%+v, %v, want a notice about repo:bob", r, err)
	}
	q := parse(t, "context:mine type:repo")
	syntax.Contexts(q.Root)[0].Means = parse(t, "repo:ann-2 or repo:bob").Root
	r, err = front.Search(t.Context(), view, search.Request{Query: q, Matches: 10})
	if err != nil || len(r.Repositories) != 1 || r.Repositories[0].Name != "host/ann-2" {
		t.Fatalf("%+v, %v, want ann-2, which the context stands for", r, err)
	}
	view.Release()
	for _, h := range []*shardHost{a, b} {
		clocktest.WaitUntil(t, "the view is released", func() bool { return h.released.Load() == 1 })
	}
}

// TestLostShard checks that a shard that goes away is named, and that the other answers.
func TestLostShard(t *testing.T) {
	a, b := startShard(t, 0), startShard(t, 1)
	view, err := search.NewShards(t.Context(), []search.Shard{a.NewSession([]byte("ann")), b.NewSession([]byte("ann"))})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Release()
	if err := b.server.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := search.New(search.Options{MaxDuration: time.Hour}).Search(t.Context(), view, search.Request{Query: parse(t, "hello"), Matches: 10})
	if err != nil || r.Exhaustive || r.Stopped != search.StopShardLost || len(r.LostPartitions) != 1 || r.LostPartitions[0] != 1 {
		t.Fatalf("%+v, %v, want an answer without partition 1", r, err)
	}
	r, err = search.New(search.Options{MaxDuration: time.Hour}).Search(t.Context(), view, search.Request{Query: parse(t, "type:repo"), Matches: 10})
	if err != nil || r.Exhaustive || r.Stopped != search.StopShardLost || len(r.LostPartitions) != 1 {
		t.Errorf("repositories: %+v, %v, want an answer without partition 1", r, err)
	}
}

// TestClosedServer checks that a server begins no session once Close waits for those that are open.
func TestClosedServer(t *testing.T) {
	opened := 0
	h := startShard(t, 0, func(o *ServerOptions) {
		open := o.OpenSession
		o.OpenSession = func(ctx context.Context, caller []byte) (search.Shard, error) { opened++; return open(ctx, caller) }
	})
	if err := h.server.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := h.newRequest(sessionPath, []byte("ann"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Upgrade", protocol)
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || opened > 0 {
		t.Errorf("after the end: %d, %d sessions were opened", w.Code, opened)
	}
}

// TestRefusedSessions checks that a session that must not exist is refused with the reason.
func TestRefusedSessions(t *testing.T) {
	h := startShard(t, 2)
	for name, c := range map[string]struct {
		change func(p *Peer)
		caller string
		want   string
	}{
		"another secret":   {func(p *Peer) { p.Secret = bytes.Repeat([]byte("x"), MinSecretBytes) }, "ann", errWrongSecret.Error()},
		"another clock":    {func(p *Peer) { p.Now = func() time.Time { return time.Now().Add(2 * maxClockSkew) } }, "ann", errClock.Error()},
		"other partitions": {func(p *Peer) { p.Owned = []int32{3} }, "ann", `the shard has partitions "2"`},
		"no caller":        {func(*Peer) {}, "nobody", "there is no such caller"},
		"no server":        {func(p *Peer) { p.Address = "127.0.0.1:1" }, "ann", "connection refused"},
	} {
		p := *h.Peer
		c.change(&p)
		s := p.NewSession([]byte(c.caller))
		_, err := s.Call(t.Context(), &search.ShardCall{Open: true})
		if !errors.Is(err, search.ErrShardLost) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		s.Close()
	}
	for version, want := range map[int]error{Version - 2: errVersion, Version - 1: nil, Version + 1: nil, Version + 2: errVersion} {
		value := (&handshake{version, time.Unix(1000, 0), []byte("ann")}).signHeader(sessionPath, secret)
		if _, err := readHandshake(sessionPath, value, secret, time.Unix(1000, 0)); !errors.Is(err, want) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
	response, err := http.Get("http://" + h.Address + "/api/repos")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("another request: status %d, %v, want 404", response.StatusCode, err)
	}
}

// TestRefusalsAreLoggedRarely checks that refused handshakes, which anyone can send, are all counted
// and rarely logged.
func TestRefusalsAreLoggedRarely(t *testing.T) {
	var log strings.Builder
	registry := prometheus.NewRegistry()
	now := time.Unix(1000, 0)
	h := startShard(t, 0, func(o *ServerOptions) {
		o.Logger, o.Registerer, o.Now = slog.New(slog.NewTextHandler(&log, nil)), registry, func() time.Time { return now }
	})
	h.Secret = bytes.Repeat([]byte("x"), MinSecretBytes)
	send := func() {
		s := h.NewSession([]byte("ann"))
		defer s.Close()
		if _, err := s.Call(t.Context(), &search.ShardCall{Open: true}); !errors.Is(err, search.ErrShardLost) {
			t.Errorf("%v, want ErrShardLost", err)
		}
	}
	for range 20 {
		send()
	}
	now = now.Add(refusalLogEvery)
	send()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "suppressed=0") || !strings.Contains(lines[1], "suppressed=19") {
		t.Errorf("logged: %s", log.String())
	}
	if n := readMetric(t, registry, "quarry_rpc_sessions_refused_total", refusedHandshake); n != 21 {
		t.Errorf("%v refusals are counted, want 21", n)
	}
}

// readMetric returns the value of a counter with a reason, or of a gauge.
func readMetric(t *testing.T, registry *prometheus.Registry, name, reason string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (reason == "" || m.GetLabel()[0].GetValue() == reason) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s with %q", name, reason)
	return 0
}

// TestCallEnds checks that a call of the shard ends when the caller leaves, and when its time
// is over, and that the session is lost then.
func TestCallEnds(t *testing.T) {
	for name, within := range map[string]time.Duration{"the caller leaves": 0, "no time is left": 20 * time.Millisecond} {
		h := startShard(t, 0)
		slow := &slowShard{started: make(chan struct{}), ended: make(chan error, 1)}
		h.wrap = func(s search.Shard) search.Shard { slow.Shard = s; return slow }
		s := h.NewSession([]byte("ann"))
		if _, err := s.Call(t.Context(), &search.ShardCall{Open: true}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if within > 0 {
			ctx, cancel = context.WithTimeoutCause(t.Context(), within, search.ErrShardLost)
		} else {
			go func() { <-slow.started; cancel() }()
		}
		_, err := s.Call(ctx, &search.ShardCall{Refs: true})
		if want := map[bool]error{true: search.ErrShardLost, false: context.Canceled}[within > 0]; !errors.Is(err, want) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		<-slow.ended
		cancel()
		if _, err := s.Call(t.Context(), &search.ShardCall{Open: true}); within == 0 && !errors.Is(err, search.ErrShardLost) {
			t.Errorf("%s: a later call: %v, want ErrShardLost", name, err)
		}
		s.Close()
		clocktest.WaitUntil(t, "the view is released", func() bool { return h.released.Load() == 1 })
	}
}

// TestIdleSessionEnds checks that a session whose front sends no call, or reads no reply, ends
// and releases its view.
func TestIdleSessionEnds(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := startShard(t, 0, func(o *ServerOptions) { o.MaxIdle, o.Registerer = time.Second, registry })
	idle := h.NewSession([]byte("ann"))
	defer idle.Close()
	if _, err := idle.Call(t.Context(), &search.ShardCall{Open: true}); err != nil {
		t.Fatal(err)
	}
	if n := readMetric(t, registry, "quarry_rpc_sessions", ""); n != 1 {
		t.Errorf("%v sessions are open, want 1", n)
	}
	clocktest.WaitUntil(t, "the view is released", func() bool { return h.released.Load() == 1 })
	if _, err := idle.Call(t.Context(), &search.ShardCall{Open: true}); !errors.Is(err, search.ErrShardLost) {
		t.Errorf("a call of an idle session: %v, want ErrShardLost", err)
	}

	large := make([]search.ShardRef, 1<<18)
	for i := range large {
		large[i].Ref = code.Ref(strings.Repeat("x", 64))
	}
	h.wrap = func(s search.Shard) search.Shard { return &talkingShard{s, &search.ShardReply{Refs: large}} }
	full := h.NewSession([]byte("ann")).(*session)
	defer full.Close()
	if err := full.openConnection(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := full.conn.codec.sendMessage(&call{Call: &search.ShardCall{Refs: true}}); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitUntil(t, "both sessions have ended for being idle", func() bool {
		return h.released.Load() == 2 && readMetric(t, registry, "quarry_rpc_sessions_ended_total", endIdle) == 2 && readMetric(t, registry, "quarry_rpc_sessions", "") == 0
	})
	h.wrap = func(s search.Shard) search.Shard { return s }
	closed := h.NewSession([]byte("ann"))
	if _, err := closed.Call(t.Context(), &search.ShardCall{Open: true}); err != nil {
		t.Fatal(err)
	}
	closed.Close()
	clocktest.WaitUntil(t, "the session is closed", func() bool { return readMetric(t, registry, "quarry_rpc_sessions_ended_total", endClosed) == 1 })
}

// talkingShard answers each call with a reply.
type talkingShard struct {
	search.Shard
	reply *search.ShardReply
}

func (s *talkingShard) Call(context.Context, *search.ShardCall) (*search.ShardReply, error) {
	return s.reply, nil
}

// TestQueryNodes checks that a query with more nodes than any that is parsed is refused before
// it is decoded: a deep one would use up the stack of the process.
func TestQueryNodes(t *testing.T) {
	for nodes, refused := range map[int]bool{syntax.MaxQueryBytes: false, maxQueryNodes: true} {
		var sent bytes.Buffer
		q := &syntax.And{Children: slices.Repeat([]syntax.Query{&syntax.Const{}}, nodes)}
		c := newCodec(&sent, bufio.NewReader(&sent))
		if err := c.sendMessage(&call{Call: &search.ShardCall{Begin: &search.ShardBegin{Query: &syntax.Parsed{Root: q}}}}); err != nil {
			t.Fatal(err)
		}
		if err := c.receiveMessage(&call{}); (err != nil) != refused {
			t.Errorf("a query with %d nodes: %v, want an error: %v", nodes, err, refused)
		}
	}
}

// FuzzReceive checks that hostile bytes end a session and nothing else.
func FuzzReceive(f *testing.F) {
	var sent bytes.Buffer
	c := newCodec(&sent, nil)
	if err := c.sendMessage(&call{Call: &search.ShardCall{Begin: &search.ShardBegin{Query: &syntax.Parsed{Root: &syntax.Text{Pattern: "x"}}}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(sent.Bytes()))
	sent.Reset()
	if err := newCodec(&sent, nil).sendMessage(&gitCall{Git: &GitCall{Method: gitLog, Paths: []string{"a"}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(sent.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0, 0, 0, 2, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newCodec(nil, bufio.NewReader(bytes.NewReader(b)))
		for range 3 {
			if c.receiveMessage(&call{}) != nil {
				return
			}
		}
	})
}
