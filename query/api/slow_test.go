package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
)

// socketServer is a server of a bubble, whose connections are in memory.
type socketServer struct {
	*httptest.Server
	listener *clocktest.Listener
	// done gets a value when a request has ended.
	done chan struct{}
}

// startSocketServer returns a server with short timeouts.
func startSocketServer(t *testing.T, w *world) *socketServer {
	o := without429(w.serverOptions())
	o.ReadTimeout, o.WriteTimeout, o.SearchTimeout = 60*time.Millisecond, 60*time.Millisecond, 60*time.Millisecond
	return serveConnections(t, newServer(t, o))
}

func serveConnections(t *testing.T, handler http.Handler) *socketServer {
	s := &socketServer{listener: clocktest.NewListener(), done: make(chan struct{}, 100)}
	s.Server = &httptest.Server{Listener: s.listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { s.done <- struct{}{} }()
		handler.ServeHTTP(w, r)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *socketServer) dial(t *testing.T) net.Conn {
	conn, err := s.listener.DialContext(t.Context(), "tcp", "server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	// The server's own bounds are far below.
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// TestSlowBody checks that the server does not wait for a body that does not arrive,
// whether the route reads one or not, and closes the connection.
func TestSlowBody(t *testing.T) { synctest.Test(t, checkSlowBody) }

func checkSlowBody(t *testing.T) {
	for path, want := range map[string]int{
		"/api/search": 408, "/api/tree": 408, "/api/repos": 408, "/api/verifications": 408, "/api/mcp": 408,
		"/api/nothing": 404, "/api/version": 405, "/api/repos/42/refresh": 202,
	} {
		conn := startSocketServer(t, newWorld()).dial(t)
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", path); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != want {
			t.Errorf("%s: %d, %v; want %d", path, response.StatusCode, err, want)
		}
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || isTimeout(err) {
			t.Errorf("%s: the connection is still open: %v", path, err)
		}
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// TestTricklingBody checks that a body that arrives byte by byte gets no extra time.
func TestTricklingBody(t *testing.T) { synctest.Test(t, checkTricklingBody) }

func checkTricklingBody(t *testing.T) {
	conn := startSocketServer(t, newWorld()).dial(t)
	if _, err := io.WriteString(conn, "POST /api/search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, _ = io.WriteString(conn, "1\r\n \r\n") // the server may have closed already
			}
		}
	}()
	defer close(stop)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that comes byte by byte: %v, %v; want 408", response, err)
	}
}

// TestBodyHasCome checks that the deadline of a body does not end a request whose body
// has arrived.
func TestBodyHasCome(t *testing.T) { synctest.Test(t, checkBodyHasCome) }

func checkBodyHasCome(t *testing.T) {
	w := newWorld()
	w.block = true // until the search's own timeout
	server := startSocketServer(t, w)
	client := &http.Client{Transport: &http.Transport{DialContext: server.listener.DialContext}}
	defer client.CloseIdleConnections()
	response, err := client.Post(server.URL+"/api/search", "application/json", strings.NewReader(`{"query":"x","matches":1}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a search beyond its time, whose body has come: %s, want 503", response.Status)
	}
}

// TestSlowReader checks that a response that the client does not read is aborted and its
// resources are released.
func TestSlowReader(t *testing.T) { synctest.Test(t, checkSlowReader) }

func checkSlowReader(t *testing.T) {
	w := newWorld()
	text := bytes.Repeat([]byte("all work and no play\n"), 1<<20)
	w.change = func(r *search.Result) {
		for range 4 {
			r.Files = append(r.Files, search.FileMatch{Repo: bare, Path: "long.txt", Content: text})
		}
	}
	server := startSocketServer(t, w)
	conn := server.dial(t)
	const body = `{"query":"x","matches":1}`
	if _, err := fmt.Fprintf(conn, "POST /api/search HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the server still writes")
	}
	if a, r := w.acquired.Load(), w.released.Load(); a != 1 || r != 1 {
		t.Errorf("%d views acquired, %d released", a, r)
	}
}

// TestCutBody checks that a body that ends before its announced length is the client's
// error, whichever route reads it.
func TestCutBody(t *testing.T) { synctest.Test(t, checkCutBody) }

func checkCutBody(t *testing.T) {
	for _, path := range []string{"/api/search", "/api/mcp"} {
		conn := startSocketServer(t, newWorld()).dial(t)
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\nno chunk\r\n", path); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %v, %v; want 400", path, response, err)
		}
	}
}
