package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/webhook"
)

// stalledBody is a body that does not end before the test does.
type stalledBody struct{ end chan struct{} }

func (b stalledBody) Read([]byte) (int, error) {
	<-b.end
	return 0, io.EOF
}

// lanes is a receiver with default limits and the stalled senders that it waits for.
type lanes struct {
	t        *testing.T
	receiver *webhook.Receiver
	end      chan struct{}
}

func newLanes(t *testing.T, change func(*webhook.Options)) *lanes {
	o := newOptions(new(memoryLog))
	o.MaxBodyBytes = webhook.DefaultMaxBodyBytes
	if change != nil {
		change(&o)
	}
	return &lanes{t: t, receiver: newReceiver(t, o), end: make(chan struct{})}
}

// stallBodies sends deliveries whose announced bodies never arrive.
func (l *lanes) stallBodies(n int, address string, bytes int64) {
	for range n {
		req := httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", stalledBody{l.end})
		req.ContentLength, req.RemoteAddr = bytes, address+":1"
		go l.receiver.ServeHTTP(httptest.NewRecorder(), req)
	}
	synctest.Wait()
}

// pushBody sends a valid delivery with a body of the given size and checks its status,
// and whether it had to wait.
func (l *lanes) pushBody(address string, bytes, status int, waits bool) {
	l.t.Helper()
	body := strings.TrimSpace(push)
	if bytes > 0 {
		body = strings.Replace(body, "{", fmt.Sprintf(`{"padding":%q,`, strings.Repeat("x", bytes)), 1)
	}
	req := httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", strings.NewReader(body))
	req.RemoteAddr = address + ":2"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-GitHub-Delivery", "d-1")
	req.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", []byte(body), []byte("s3cret")))
	w := httptest.NewRecorder()
	began := time.Now()
	l.receiver.ServeHTTP(w, req)
	if w.Code != status || status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		l.t.Errorf("push from %s: %d %s, want %d", address, w.Code, w.Body, status)
	}
	if took := time.Since(began); (took > 0) != waits {
		l.t.Errorf("push from %s took %v", address, took)
	}
}

// TestLargeBodiesHoldUpNoSmallOnes fills the memory with large bodies of several senders:
// another large body is rejected with Retry-After, a push is accepted immediately.
func TestLargeBodiesHoldUpNoSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(t, func(o *webhook.Options) { o.MaxInFlightBytes = 50 << 20 })
		l.stallBodies(2, "192.0.2.1", 25<<20)
		l.stallBodies(2, "192.0.2.2", 25<<20)
		l.pushBody("192.0.2.3", 2<<20, http.StatusServiceUnavailable, true)
		l.pushBody("192.0.2.3", 0, http.StatusAccepted, false)
		close(l.end)
		synctest.Wait()
		l.pushBody("192.0.2.3", 2<<20, http.StatusAccepted, false)
	})
}

// TestAddressHasAShare has one address announce more than fits into memory, and another
// send more deliveries than are read concurrently: they delay only themselves.
func TestAddressHasAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(t, nil)
		l.stallBodies(200, "192.0.2.1", 1<<20)
		l.stallBodies(1000, "192.0.2.2", 100)
		l.pushBody("192.0.2.3", 0, http.StatusAccepted, false)
		l.pushBody("192.0.2.2", 0, http.StatusServiceUnavailable, true)
		close(l.end)
		synctest.Wait()
		l.pushBody("192.0.2.2", 0, http.StatusAccepted, false)
	})
}
