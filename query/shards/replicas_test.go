package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

var testSecret = bytes.Repeat([]byte("s"), rpc.MinSecretBytes)

// replica is a replica of a share, which is that of a log with one partition unless a test says
// otherwise. Its connections can be cut after some bytes.
type replica struct {
	address  string
	next     atomic.Int64
	age      atomic.Int64
	lost     atomic.Bool  // it answers that it is not ready
	frozen   sync.RWMutex // while it is locked, no probes are answered
	probes   atomic.Int64 // that were not answered
	settings atomic.Value
	sessions atomic.Int64
	// limit bounds the bytes of each session; negative for no bound. cuts counts its effect.
	limit, cuts atomic.Int64
	// blocked gets a value when a call blocks, if it is not nil. Openings block while slow is set.
	blocked chan struct{}
	slow    atomic.Bool
	commit  code.CommitID
	// created counts the snapshots that it began to create, unless refused is set, and failed is
	// why its last one failed. older means that its release knows no operations.
	created        atomic.Int64
	refused, older atomic.Bool
	replays        fakeReplays
	verified       atomic.Int64 // verifications
	erasures       atomic.Value // []erasure.Erasure; nil if it fails
	named          segment.ID
	failed         atomic.Value
}

func startReplica(t *testing.T, view corpus.View, partitions ...int32) *replica {
	t.Helper()
	if partitions == nil {
		partitions = []int32{0}
	}
	r := &replica{commit: "c1"}
	r.limit.Store(-1)
	r.settings.Store("same")
	r.failed.Store("")
	r.next.Store(5)
	searcher := search.New(search.Options{})
	server, err := rpc.NewServer(rpc.ServerOptions{
		Secret: testSecret, Partitions: partitions,
		OpenSession: func(context.Context, []byte) (search.Shard, error) {
			r.sessions.Add(1)
			session := searcher.NewShardSession(view, partitions, func(*code.Repository) bool { return true })
			if r.blocked != nil {
				return &blockingShard{session, r.blocked}, nil
			}
			if r.slow.Load() {
				return slowShard{session}, nil
			}
			return session, nil
		},
		OpenRepository: func(context.Context, []byte) (rpc.RepositorySession, error) { return r, nil },
		State: func() (*rpc.State, error) {
			if !r.frozen.TryRLock() {
				r.probes.Add(1)
				r.frozen.RLock()
			}
			r.frozen.RUnlock()
			if r.lost.Load() {
				return nil, errors.New("not ready")
			}
			return &rpc.State{Next: slices.Repeat([]int64{r.next.Load()}, 1+int(slices.Max(partitions))), Age: time.Duration(r.age.Load()), Settings: r.settings.Load().(string), Creating: r.created.Load() > 0, SnapshotError: r.failed.Load().(string)}, nil
		},
		CreateSnapshot: func(context.Context) error {
			if r.refused.Load() {
				return fmt.Errorf("%w: it is catching up", failure.ErrConflict)
			}
			r.created.Add(1)
			return nil
		},
		Replays: &r.replays, Verify: r.verify, Erasures: r,
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost && r.older.Load() {
			http.NotFound(w, request)
			return
		}
		server.ServeHTTP(w, request)
	}))
	web.Listener = &cuttingListener{web.Listener, r}
	web.Start()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	r.address = web.Listener.Addr().String()
	return r
}

// Call implements rpc.RepositorySession.
func (r *replica) Call(ctx context.Context, c *rpc.RepositoryCall) (*rpc.RepositoryReply, error) {
	if r.slow.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if c.Refs {
		return &rpc.RepositoryReply{Default: "refs/heads/main", Branches: []source.Branch{{Ref: "refs/heads/main", Commit: r.commit, Time: time.Unix(7, 0)}}}, nil
	}
	return &rpc.RepositoryReply{Files: []string{"main.go"}}, nil
}

// Close implements rpc.RepositorySession.
func (r *replica) Close() {}

// cuttingListener counts the bytes that sessions send, and cuts their connections.
type cuttingListener struct {
	net.Listener
	r *replica
}

func (l *cuttingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &cuttingConn{Conn: conn, r: l.r, limit: -1, left: -1}, err
}

// cuttingConn is cut once its sessions have sent more bytes than a limit since that was set.
type cuttingConn struct {
	net.Conn
	r           *replica
	session     atomic.Bool
	limit, left int64
}

func (c *cuttingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bytes.HasPrefix(b[:n], []byte("GET /shard/")) {
		c.session.Store(!bytes.HasPrefix(b[:n], []byte("GET /shard/state")))
	}
	return n, err
}

func (c *cuttingConn) Write(b []byte) (int, error) {
	if limit := c.r.limit.Load(); limit != c.limit {
		c.limit, c.left = limit, limit
	}
	if c.left < 0 || !c.session.Load() {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:min(int64(len(b)), c.left)])
	if c.left -= int64(len(b)); c.left < 0 {
		c.r.cuts.Add(1)
		err = errors.Join(io.ErrClosedPipe, c.Conn.Close())
	}
	return n, err
}

// blockingShard answers Open, and blocks in other calls until they end.
type blockingShard struct {
	search.Shard
	blocked chan struct{}
}

func (s *blockingShard) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	if c.Open {
		return s.Shard.Call(ctx, c)
	}
	s.blocked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// slowShard blocks in Open.
type slowShard struct{ search.Shard }

func (s slowShard) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	if c.Open {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Shard.Call(ctx, c)
}

// newCorpus returns the index of a repository with some files.
func newCorpus(t *testing.T) *searchtest.Corpus {
	t.Helper()
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("src/file%d.go", i)] = fmt.Sprintf("package main\n\nfunc kettle%d() { boil(%d) }\n", i, i)
	}
	c, err := searchtest.New(func(_ string, text []byte) (segment.Document, code.Flags) { return segment.Document{Text: text}, 0 }, searchtest.Repository{
		Repository: &corpus.Repository{Repository: code.Repository{ID: 1, Name: "host/one", DefaultBranch: "main"}}, Files: files,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startFront starts a front of replicas and waits until all are reached.
func startFront(t *testing.T, replicas ...*replica) *Front {
	t.Helper()
	var peers []string
	for _, r := range replicas {
		peers = append(peers, "0/1@"+r.address)
	}
	parsed, err := ParsePeers(peers)
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, parsed, prometheus.NewRegistry())
	f.runUntilEnd(t)
	for i := range replicas {
		f.awaitProbed(t, "it is reached", func() bool { return f.shares[0].replicas[i].state != nil })
	}
	return f
}

// newFront returns a front of a log with one partition, or two if the peers list partitions.
func newFront(t *testing.T, peers []PeerAddress, registry *prometheus.Registry) *Front {
	t.Helper()
	next := []event.Offset{5}
	if peers[0].Share.List != nil {
		next = []event.Offset{5, 5}
	}
	f, err := NewFront(FrontOptions{
		Peers: peers, Secret: testSecret, Partitions: int32(len(next)), Positions: reached{}, Settings: func() string { return "same" }, Logger: slog.New(slog.DiscardHandler), Registerer: registry,
		Coverage: func() api.Coverage { return api.Coverage{Next: next} },
		Accounts: func() []event.Position { return nil }, HasNumber: func(code.RepositoryID) bool { return true },
		PartitionOf: func(code.RepositoryID) int32 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// runUntilEnd runs the front until the test ends.
func (f *Front) runUntilEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) }) // its error is always nil
	t.Cleanup(func() { stop(); running.Wait() })
}

// awaitProbed waits until probes have found a state of the replicas.
func (f *Front) awaitProbed(t *testing.T, what string, found func() bool) {
	t.Helper()
	s := f.shares[0]
	clocktest.WaitUntil(t, what, func() bool {
		for _, p := range s.listReplicas() {
			p.requestProbe()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return found()
	})
}

// searchFront returns the answer of a front to a query, as text.
func searchFront(ctx context.Context, t *testing.T, f *Front) string {
	t.Helper()
	view, covered, err := f.CoveredView(ctx)
	if err != nil {
		return err.Error()
	}
	defer view.Release()
	return printAnswer(t, view) + fmt.Sprint(covered.Next)
}

func printAnswer(t *testing.T, view corpus.View) string {
	q, err := syntax.Parse("kettle or boil", syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := search.New(search.Options{}).Search(context.Background(), view, search.Request{Query: q, Matches: 1000, Display: 12})
	if err != nil {
		return err.Error()
	}
	defer r.Release()
	var b strings.Builder
	for i := range r.Files {
		fmt.Fprintf(&b, "%s %v\n", r.Files[i].Path, r.Files[i].Score)
	}
	fmt.Fprintf(&b, "%d of %d, exhaustive %v, lost %v, ", r.Stats.Displayed, r.Stats.Matches, r.Exhaustive, r.LostPartitions)
	return b.String()
}

// TestConnectionsAreCut cuts the connection to a replica after each number of bytes, until a
// search needs no more: all answers are those of one process, from the other replica, and name
// nothing as lost. Without one, the loss is named.
func TestConnectionsAreCut(t *testing.T) {
	corpus := newCorpus(t)
	want := printAnswer(t, corpus) + "[5]"
	first, second := startReplica(t, corpus), startReplica(t, corpus)
	second.age.Store(int64(time.Minute)) // the first one is better
	f := startFront(t, first, second)
	f.hedger.credit = math.Inf(-1) // all sessions begin at the first one
	const step = 89
	limit := int64(0)
	for ; first.cuts.Load() == limit/step; limit += step {
		first.limit.Store(limit)
		if got := searchFront(t.Context(), t, f); got != want {
			t.Fatalf("after %d bytes:\n%s\nwant\n%s", limit, got, want)
		}
	}
	const withoutMove = 5 // sessions that are cut in the reply to their last call
	if limit < 30*step || second.sessions.Load() < limit/step-withoutMove {
		t.Errorf("sessions were cut up to %d bytes, and %d sessions of the other replica followed", limit, second.sessions.Load())
	}
	alone := startFront(t, first)
	for _, limit := range []int64{0, limit / 2} {
		first.limit.Store(limit)
		if got := searchFront(t.Context(), t, alone); !strings.Contains(got, "lost [0]") && !strings.Contains(got, "no shard answers") || strings.Contains(got, first.address) {
			t.Errorf("after %d bytes, without another replica: %s", limit, got)
		}
	}
}

// TestFrozenReplica checks that a call moves to another replica once the first one answers no
// probes, while it keeps the connection of the call.
func TestFrozenReplica(t *testing.T) {
	corpus := newCorpus(t)
	first, second := startReplica(t, corpus), startReplica(t, corpus)
	first.blocked = make(chan struct{}, 1)
	second.age.Store(int64(time.Minute))
	f := startFront(t, first, second)
	var answered sync.WaitGroup
	answered.Go(func() {
		if got := searchFront(t.Context(), t, f); !strings.Contains(got, "exhaustive true") {
			t.Errorf("a replica is frozen: %s", got)
		}
	})
	<-first.blocked
	first.lost.Store(true)
	f.awaitProbed(t, "the first replica is lost", func() bool { return f.shares[0].replicas[0].state == nil })
	answered.Wait()
	if r := f.Replicas(); r[0].Failure == nil || r[0].Age != 0 || r[1].Failure != nil {
		t.Errorf("the replicas are %+v", r)
	}
}

// TestFrozenShard checks that a call to the only replica of a share ends once it answers no probes,
// while it keeps the connection of the call. One that answers that it is not ready, as a process
// does that is being stopped, is not taken for frozen.
func TestFrozenShard(t *testing.T) {
	t.Parallel()
	corpus := newCorpus(t)
	alone := startReplica(t, corpus)
	alone.blocked = make(chan struct{}, 1)
	f := startFront(t, alone)
	snapshot, err := f.Snapshot(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	alone.slow.Store(true)
	var answered sync.WaitGroup
	answered.Go(func() {
		if got := searchFront(t.Context(), t, f); !strings.Contains(got, "no shard answers") {
			t.Errorf("the only replica is frozen: %s", got)
		}
	})
	answered.Go(func() {
		if files, err := snapshot.Files(t.Context(), 1, "refs/heads/main", 10); !errors.Is(err, search.ErrUnavailable) {
			t.Errorf("files of the frozen replica: %v, %v", files, err)
		}
	})
	<-alone.blocked
	alone.frozen.Lock()
	answered.Wait()
	if n := alone.probes.Load(); n > 4 {
		t.Errorf("the calls ended after %d probes, want one or two, each of which takes 3 s", n)
	}
	alone.frozen.Unlock()
	f.awaitProbed(t, "it is reached", func() bool { return f.shares[0].replicas[0].state != nil })

	alone.lost.Store(true)
	f.awaitProbed(t, "it is not ready", func() bool { return f.shares[0].replicas[0].state == nil })
	if f.shares[0].isSilent(f.shares[0].replicas[0]) {
		t.Error("a replica that answers that it is not ready counts as frozen")
	}
}

// TestSilentReplica lists the failures of probes that show that nothing is left to answer a call.
func TestSilentReplica(t *testing.T) {
	dial := func(cause error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", cause)}
	}
	for failure, want := range map[error]bool{
		fmt.Errorf("probe: %w", context.DeadlineExceeded): true,
		dial(syscall.EHOSTUNREACH):                        true, // the machine or the pod is gone, and so are its calls
		dial(syscall.ENETUNREACH):                         true,
		dial(syscall.ECONNREFUSED):                        false, // it accepts no sessions any more, and finishes its calls
		errors.New("not ready"):                           false,
	} {
		if got := (&share{}).isSilent(&peer{failure: failure}); got != want {
			t.Errorf("%v: silent %v, want %v", failure, got, want)
		}
	}
}

// TestReplicasTakeTurns checks that replicas that lag alike share the sessions, and that one that
// lags more gets none while another one answers.
func TestReplicasTakeTurns(t *testing.T) {
	corpus := newCorpus(t)
	all := []*replica{startReplica(t, corpus), startReplica(t, corpus), startReplica(t, corpus)}
	all[2].age.Store(int64(time.Minute))
	f := startFront(t, all...)
	if c := f.Coverage(); c.Age > lagTolerance || c.Next[0] != 5 {
		t.Errorf("the coverage is %+v, want that of the better replicas", c)
	}
	if r := f.Replicas(); len(r) != 3 || r[0].Age > lagTolerance || r[2].Age < time.Minute || r[2].Failure != nil || r[2].Share != "0/1" {
		t.Errorf("the replicas are %+v", r)
	}
	for range 10 {
		searchFront(t.Context(), t, f)
	}
	if a, b, c := all[0].sessions.Load(), all[1].sessions.Load(), all[2].sessions.Load(); a != 5 || b != 5 || c != 0 {
		t.Errorf("sessions: %d, %d and %d, want 5, 5 and 0", a, b, c)
	}
}

// TestReplicaBehind checks that a replica that has not reached a position answers no request that
// wants it, and that one that has reached it does, or the partitions are lost.
func TestReplicaBehind(t *testing.T) {
	corpus := newCorpus(t)
	first, second := startReplica(t, corpus), startReplica(t, corpus)
	second.next.Store(4)
	f := startFront(t, first, second)
	next, err := f.WaitFor(t.Context(), event.LogPosition{}, nil)
	if err != nil || !slices.Equal(next, []event.Offset{5}) {
		t.Fatalf("%v, %v, want the position of the front", next, err)
	}
	ctx := api.WithWantedPosition(t.Context(), next)
	for range 6 {
		if got := searchFront(ctx, t, f); !strings.Contains(got, "exhaustive true") || !strings.HasSuffix(got, "[5]") {
			t.Errorf("a replica has reached the position: %s", got)
		}
	}
	if n := second.sessions.Load(); n != 0 {
		t.Errorf("%d sessions at the replica that is behind", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.AwaitApplied(ended, event.Position{Offset: 4}); !errors.Is(err, context.Canceled) {
		t.Errorf("a replica that requests may choose has not applied the record: %v", err)
	}
	first.lost.Store(true)
	f.awaitProbed(t, "the first replica is lost", func() bool { return f.shares[0].replicas[0].state == nil })
	if got := searchFront(ctx, t, f); !strings.Contains(got, "no shard answers") {
		t.Errorf("no replica has reached the position: %s", got)
	}
	if got := searchFront(t.Context(), t, f); !strings.HasSuffix(got, "[4]") {
		t.Errorf("a search that wants no position: %s", got)
	}
	second.next.Store(5)
	if got := searchFront(ctx, t, f); !strings.HasSuffix(got, "[5]") {
		t.Errorf("the other replica has reached the position: %s", got)
	}
}

// TestRepositoryMoves checks that a session about a repository continues at a replica with the
// same commits, and is unavailable otherwise.
func TestRepositoryMoves(t *testing.T) {
	corpus := newCorpus(t)
	for commit, available := range map[code.CommitID]bool{"c1": true, "c2": false} {
		first, second := startReplica(t, corpus), startReplica(t, corpus)
		second.commit = commit
		second.age.Store(int64(time.Minute))
		f := startFront(t, first, second)
		ctx := t.Context()
		snapshot, err := f.Snapshot(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		first.lost.Store(true)
		f.awaitProbed(t, "the first replica is lost", func() bool { return f.shares[0].replicas[0].state == nil })
		files, err := snapshot.Files(ctx, 1, "refs/heads/main", 10)
		if (err == nil) != available || available && len(files) != 1 || !available && !errors.Is(err, search.ErrUnavailable) {
			t.Errorf("the other replica is at %s: %v, %v", commit, files, err)
		}
		snapshot.Release()
	}
}

// TestPeersByName follows the addresses of a name: each is a replica, one that goes gets no session
// any more, and a name that cannot be resolved keeps its own. A share has a bound of replicas.
func TestPeersByName(t *testing.T) {
	corpus := newCorpus(t)
	first, second := startReplica(t, corpus), startReplica(t, corpus)
	_, port, _ := net.SplitHostPort(first.address)
	_, otherPort, _ := net.SplitHostPort(second.address)
	peers, err := ParsePeers([]string{"0/1@one.example:" + port, "0/1@other.example:" + otherPort})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	addresses := map[string][]string{"one.example": {"127.0.0.1"}}
	set := func(name string, to ...string) { mu.Lock(); addresses[name] = to; mu.Unlock() }
	registry := prometheus.NewRegistry()
	f := newFront(t, peers, registry)
	f.resolveEvery = time.Millisecond
	f.o.Lookup = func(_ context.Context, host string) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if addresses[host] == nil {
			return nil, errors.New("no such host")
		}
		return addresses[host], nil
	}
	f.runUntilEnd(t)
	s := f.shares[0]
	f.awaitProbed(t, "the first replica is reached", func() bool { return s.countReachedLocked() == 1 })
	set("other.example", "127.0.0.1", "::1") // one process
	f.awaitProbed(t, "the second replica is reached", func() bool { return s.countReachedLocked() == 2 && len(s.replicas) == 2 })
	for range 4 {
		searchFront(t.Context(), t, f)
	}
	if a, b := first.sessions.Load(), second.sessions.Load(); a != 2 || b != 2 {
		t.Errorf("sessions: %d and %d, want 2 and 2", a, b)
	}
	set("one.example")
	set("other.example", "127.0.0.2", "127.0.0.1")
	f.awaitProbed(t, "a third replica appears", func() bool { return len(s.replicas) == 3 })
	set("other.example", "127.0.0.2")
	f.awaitProbed(t, "the second replica goes", func() bool { return len(s.replicas) == 2 && s.countReachedLocked() == 1 })
	if got := searchFront(t.Context(), t, f); !strings.Contains(got, "exhaustive true") || first.sessions.Load() != 3 {
		t.Errorf("the name of the first replica is not resolved: %s", got)
	}
	for _, series := range []string{"quarry_shards_peer_up", "quarry_shards_calls_total"} {
		if n := countSeries(t, registry, series, second.address); n != 0 {
			t.Errorf("%d series %s of a replica that is gone", n, series)
		}
	}
	gone := f.addPeer(s, "127.0.0.3:1", "127.0.0.3:1")
	f.removePeer(s, gone)
	late := &route{f: f, share: s, at: &choice{peer: gone, reached: t.Context()}}
	if err := late.measureCall(t.Context(), late.at, "visit", func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if n := countSeries(t, registry, "quarry_shards_calls_total", gone.Address); n != 0 {
		t.Errorf("%d series of a call that ended after its replica had gone", n)
	}
	var many []string
	for i := range 2 * maxReplicas {
		many = append(many, fmt.Sprintf("127.0.1.%d", i))
	}
	set("other.example", many...)
	f.awaitProbed(t, "as many replicas as possible appear", func() bool { return len(s.replicas) == maxReplicas })
}

// TestChooseFamily checks that a process with addresses of both families is one replica.
func TestChooseFamily(t *testing.T) {
	for _, c := range []struct{ all, want []string }{
		{[]string{"::1", "127.0.0.1"}, []string{"127.0.0.1"}}, {[]string{"fe80::1%eth0", "::1"}, []string{"fe80::1%eth0", "::1"}},
		{[]string{"10.0.0.1", "10.0.0.2"}, []string{"10.0.0.1", "10.0.0.2"}}, {nil, nil},
	} {
		if got := chooseFamily(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.all, got, c.want)
		}
	}
}

// countSeries counts the series of a metric with the label peer.
func countSeries(t *testing.T, registry *prometheus.Registry, name, peer string) (n int) {
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == "peer" && l.GetValue() == peer {
					n++
				}
			}
		}
	}
	return n
}

// TestOtherSettings checks that a shard whose settings decide otherwise what a caller sees is lost
// to a front, and opens no session for it.
func TestOtherSettings(t *testing.T) {
	corpus := newCorpus(t)
	r := startReplica(t, corpus)
	peers, err := ParsePeers([]string{r.address})
	if err != nil {
		t.Fatal(err)
	}
	for settings, want := range map[string]bool{"": true, "same": true, "other": false} {
		r.settings.Store(settings)
		f := newFront(t, peers, prometheus.NewRegistry())
		f.runUntilEnd(t)
		f.awaitProbed(t, "the shard is probed", func() bool { return !errors.Is(f.shares[0].replicas[0].failure, errNotProbed) })
		if got := f.CheckReady() == nil; got != want {
			t.Errorf("settings %q: ready %v: %v", settings, got, f.shares[0].replicas[0].failure)
		}
	}
	who, err := encodeCaller(auth.From(t.Context()), nil, 0, "other")
	if err != nil {
		t.Fatal(err)
	}
	shard := NewShard(ShardOptions{Ready: func() error { return nil }, Settings: func() string { return "same" }})
	if _, err := shard.OpenSession(t.Context(), who); !errors.Is(err, errSettings) {
		t.Errorf("a session of a front with other settings: %v, want errSettings", err)
	}
}
