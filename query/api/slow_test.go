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
	"time"

	"github.com/quarrysearch/quarry/query/search"
)

// patience bounds the waits of these tests; the server's own bounds are far below.
const patience = 20 * time.Second

// startSocketServer returns a server on a socket with short timeouts; done gets a value
// when a request has ended.
func startSocketServer(t *testing.T, w *world) (server *httptest.Server, done chan struct{}) {
	o := without429(w.serverOptions())
	o.ReadTimeout, o.WriteTimeout, o.SearchTimeout = 60*time.Millisecond, 60*time.Millisecond, 60*time.Millisecond
	s := newServer(t, o)
	done = make(chan struct{}, 100)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, done
}

func dialServer(t *testing.T, server *httptest.Server) net.Conn {
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// TestSlowBody checks that the server does not wait for a body that does not arrive,
// whether the route reads one or not, and closes the connection.
func TestSlowBody(t *testing.T) {
	for path, want := range map[string]int{
		"/api/search": 408, "/api/tree": 408, "/api/repos": 408, "/api/verifications": 408,
		"/api/nothing": 404, "/api/version": 405, "/api/repos/42/refresh": 202,
	} {
		server, _ := startSocketServer(t, newWorld())
		conn := dialServer(t, server)
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
func TestTricklingBody(t *testing.T) {
	server, _ := startSocketServer(t, newWorld())
	conn := dialServer(t, server)
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
func TestBodyHasCome(t *testing.T) {
	w := newWorld()
	w.block = true // until the search's own timeout
	server, _ := startSocketServer(t, w)
	response, err := http.Post(server.URL+"/api/search", "application/json", strings.NewReader(`{"query":"x","matches":1}`))
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
func TestSlowReader(t *testing.T) {
	w := newWorld()
	text := bytes.Repeat([]byte("all work and no play\n"), 1<<20)
	w.change = func(r *search.Result) {
		for range 4 {
			r.Files = append(r.Files, search.FileMatch{Repo: bare, Path: "long.txt", Content: text})
		}
	}
	server, done := startSocketServer(t, w)
	conn := dialServer(t, server)
	const body = `{"query":"x","matches":1}`
	if _, err := fmt.Fprintf(conn, "POST /api/search HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the server still writes")
	}
	if a, r := w.acquired.Load(), w.released.Load(); a != 1 || r != 1 {
		t.Errorf("%d views acquired, %d released", a, r)
	}
}
