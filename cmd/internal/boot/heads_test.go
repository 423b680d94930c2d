package boot

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestHeadsAreBounded checks that the total size of endless headers is bounded, that
// requests with ordinary headers still succeed, and that closed connections are no longer
// counted.
func TestHeadsAreBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHTTP(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}), discardLogger())
	h.heads.maxBytes, h.server.ReadHeaderTimeout = 1<<20, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()

	head := append([]byte("GET / HTTP/1.1\r\nHost: a\r\nX-A: "), bytes.Repeat([]byte{'a'}, 256<<10)...)
	cut := make(chan struct{}, 16)
	var clients sync.WaitGroup
	var conns []net.Conn
	for range cap(cut) {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		clients.Go(func() {
			// The write may fail: the server closes the connection long before the
			// timeout.
			_, _ = c.Write(head)
			_, _ = c.Read(make([]byte, 1))
			cut <- struct{}{}
		})
	}

	for range cap(cut) - 4 { // there is room for four
		<-cut
	}
	client := &http.Client{Transport: &http.Transport{}}
	body := bytes.Repeat([]byte{'b'}, 3<<20) // bodies are not headers
	for range 2 {                            // over one connection
		response, err := client.Post("http://"+listener.Addr().String(), "", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		if _ = response.Body.Close(); err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(got, body) {
			t.Fatalf("an ordinary request at the same time: %d, %d bytes, %v", response.StatusCode, len(got), err)
		}
	}
	client.CloseIdleConnections()
	for _, c := range conns {
		_ = c.Close()
	}
	clients.Wait()
	cancel()
	<-ended
	if held := h.heads.heldBytes.Load(); held != 0 {
		t.Errorf("%d bytes are counted forever", held)
	}
}
