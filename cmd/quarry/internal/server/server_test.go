package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/disk"
)

// testConfig returns the settings of a server in a new directory. Its time limits only end
// what hangs; query.timeout also bounds the searches for related files, to a fraction.
func testConfig(t testing.TB, set ...string) *config.Config {
	t.Helper()
	set = append([]string{"data=" + filepath.Join(t.TempDir(), "data"), "listen=127.0.0.1:0", "runtime.drainTimeout=" + hangTimeout.String(), "query.timeout=10h"}, set...)
	c, _, err := config.Loader{Set: set}.Load()
	if err != nil {
		t.Fatal(err)
	}
	c.FitMemory(2<<30, 4)
	return &c
}

// open opens a server and closes it at the end of the test.
func open(t testing.TB, c *config.Config, reg prometheus.Registerer, gather prometheus.Gatherer) *Server {
	t.Helper()
	s, err := Open(t.Context(), Options{
		Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: reg, Gatherer: gather, Version: "test",
		repairEvery: 100 * time.Millisecond, ctagsTimeout: hangTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	return s
}

// closeAtEnd closes a server at the end of the test. Until then, requests of the default
// client are those of its operator.
func closeAtEnd(t testing.TB, s *Server) {
	address, transport := s.listeners.main.Addr().String(), &operator.Transport{Dir: s.o.Config.Data}
	operators.Store(address, transport)
	t.Cleanup(func() {
		operators.CompareAndDelete(address, transport) // a server of another test may have the port now
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// openOnly opens a server with a new registry.
func openOnly(t testing.TB, c *config.Config) *Server {
	t.Helper()
	registry := prometheus.NewRegistry()
	return open(t, c, registry, registry)
}

// runServer opens a server and runs it until the test ends. It must end without an error.
func runServer(t testing.TB, c *config.Config) *Server {
	t.Helper()
	s := openOnly(t, c)
	run(t, s)
	if s.accounts != nil {
		waitForCallers(t, s)
	}
	return s
}

// waitForCallers waits until a server answers all callers, and not only its operator. While
// the projections catch up with the log it may do so and then stop again, until the
// repositories that came last have numbers.
func waitForCallers(t testing.TB, s *Server) {
	t.Helper()
	waitUntil(t, func() bool { return s.versions.CheckCaughtUp() == nil && s.checkCallersReady() == nil })
}

// run runs a server until the test ends or stop is called.
func run(t testing.TB, s *Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func getURL(t testing.TB, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	for _, c := range []struct {
		path   string
		status int
		part   string
	}{
		{"/healthz", 200, "ok"},
		{"/api/version", 200, "test"},
		{"/api/repos", 200, "[]"},
		{"/metrics", 404, "statusCode"},
		{"/admin/events", 200, ""},
		{"/debug/pprof/", 404, "statusCode"},
		{"/nowhere", 404, "statusCode"},
		{"/webhooks/github/nobody", 405, "statusCode"},
	} {
		if status, body := getURL(t, s.URL()+c.path); status != c.status || !strings.Contains(body, c.part) {
			t.Errorf("GET %s: %d %.200q, want %d with %q", c.path, status, body, c.status, c.part)
		}
	}
}

func TestDirectoryHasOneOwner(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	open(t, c, prometheus.NewRegistry(), prometheus.NewRegistry())
	_, err := Open(t.Context(), Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry()})
	if !errors.Is(err, disk.ErrHeld) {
		t.Errorf("second Open = %v, want disk.ErrHeld", err)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	first := open(t, testConfig(t), prometheus.NewRegistry(), prometheus.NewRegistry())
	address := first.listeners.main.Addr().String()
	_, err := Open(t.Context(), Options{Config: testConfig(t, "listen="+address), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry()})
	if err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("Open on a taken address = %v, want advice", err)
	}
}

func TestRegisterIsHeldToThePolicy(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	for _, c := range []struct {
		body   string
		status int
		part   string
	}{
		{`{"path":"/etc"}`, 403, "git.allowedRoots"},
		{`{"cloneUrl":"http://127.0.0.1/x.git"}`, 403, "git.allowedNetworks"},
		{`{"cloneUrl":"git://example.com/x.git"}`, 403, "scheme git"},
		{`{"cloneUrl":"ext::sh -c id"}`, 400, "transport helper"},
		{`{"cloneUrl":"--upload-pack=id"}`, 400, "dash"},
	} {
		response, err := http.Post(s.URL()+"/api/repos", "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Message string }
		err = errors.Join(json.NewDecoder(response.Body).Decode(&e), response.Body.Close())
		if err != nil || response.StatusCode != c.status || !strings.Contains(e.Message, c.part) {
			t.Errorf("%s: %d %q %v, want %d with %q", c.body, response.StatusCode, e.Message, err, c.status, c.part)
		}
	}
	if _, body := getURL(t, s.URL()+"/admin/events"); body != "" {
		t.Errorf("refused repositories left events:\n%s", body)
	}
}

// TestSearchOutOfTimeAnswersWithWhatItHas checks that the API waits longer than a search
// takes: a search that reaches its time limit returns a partial result, not an error.
func TestSearchOutOfTimeAnswersWithWhatItHas(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "query.timeout=1ns"))
	body := strings.NewReader(`{"query":"anything","matches":10}`)
	resp, err := http.Post(s.URL()+"/api/search", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"incompleteReason":"time limit"`) {
		t.Fatalf("status %d, %s: %v", resp.StatusCode, text, err)
	}
}

// TestConnectionsOfOneAddressAreLimited checks that the main listener closes connections
// beyond limits.connectionsPerAddress, and accepts others when one has ended.
func TestConnectionsOfOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "limits.connectionsPerAddress=2"))
	http.DefaultClient.CloseIdleConnections()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", s.listeners.main.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	answers := func(conn net.Conn) bool {
		_, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		first := make([]byte, 1)
		n, readErr := conn.Read(first)
		return err == nil && readErr == nil && n == 1
	}
	held := []net.Conn{dial(), dial()}
	waitUntil(t, func() bool { return !answers(dial()) })
	for _, conn := range held {
		_ = conn.Close()
	}
	waitUntil(t, func() bool { return answers(dial()) })
}

// TestStartWithoutBrokers starts a server whose time is over before a broker answers: the error
// says what to do.
func TestStartWithoutBrokers(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	_, err := Open(ctx, Options{
		Config: testConfig(t, "log.driver=kafka", "log.kafka.brokers=127.0.0.1:1"), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if !errors.Is(err, kafkalog.ErrNoAnswer) || !strings.Contains(err.Error(), "start this process again") {
		t.Errorf("%v, want %v and what to do", err, kafkalog.ErrNoAnswer)
	}
}
