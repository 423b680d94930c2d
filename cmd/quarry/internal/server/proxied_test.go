package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// With a trusted proxy the client's own address is limited, and recorded.
func TestClientsBehindAProxy(t *testing.T) {
	s := runServer(t, testConfig(t, "access.trustedProxies=127.0.0.1", "limits.anonymousBurst=3", "limits.anonymousPerSecond=1"))
	from := func(client string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api/repos", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", "127.0.0.1, "+client)
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	refused := 0
	for range 20 { // more than a second's worth, however busy the machine is
		if from("198.51.100.7") == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("20 requests at once were all answered")
	}
	if status := from("198.51.100.8"); status != http.StatusOK {
		t.Errorf("another client of the proxy: %d", status)
	}
	waitUntil(t, func() bool {
		_, log := requestStatus(t, "GET", s.URL()+"/api/ee/audit?perPage=100", operator.Token(s.o.Config.Data))
		return strings.Contains(log, `"address":"198.51.100.7"`) && strings.Contains(log, `"address":"198.51.100.8"`) && strings.Contains(log, "request.rate_limited")
	})
}
