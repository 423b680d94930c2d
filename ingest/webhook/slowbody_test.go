package webhook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
)

// TestSlowBodyOfAnAnnouncedLength checks that a sender that announces a body and sends
// none of it gets a 408, and that its connection ends: the deadline remains after the
// error, or net/http would wait for the body forever.
func TestSlowBodyOfAnAnnouncedLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := clocktest.NewListener()
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: newReceiver(t, newOptions(new(memoryLog)))}}
		server.Start()
		defer server.Close()
		conn, err := listener.DialContext(t.Context(), "tcp", "server")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(time.Hour)) // on the clock of the bubble
		if _, err := io.WriteString(conn, "POST /webhooks/github/hub HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn) // until the server closes
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
			t.Errorf("%q, %v; want 408 and the end of the connection", answer, err)
		}
	})
}
