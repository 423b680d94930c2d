package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// worker is a process with mirrors. Its answers name it.
type worker struct {
	source.Git
	name        string
	address     string
	server      *rpc.Server
	web         *httptest.Server
	held        atomic.Bool
	hasMirror   atomic.Bool
	calls       atomic.Int64
	began, hold chan struct{} // if not nil, Files announces that it began, and waits
}

func startWorker(t *testing.T, name string, held, hasMirror bool) *worker {
	t.Helper()
	w := &worker{name: name}
	w.held.Store(held)
	w.hasMirror.Store(hasMirror)
	var err error
	w.server, err = rpc.NewServer(rpc.ServerOptions{Secret: testSecret, Git: &rpc.GitService{Git: w, Holds: func(context.Context, code.RepositoryID) bool {
		w.calls.Add(1)
		return w.held.Load()
	}}})
	if err != nil {
		t.Fatal(err)
	}
	w.web = httptest.NewServer(w.server)
	w.address = w.web.Listener.Addr().String()
	t.Cleanup(func() {
		_ = w.server.Close() // never fails
		w.web.Close()
	})
	return w
}

func (w *worker) read() error {
	if !w.hasMirror.Load() {
		return fmt.Errorf("%w at %s", source.ErrUnavailable, w.name)
	}
	return nil
}

func (w *worker) Resolve(context.Context, code.RepositoryID, code.RevisionName, code.Ref) (code.CommitID, error) {
	return code.CommitID(w.name), w.read()
}

func (w *worker) Files(ctx context.Context, _ code.RepositoryID, _ code.CommitID, _ int) ([]string, error) {
	if w.hold != nil {
		close(w.began)
		select {
		case <-w.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []string{w.name}, w.read()
}

func newGitPeers(change func(*GitOptions), addresses ...string) *GitPeers {
	o := GitOptions{Peers: addresses, Secret: testSecret, PartitionOf: func(code.RepositoryID) int32 { return 3 }, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	if change != nil {
		change(&o)
	}
	return NewGitPeers(o)
}

func resolve(t *testing.T, g *GitPeers) (code.CommitID, error) {
	return g.Git().Resolve(t.Context(), 7, code.RevisionName{Head: true}, "refs/heads/main")
}

func listFiles(t *testing.T, g *GitPeers) (string, error) {
	files, err := g.Git().Files(t.Context(), 7, "c", 10)
	return strings.Join(files, ","), err
}

// TestGitPeers reads from the process that handles the events of a repository. While there is none,
// another one with the mirror answers, but not about refs.
func TestGitPeers(t *testing.T) {
	empty, holder, old := startWorker(t, "empty", false, false), startWorker(t, "holder", true, true), startWorker(t, "old", false, true)
	g := newGitPeers(nil, empty.address, holder.address, old.address)
	for range 10 {
		commit, err := resolve(t, g)
		files, err2 := listFiles(t, g)
		if commit != "holder" || files != "holder" || err != nil || err2 != nil {
			t.Fatalf("%s, %v and %s, %v, want the answers of the holder", commit, err, files, err2)
		}
	}
	if n := empty.calls.Load() + old.calls.Load(); n > 2 {
		t.Errorf("processes that do not handle the events are asked %d times", n)
	}
	holder.hasMirror.Store(false) // it is being fetched again
	if files, err := listFiles(t, g); files != "old" || err != nil {
		t.Errorf("while the mirror is lost: %s, %v, want the files of the other mirror", files, err)
	}
	if _, err := resolve(t, g); !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "at holder") {
		t.Errorf("while the mirror is lost: %v, want the reason of the holder", err)
	}
	holder.held.Store(false)
	if files, err := listFiles(t, g); files != "old" || err != nil {
		t.Errorf("without a holder: %s, %v, want the files of the other mirror", files, err)
	}
	if _, err := resolve(t, g); !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "another one takes over") {
		t.Errorf("without a holder: %v, want that refs wait for one", err)
	}
	old.held.Store(true)
	if commit, err := resolve(t, g); commit != "old" || err != nil {
		t.Errorf("with another holder: %s, %v", commit, err)
	}
}

// TestLostGitPeer ends the holder in the middle of a call, and then all processes.
func TestLostGitPeer(t *testing.T) {
	holder, old := startWorker(t, "holder", true, true), startWorker(t, "old", false, true)
	holder.began, holder.hold = make(chan struct{}), make(chan struct{})
	var log bytes.Buffer
	g := newGitPeers(func(o *GitOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, holder.address, old.address)
	go func() {
		<-holder.began
		_ = holder.server.Close() // never fails
		_ = holder.web.Listener.Close()
	}()
	files, err := listFiles(t, g)
	if files != "old" || err != nil {
		t.Errorf("%s, %v, want the files of the other mirror", files, err)
	}
	_ = old.web.Listener.Close()
	for range 2 {
		if _, err := resolve(t, g); !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "no process with mirrors answers") ||
			strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("without any process: %v", err)
		}
	}
	if n := strings.Count(log.String(), "does not answer"); n != 1 || !strings.Contains(log.String(), holder.address) {
		t.Errorf("%d lines in the log, want one with the address: %s", n, log.String())
	}
}

// TestGitPeersByName asks all addresses of a name, and keeps them when it cannot be resolved.
func TestGitPeersByName(t *testing.T) {
	holder := startWorker(t, "holder", true, true)
	host, port, err := net.SplitHostPort(holder.address)
	if err != nil {
		t.Fatal(err)
	}
	var fails atomic.Bool
	g := newGitPeers(func(o *GitOptions) {
		o.Lookup = func(context.Context, string) ([]string, error) {
			if fails.Load() {
				return nil, errors.New("no such host")
			}
			return []string{"127.0.0.9", host, "::1"}, nil
		}
	}, "workers:"+port)
	for _, fail := range []bool{false, true} {
		fails.Store(fail)
		g.mu.resolved = time.Time{}
		if commit, err := resolve(t, g); commit != "holder" || err != nil {
			t.Errorf("the name fails: %v: %s, %v", fail, commit, err)
		}
	}
	peers := g.orderPeers(t.Context(), 3)
	if len(peers) != 2 || peers[0].address != holder.address {
		t.Errorf("%v, want the holder first, and no address of another family", peers)
	}
}

// TestNamesAreResolvedLater expects a call that knows addresses not to wait for their names.
func TestNamesAreResolvedLater(t *testing.T) {
	holder := startWorker(t, "holder", true, true)
	host, port, err := net.SplitHostPort(holder.address)
	if err != nil {
		t.Fatal(err)
	}
	began, answered := make(chan struct{}, 1), make(chan struct{})
	var hangs atomic.Bool
	g := newGitPeers(func(o *GitOptions) {
		o.Lookup = func(ctx context.Context, _ string) ([]string, error) {
			if hangs.Load() {
				began <- struct{}{}
				select {
				case <-answered:
				case <-ctx.Done():
					t.Error("a call waits for names")
				}
			}
			return []string{host}, nil
		}
	}, "workers:"+port)
	for _, hang := range []bool{false, true} {
		hangs.Store(hang)
		g.mu.resolved = time.Time{}
		if commit, err := resolve(t, g); commit != "holder" || err != nil {
			t.Errorf("the resolver hangs: %v: %s, %v", hang, commit, err)
		}
	}
	<-began
	close(answered)
	clocktest.WaitUntil(t, "the names are resolved", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return !g.mu.resolving
	})
}

// TestGitPeersClose closes peers while their name is resolved in the background. The resolution has
// ended when Close returns, and no further one begins.
func TestGitPeersClose(t *testing.T) {
	began, resolutions := make(chan struct{}, 1), 0
	var end error
	g := newGitPeers(func(o *GitOptions) {
		o.Lookup = func(ctx context.Context, _ string) ([]string, error) {
			if resolutions++; resolutions > 1 {
				began <- struct{}{}
				<-ctx.Done()
				end = ctx.Err()
			}
			return []string{"127.0.0.1"}, nil
		}
	}, "workers:1")
	g.orderPeers(t.Context(), 3)
	g.mu.resolved = time.Time{}
	g.orderPeers(t.Context(), 3)
	<-began
	g.Close()
	if !errors.Is(end, context.Canceled) {
		t.Errorf("the resolution ended with %v before Close returned, want %v", end, context.Canceled)
	}
	g.mu.resolved = time.Time{}
	if peers := g.orderPeers(t.Context(), 3); len(peers) != 1 || resolutions != 2 {
		t.Errorf("peers %v after %d resolutions; want the last ones, and no third resolution", peers, resolutions)
	}
}

// TestGitPeersOfSeveralNames moves the processes of one name while another name cannot be resolved.
func TestGitPeersOfSeveralNames(t *testing.T) {
	holder := startWorker(t, "holder", true, true)
	host, port, err := net.SplitHostPort(holder.address)
	if err != nil {
		t.Fatal(err)
	}
	moved, hosts := "127.0.0.9", map[string][]string{}
	g := newGitPeers(func(o *GitOptions) {
		o.Lookup = func(_ context.Context, name string) ([]string, error) {
			if hosts[name] == nil {
				return nil, errors.New("no such host")
			}
			return hosts[name], nil
		}
	}, "a:"+port, "b:"+port)
	hosts["a"], hosts["b"] = []string{moved}, []string{"127.0.0.8"}
	g.orderPeers(t.Context(), 3)
	hosts["a"], hosts["b"] = []string{host}, nil
	g.mu.resolved = time.Time{}
	clocktest.WaitUntil(t, "the next address of the name that has moved is asked", func() bool {
		commit, err := resolve(t, g)
		return commit == "holder" && err == nil
	})
	if peers := g.orderPeers(t.Context(), 3); len(peers) != 2 {
		t.Errorf("%v, want the last address of the name that is lost", peers)
	}
}
