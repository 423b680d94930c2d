package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// rollingClients is the number of clients during a rolling restart. Each has one request
// under way at any time.
const rollingClients = 8

// pair is two servers with one client per server and goroutine, as a load balancer keeps
// them.
type pair struct {
	t       *testing.T
	servers [2]atomic.Pointer[server]
	// failed collects the requests that were not answered with 200.
	mu struct {
		sync.Mutex
		failed []string
	}
	answered [2]atomic.Int64
	done     chan struct{}
}

// keepSearching sends searches to one of the servers over a kept connection until an
// answer says that the connection is closed, and then goes on with the other one.
func (p *pair) keepSearching(first int) {
	var clients [2]*http.Client
	for i := range clients {
		transport := &http.Transport{MaxIdleConnsPerHost: 1}
		defer transport.CloseIdleConnections()
		clients[i] = &http.Client{Transport: transport}
	}
	for at := first; ; {
		select {
		case <-p.done:
			return
		default:
		}
		// A POST is not sent again by the transport when its connection breaks.
		response, err := clients[at].Post(p.servers[at].Load().url+"/api/search", "application/json", strings.NewReader(`{"query":"anything","matches":10}`))
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		if err != nil {
			p.mu.Lock()
			p.mu.failed = append(p.mu.failed, fmt.Sprintf("server %d: %v", at, err))
			p.mu.Unlock()
			return
		}
		p.answered[at].Add(1)
		if response.Close {
			at = 1 - at
		}
	}
}

// waitForAnswers waits until server i has answered n more searches.
func (p *pair) waitForAnswers(i int, n int64) {
	p.t.Helper()
	from := p.answered[i].Load()
	if !pollUntil(func() bool { return p.answered[i].Load() >= from+n || p.failures() != "" }) {
		p.t.Fatalf("server %d does not answer any more: %s", i, p.servers[i].Load().output)
	}
}

func (p *pair) failures() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.mu.failed, "\n")
}

// TestRollingRestart restarts each of two servers while clients search over kept
// connections. No search may fail.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	environ := append(os.Environ(), "QUARRY_LIMITS_ANONYMOUS_PER_SECOND=0", "QUARRY_RUNTIME_SHUTDOWN_DELAY=3s")
	p := &pair{t: t, done: make(chan struct{})}
	for i := range p.servers {
		dir := t.TempDir()
		s, err := startServer(dir, environ, "--data", dir+"/data")
		if err != nil {
			t.Fatal(err)
		}
		p.servers[i].Store(s)
	}
	var clients sync.WaitGroup
	for n := range rollingClients {
		clients.Go(func() { p.keepSearching(n % 2) })
	}
	for i := range p.servers {
		p.waitForAnswers(i, 20)
		s := p.servers[i].Load()
		for range 2 { // a load balancer probes the server
			if status := s.getStatus("/readyz"); status != http.StatusOK {
				t.Errorf("server %d: readyz %d before the stop", i, status)
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		p.waitForAnswers(1-i, 20)
		again, err := startServerAt(strings.TrimPrefix(s.url, "http://"), s.cmd.Dir, environ, "--data", s.data)
		if err != nil {
			t.Fatal(err)
		}
		p.servers[i].Store(again)
	}
	p.waitForAnswers(0, 20)
	close(p.done)
	clients.Wait()
	for i := range p.servers {
		if err := p.servers[i].Load().stop(); err != nil {
			t.Error(err)
		}
	}
	if failed := p.failures(); failed != "" {
		t.Errorf("of %d searches, some failed during the restarts; repeat with go test -run TestRollingRestart ./cmd/e2e:\n%s",
			p.answered[0].Load()+p.answered[1].Load(), failed)
	}
}

// TestSignalsOfServer sends signals to a server whose delay exceeds every deadline of the
// test: it ends only if it does not wait.
func TestSignalsOfServer(t *testing.T) {
	t.Parallel()
	environ := append(os.Environ(), "QUARRY_RUNTIME_SHUTDOWN_DELAY=1h", "QUARRY_RUNTIME_DRAIN_TIMEOUT=3h")
	for name, c := range map[string]struct {
		probes  int
		signals []syscall.Signal
		code    int
		ends    syscall.Signal // the signal that ends the process, or 0
	}{
		"SIGINT":                             {probes: 2, signals: []syscall.Signal{syscall.SIGINT}},
		"SIGTERM without probes":             {signals: []syscall.Signal{syscall.SIGTERM}},
		"SIGTERM and SIGTERM, with probes":   {probes: 2, signals: []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, code: -1, ends: syscall.SIGTERM},
		"SIGTERM and interrupt, with probes": {probes: 2, signals: []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, code: -1, ends: syscall.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := startServer(dir, environ, "--data", dir+"/data") // it polls until it gets the first 200
			if err != nil {
				t.Fatal(err)
			}
			defer s.killProcess()
			for range c.probes {
				if status := s.getStatus("/readyz"); status != http.StatusOK {
					t.Fatalf("readyz %d before the stop", status)
				}
			}
			for i, signal := range c.signals {
				if i > 0 {
					checkDraining(t, s)
				}
				if err := s.cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
			if !pollUntil(s.hasExited) {
				t.Fatalf("the server still runs: %s", s.output)
			}
			state := s.cmd.ProcessState
			status := state.Sys().(syscall.WaitStatus)
			if state.ExitCode() != c.code || (c.ends != 0) != status.Signaled() || c.ends != 0 && status.Signal() != c.ends {
				t.Errorf("ended with %v, want code %d and signal %q: %s", state, c.code, c.ends, s.output)
			}
		})
	}
}

// checkDraining waits until a server is not ready, and checks that it still answers: on
// new connections and on a kept one, which it closes.
func checkDraining(t *testing.T, s *server) {
	t.Helper()
	kept, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatalf("a new connection: %v: %s", err, s.output)
	}
	defer func() { _ = kept.Close() }()
	if !pollUntil(func() bool { return s.hasExited() || s.getStatus("/readyz") == http.StatusServiceUnavailable }) || s.hasExited() {
		t.Fatalf("the server does not become not ready: %s", s.output)
	}
	_, err = io.WriteString(kept, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	answer, readErr := io.ReadAll(kept) // until the server closes the connection
	if err := errors.Join(err, readErr); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") || !strings.Contains(string(answer), "Connection: close") {
		t.Errorf("GET /healthz while draining: %q, %v; want 200 with Connection: close", answer, err)
	}
	response, err := http.Get(s.metricsURL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "stopping") {
		t.Errorf("readyz of the operators' listener: %d %q, %v; want 503 with the reason", response.StatusCode, body, err)
	}
}
