package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/code"
)

// refusedRequests are requests that a server refuses, by the reason.
var refusedRequests = []struct {
	name, method, path, host, body string
	header                         [2]string
	status                         int
}{
	{"webhook of an unknown connection", "POST", "/webhooks/github/nosuch", "localhost", "{}", [2]string{}, 404},
	{"webhook with a wrong signature", "POST", "/webhooks/github/hub", "localhost", `{"ref":"refs/heads/main"}`, [2]string{"X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64)}, 401},
	{"body that is too large", "POST", "/api/search", "localhost", `{"query":"` + strings.Repeat("x", 3<<20) + `"}`, [2]string{}, 413},
	{"unknown session", "GET", "/api/repos", "localhost", "", [2]string{"Cookie", "quarry_session=" + strings.Repeat("A", 43)}, 401},
	{"wrong API key", "GET", "/api/repos", "localhost", "", [2]string{"Authorization", "Bearer qk_" + strings.Repeat("0", 64)}, 401},
	{"invalid query", "POST", "/api/search", "localhost", `{"query":"regex:(","matches":1}`, [2]string{}, 400},
	{"host that is not allowed", "GET", "/api/repos", "attacker.example", "", [2]string{}, 421},
	{"search over the rate limit", "POST", "/api/search", "localhost", `{"query":"x","matches":1}`, [2]string{}, 429},
}

// BenchmarkRefusals measures what the server does for requests that it refuses. docs/network.md
// states the results.
func BenchmarkRefusals(b *testing.B) {
	c := testConfig(b, "limits.anonymousPerSecond=0")
	c.Connections = []config.Connection{{Name: "hub", Kind: code.GitHub, Secrets: []config.Secret{config.NewSecret("s3cret")}}}
	s := runServer(b, c)
	limited := s.apiOptions
	limited.Registerer = prometheus.NewRegistry()
	limited.Limits = front.Limits{PerSecond: 1, Burst: 1, AnonymousPerSecond: 1, AnonymousBurst: 1}
	slow, err := api.New(limited)
	if err != nil {
		b.Fatal(err)
	}
	main, _, err := s.newHandlers()
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range refusedRequests {
		b.Run(q.name, func(b *testing.B) {
			to := main
			if q.status == http.StatusTooManyRequests {
				to = slow
			}
			send := func() int {
				r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
				r.Host = q.host
				r.Header.Set("Content-Type", "application/json")
				if q.header[0] != "" {
					r.Header.Set(q.header[0], q.header[1])
				}
				w := httptest.NewRecorder()
				to.ServeHTTP(w, r)
				return w.Code
			}
			send() // takes the one request that the limit allows
			b.ReportAllocs()
			for b.Loop() {
				// One request in a second is within the limit.
				if status := send(); status != q.status && q.status != http.StatusTooManyRequests {
					b.Fatalf("%s %s: %d, want %d", q.method, q.path, status, q.status)
				}
			}
		})
	}
}
