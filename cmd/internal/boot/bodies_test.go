package boot

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
)

// serveInBubble runs an HTTP server on connections in memory until the test ends.
func serveInBubble(t *testing.T, handler http.HandlerFunc) *clocktest.Listener {
	t.Helper()
	listener := clocktest.NewListener()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- NewHTTP(listener, handler, discardLogger()).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener
}

// TestBodiesHaveADeadline checks that a request whose body does not arrive gets its
// response and loses its connection, whether its handler reads the body or not, and
// whatever length it announces.
func TestBodiesHaveADeadline(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"a handler that reads nothing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"a handler that reads":         readAllOr408,
	} {
		for _, header := range []string{"Content-Length: 1000", "Content-Length: 10000000", "Transfer-Encoding: chunked"} {
			t.Run(name+", "+header, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					conn, err := serveInBubble(t, handler).DialContext(t.Context(), "tcp", "server")
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = conn.Close() }()
					_ = conn.SetDeadline(time.Now().Add(time.Hour)) // on the clock of the bubble
					if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", header); err != nil {
						t.Fatal(err)
					}
					answer, err := io.ReadAll(conn) // until the server closes
					if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 40") {
						t.Errorf("%q, %v; want a response and the end of the connection", answer, err)
					}
				})
			})
		}
	}
}

func readAllOr408(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		w.WriteHeader(http.StatusRequestTimeout)
	}
}

// TestDeadlineEndsWithTheBody checks that the deadline of a body that has arrived does
// not cancel a request that takes longer, and neither does that of a request without one.
func TestDeadlineEndsWithTheBody(t *testing.T) {
	for _, request := range []string{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			listener := serveInBubble(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				select {
				case <-r.Context().Done():
					t.Errorf("%.20q: canceled: %v", request, context.Cause(r.Context()))
				case <-time.After(10 * bodyTimeout):
				}
				_, _ = w.Write(body)
			})
			conn, err := listener.DialContext(t.Context(), "tcp", "server")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%.20q: %v, %v; want 200", request, response, err)
			}
		})
	}
}
