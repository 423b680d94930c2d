package hostapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// failingHost answers with statuses, one after the other, then 200.
type failingHost struct {
	statuses []int
	requests int
}

func (h *failingHost) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if h.requests < len(h.statuses) {
		status = h.statuses[h.requests]
	}
	h.requests++
	header := http.Header{"Content-Type": {"application/json"}}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "7")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, nil
}

// TestRetries shows which requests are sent again, and after which pauses: growing and
// random ones after a failure, the one that the host names after a limit.
func TestRetries(t *testing.T) {
	const failed, limited = http.StatusBadGateway, http.StatusTooManyRequests
	for _, c := range []struct {
		name, method string
		statuses     []int
		requests     int
		code         Code // empty: it succeeds
		pauses       []time.Duration
	}{
		{"a host that comes back", http.MethodGet, []int{failed, failed, failed}, 4, "", []time.Duration{minBackoff, 2 * minBackoff, 4 * minBackoff}},
		{"a host that stays down", http.MethodGet, slices.Repeat([]int{failed}, 9), DefaultAttempts, HostFailed, []time.Duration{minBackoff, 2 * minBackoff, 4 * minBackoff}},
		{"what may have been done is not repeated", http.MethodPost, []int{failed}, 1, HostFailed, nil},
		{"what was refused for a limit is", http.MethodPost, []int{limited}, 2, "", []time.Duration{7 * time.Second}},
		{"a token that is wrong stays wrong", http.MethodGet, []int{http.StatusUnauthorized}, 1, Unauthorized, nil},
	} {
		host, now, slept := &failingHost{statuses: c.statuses}, time.Unix(1_800_000_000, 0), []time.Duration(nil)
		transport := NewTransport(Options{
			Base: host, Now: func() time.Time { return now },
			Sleep: func(_ context.Context, d time.Duration) error {
				now, slept = now.Add(d), append(slept, d)
				return nil
			},
		})
		request, err := http.NewRequestWithContext(t.Context(), c.method, "https://git.example.org/api", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close() // it is in memory
		}
		var code Code
		if e, ok := errors.AsType[*Error](err); ok {
			code = e.Code
		}
		if code != c.code || (err == nil) != (c.code == "") || host.requests != c.requests || len(slept) != len(c.pauses) {
			t.Errorf("%s: %d requests, pauses %v, %v; want %d and %q", c.name, host.requests, slept, err, c.requests, c.code)
			continue
		}
		for i, most := range c.pauses {
			if least := most / 2; slept[i] < least || slept[i] > most+time.Second {
				t.Errorf("%s: pause %d is %v, want %v to %v", c.name, i+1, slept[i], least, most)
			}
		}
	}
	seen := map[time.Duration]bool{}
	for range 50 {
		seen[drawBackoff(3)] = true
	}
	if len(seen) < 2 {
		t.Error("pauses are not random: clients that fail together come back together")
	}
}
