package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// openRepo opens a session of a caller at a shard, and returns the name of the repository that it
// sees.
func (h *shardHost) openRepo(t *testing.T, caller string) (s *session, name string, err error) {
	t.Helper()
	s = h.NewSession([]byte(caller)).(*session)
	r, err := s.Call(t.Context(), &search.ShardCall{Open: true})
	if err != nil {
		return s, "", err
	}
	return s, r.Open.Repositories[0].Name, nil
}

// TestConnectionsAreKept opens one session after another on one connection, each with the view of
// its caller, and sessions at the same time on several ones.
func TestConnectionsAreKept(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := startShard(t, 0, func(o *ServerOptions) {
		o.Registerer = registry
		o.OpenRepository = func(_ context.Context, caller []byte) (RepositorySession, error) {
			return namedRepository(caller), nil
		}
	})
	h.Pool = &Pool{}
	var first *connection
	for i, caller := range []string{"ann", "bob", "cyd"} {
		s, name, err := h.openRepo(t, caller)
		if err != nil || name != "host/"+caller+"-1" {
			t.Fatalf("%s sees %s, %v", caller, name, err)
		}
		if i == 0 {
			first = s.conn
		} else if s.conn != first {
			t.Errorf("the session of %s has another connection", caller)
		}
		s.Close()
		clocktest.WaitUntil(t, "the view is released while the connection is kept", func() bool { return h.released.Load() == int32(i+1) })
	}
	r := h.OpenRepository([]byte("dan"))
	if out, err := r.Call(t.Context(), &RepositoryCall{Files: &RefPath{}}); err != nil || out.Files[0] != "dan" || r.(repositorySession).conn != first {
		t.Errorf("a session about a repository on a kept connection: %+v, %v", out, err)
	}
	r.Close()
	var open []*session
	for range maxKept + 1 {
		s, _, err := h.openRepo(t, "eve")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	if n := readMetric(t, registry, "quarry_rpc_sessions", ""); n != float64(len(open)) {
		t.Errorf("%v sessions are open, want %d", n, len(open))
	}
	for _, s := range open {
		s.Close()
	}
	if len(h.Pool.kept) != maxKept {
		t.Errorf("%d connections are kept, want %d", len(h.Pool.kept), maxKept)
	}
	clocktest.WaitUntil(t, "all sessions have ended", func() bool { return readMetric(t, registry, "quarry_rpc_sessions", "") == 0 })
	if n := readMetric(t, registry, "quarry_rpc_sessions_ended_total", endClosed); n != 4+maxKept+1 {
		t.Errorf("%v sessions have ended, want %d", n, 4+maxKept+1)
	}
	h.Pool.kept[0].opened = h.Pool.kept[0].opened.Add(-2 * maxConnectionAge)
	h.Pool.CloseOld()
	if len(h.Pool.kept) != maxKept-1 {
		t.Errorf("%d connections are kept after one is old, want %d", len(h.Pool.kept), maxKept-1)
	}
	h.Pool.Close()
	s, _, err := h.openRepo(t, "ann")
	s.Close()
	if err != nil || len(h.Pool.kept) != 0 {
		t.Errorf("a closed pool keeps %d connections, %v", len(h.Pool.kept), err)
	}
}

// TestLargeBuffersAreNotKept ends sessions with connections whose buffers are as large as a pool
// may keep, and one byte larger: it keeps one of the first ones. The size is that of a message in
// either direction, so that the bound holds for the shard as well.
func TestLargeBuffersAreNotKept(t *testing.T) {
	h := startShard(t, 0)
	h.Pool = &Pool{}
	var open []*session
	for _, size := range []int{maxPoolBytes + 1, maxPoolBytes, maxPoolBytes} {
		s, _, err := h.openRepo(t, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if s.conn.codec.largest == 0 {
			t.Error("the size of the reply is not noted")
		}
		if err := s.conn.codec.sendMessage(&call{Trace: strings.Repeat("a", 1<<20)}); err != nil || s.conn.codec.largest <= 1<<20 {
			t.Errorf("the size of a call is not noted: %d bytes, %v", s.conn.codec.largest, err)
		}
		s.conn.codec.largest = size
		open = append(open, s)
	}
	kept := open[1].conn
	for _, s := range open {
		s.Close()
	}
	if len(h.Pool.kept) != 1 || h.Pool.kept[0] != kept {
		t.Errorf("%d connections are kept, want the one that fits", len(h.Pool.kept))
	}
	h.Pool.Close()
}

// TestSilentConnection opens a session about a repository while the kept connection is one whose
// other end is gone without a word: it gets another connection.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	h := startShard(t, 0, func(o *ServerOptions) {
		o.OpenRepository = func(_ context.Context, caller []byte) (RepositorySession, error) {
			return namedRepository(caller), nil
		}
	})
	here, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }() // ends when here is closed
	silent := &connection{stream: here, codec: newCodec(here, bufio.NewReader(here)), reusable: true, opened: time.Now()}
	h.Pool = &Pool{kept: []*connection{silent}}
	r := h.OpenRepository([]byte("ann"))
	if out, err := r.Call(t.Context(), &RepositoryCall{Files: &RefPath{}}); err != nil || out.Files[0] != "ann" || r.(repositorySession).conn == silent {
		t.Errorf("%+v, %v", out, err)
	}
	r.Close()
	h.Pool.Close()
}

// namedRepository is a session about a repository that has a file with the name of its caller.
type namedRepository string

func (r namedRepository) Call(context.Context, *RepositoryCall) (*RepositoryReply, error) {
	return &RepositoryReply{Files: []string{string(r)}}, nil
}
func (namedRepository) Close() {}

// TestKeptConnectionIsLost opens a session after the kept connection was closed, and as a caller
// that the shard refuses, and sends what no front sends.
func TestKeptConnectionIsLost(t *testing.T) {
	h := startShard(t, 0)
	h.Pool = &Pool{}
	keep := func() *connection {
		s, _, err := h.openRepo(t, "ann")
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		return h.Pool.kept[len(h.Pool.kept)-1]
	}
	c := keep()
	if err := c.stream.Close(); err != nil {
		t.Fatal(err)
	}
	s, name, err := h.openRepo(t, "bob")
	if err != nil || name != "host/bob-1" || s.conn == c {
		t.Errorf("after the connection was closed: %s, %v", name, err)
	}
	s.Close()

	keep()
	s, _, err = h.openRepo(t, "nobody")
	if !errors.Is(err, search.ErrShardLost) || !strings.Contains(err.Error(), "the session is refused") || !strings.Contains(err.Error(), "there is no such caller") {
		t.Errorf("a caller who does not exist: %v", err)
	}
	if s.Close(); len(h.Pool.kept) != 0 {
		t.Error("the connection of a refused session is kept")
	}
	for want, p := range map[error]*Peer{
		errWrongSecret: {Secret: bytes.Repeat([]byte("x"), MinSecretBytes)},
		errClock:       {Secret: secret, Now: func() time.Time { return time.Now().Add(2 * maxClockSkew) }},
	} {
		p.Address, p.Owned, p.Pool = h.Address, h.Owned, &Pool{kept: []*connection{keep()}}
		h.Pool.kept = nil
		if _, err := p.NewSession([]byte("ann")).Call(t.Context(), &search.ShardCall{Open: true}); !errors.Is(err, search.ErrShardLost) || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	for what, next := range map[string]*call{
		"a call without a session": {Call: &search.ShardCall{Refs: true}},
		"a session of git reads":   {Next: &nextSession{Path: gitPath, Handshake: (&handshake{Version, time.Now(), []byte("7")}).signHeader(gitPath, secret)}, Git: &GitCall{}},
		"one that is not served":   {Next: &nextSession{Path: repositoryPath, Handshake: (&handshake{Version, time.Now(), []byte("ann")}).signHeader(repositoryPath, secret)}, Repository: &RepositoryCall{Refs: true}},
	} {
		c := keep()
		h.Pool.kept = nil
		if err := c.stream.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := c.codec.sendMessage(next); err != nil {
			t.Fatal(err)
		}
		if err := c.codec.receiveMessage(&reply{}); err == nil {
			t.Errorf("%s is answered", what)
		}
		_ = c.stream.Close()
	}
}

// TestListsAreChanges opens sessions on one connection whose callers see lists of repositories that
// differ in some, in most, in their order, and in nothing: each gets its own list.
func TestListsAreChanges(t *testing.T) {
	old := make([]*corpus.Repository, 100)
	for i := range old {
		old[i] = &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("r", i)}}
	}
	replace := func(list []*corpus.Repository, places ...int) []*corpus.Repository {
		list = slices.Clone(list)
		for _, i := range places {
			list[i] = &corpus.Repository{Repository: code.Repository{ID: list[i].ID, Name: list[i].Name + "'"}}
		}
		return list
	}
	some := replace(old, 0, 50, 99)
	swapped := slices.Clone(some)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	var most []int
	for i := range 60 {
		most = append(most, i)
	}
	var list []*corpus.Repository
	h := startShard(t, 0)
	h.Pool = &Pool{}
	h.wrap = func(s search.Shard) search.Shard {
		return &talkingShard{s, &search.ShardReply{Open: &search.ShardState{Repositories: list, Missing: len(list)}}}
	}
	var first *connection
	for i, c := range []struct {
		what string
		list []*corpus.Repository
		sent int // repositories
	}{
		{"the first list", old, 100}, {"the same", old, 0}, {"some have changed", some, 3}, {"another order", swapped, 100}, {"one is hidden", swapped[1:], 99},
		{"all are hidden", nil, 0}, {"back", some, 100}, {"most have changed", replace(some, most...), 100},
	} {
		list = c.list
		before := first
		var known []*corpus.Repository
		if before != nil {
			known = before.list
		}
		s := h.NewSession([]byte("ann")).(*session)
		r, err := s.Call(t.Context(), &search.ShardCall{Open: true})
		if err != nil || !reflect.DeepEqual(slices.Clip(r.Open.Repositories), slices.Clip(c.list)) || r.Open.Missing != len(c.list) {
			t.Fatalf("%s: %v, %v", c.what, r, err)
		}
		sent := 0
		for j, x := range r.Open.Repositories {
			if j >= len(known) || known[j] != x {
				sent++
			}
		}
		if sent != c.sent {
			t.Errorf("%s: %d repositories were sent, want %d", c.what, sent, c.sent)
		}
		if i == 0 {
			first = s.conn
		} else if s.conn != first {
			t.Errorf("%s: another connection", c.what)
		}
		s.Close()
	}
	for _, c := range []listChange{
		{Places: []int32{0}}, {[]int32{100}, old[:1]}, {[]int32{-1}, old[:1]}, {[]int32{1}, old[:1]}, {[]int32{0}, []*corpus.Repository{nil}},
	} {
		if _, err := c.applyTo(old); !errors.Is(err, errList) {
			t.Errorf("%+v: %v, want errList", c, err)
		}
	}
}
