package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestClientsBehindAProxy checks that behind a trusted proxy the server limits and
// records the address of the client.
func TestClientsBehindAProxy(t *testing.T) {
	t.Parallel()
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
	for range 20 { // more than the limit of one second, however busy the machine is
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

// TestWebhooksByAddress sends deliveries of Gerrit without a secret: what a client writes into
// headers counts only behind a trusted proxy, and then the part that the proxy has added.
func TestWebhooksByAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, proxies, forwarded string
		want                     int
	}{
		{"the peer alone", "", "", http.StatusUnauthorized},
		{"a forged header", "", "192.0.2.9", http.StatusUnauthorized},
		{"a proxy that is not trusted", "198.51.100.0/24", "192.0.2.9", http.StatusUnauthorized},
		{"the client of a trusted proxy", "127.0.0.1", "192.0.2.9", http.StatusOK},
		{"another client of a trusted proxy", "127.0.0.1", "192.0.3.9", http.StatusUnauthorized},
		{"a header that a client of the proxy forged", "127.0.0.1", "192.0.2.9, 192.0.3.9", http.StatusUnauthorized},
	} {
		settings := []string{"listen=127.0.0.1:0"}
		if test.proxies != "" {
			settings = append(settings, "access.trustedProxies="+test.proxies)
		}
		c := testConfig(t, settings...)
		c.Connections = []config.Connection{{Name: "review", Kind: code.Gerrit, URL: "https://review.example.org", Addresses: []string{"192.0.2.0/24"}}}
		s := runServer(t, c)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/webhooks/gerrit/review", strings.NewReader(`{"type":"change-merged"}`))
		if err != nil {
			t.Fatal(err)
		}
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // its status is enough
		if response.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", test.name, response.StatusCode, test.want)
		}
	}
}
