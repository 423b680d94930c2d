package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// TestStreamEndsWithItsCredential checks that a stream that outlives its credential sends
// nothing more, and does not look complete.
func TestStreamEndsWithItsCredential(t *testing.T) {
	w := closedWorld()
	s := newServer(t, w.serverOptions())
	deleted := make(chan struct{})
	handler := s.Front().OwnersOnly("/stream", audit.ReadOperations, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(out, "before")
		_ = http.NewResponseController(out).Flush()
		<-deleted
		if _, err := fmt.Fprintln(out, "after"); err == nil {
			t.Error("a write after the deletion succeeds")
		}
		if r.Context().Err() == nil {
			t.Error("the stream's context goes on")
		}
	}))
	server := httptest.NewServer(handler)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer owner")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read to its end
	begun := make([]byte, len("before\n"))
	if _, err := io.ReadFull(response.Body, begun); err != nil {
		t.Fatal(err)
	}
	w.gate.err = auth.ErrUnauthenticated
	close(deleted)
	rest, err := io.ReadAll(response.Body)
	if err == nil || strings.Contains(string(rest), "after") {
		t.Errorf("after the deletion: %q, %v", rest, err)
	}
}
