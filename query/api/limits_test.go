package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// newLimitedServer returns a server whose clock the test controls.
func newLimitedServer(t *testing.T, l front.Limits) (*world, *api.Server, *time.Time, *prometheus.Registry) {
	w, now, reg := closedWorld(), day, prometheus.NewRegistry()
	o := w.serverOptions()
	o.Limits, o.Registerer, o.Now = l, reg, func() time.Time { return now }
	return w, newServer(t, o), &now, reg
}

func TestRateLimits(t *testing.T) {
	w, s, now, reg := newLimitedServer(t, front.Limits{PerSecond: 10, Burst: 4, AnonymousPerSecond: 1, AnonymousBurst: 2})
	for credential, burst := range map[string]int{"": 2, "searcher": 4, "member": 4, "token": 4} {
		for i := range burst {
			rec := sendRequest(s, "GET", "/api/repos", "", credential)
			if rec.Code != 200 || rec.Header().Get("RateLimit-Limit") != strconv.Itoa(burst) || rec.Header().Get("RateLimit-Remaining") != strconv.Itoa(burst-1-i) ||
				rec.Header().Get("RateLimit-Reset") == "" {
				t.Errorf("%q, request %d: %d %v", credential, i, rec.Code, rec.Header())
			}
		}
		rec := sendRequest(s, "GET", "/api/repos", "", credential)
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "1" || rec.Header().Get("RateLimit-Remaining") != "0" || !strings.Contains(rec.Body.String(), "RATE_LIMITED") {
			t.Errorf("%q beyond the burst: %d %v %s", credential, rec.Code, rec.Header(), rec.Body)
		}
		if got, _ := w.audit.lastRecord(); got.Action != audit.RateLimited || got.Status != 429 {
			t.Errorf("%q: record %+v", credential, got)
		}
	}
	for range 20 {
		if rec := sendRequest(s, "GET", "/api/repos", "", "operator"); rec.Code != 200 || rec.Header().Get("RateLimit-Limit") != "" {
			t.Fatalf("a request of the operator: %d with %v, want 200 without a limit", rec.Code, rec.Header())
		}
		for _, path := range []string{"/healthz", "/readyz", "/api/health", "/api/version"} {
			if rec := sendRequest(s, "GET", path, "", ""); rec.Code != 200 {
				t.Fatalf("GET %s of a caller beyond the rate limit: %d, want 200", path, rec.Code)
			}
		}
	}
	*now = now.Add(time.Second)
	if rec := sendRequest(s, "GET", "/api/repos", "", ""); rec.Code != 200 {
		t.Errorf("a second later: %d, want 200", rec.Code)
	}
	const want = `
# HELP quarry_api_limited_requests_total Requests answered 429, by limit.
# TYPE quarry_api_limited_requests_total counter
quarry_api_limited_requests_total{limit="rate"} 4
quarry_api_limited_requests_total{limit="streams"} 0
# HELP quarry_api_limited_callers API keys, users and addresses with a tracked request rate; the least recently used are evicted.
# TYPE quarry_api_limited_callers gauge
quarry_api_limited_callers 4
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "quarry_api_limited_requests_total", "quarry_api_limited_callers"); err != nil {
		t.Error(err)
	}
}

// TestLimitsOfAddresses checks that each address is limited separately, for IPv6 the
// client's network, and that attempts with credentials have a lower limit than other
// requests.
func TestLimitsOfAddresses(t *testing.T) {
	_, s, now, _ := newLimitedServer(t, front.Limits{AnonymousPerSecond: 1, AnonymousBurst: 10})
	from := func(address, credential string) int {
		r := httptest.NewRequest(http.MethodGet, "/api/repos", nil)
		r.RemoteAddr = address
		if credential != "" {
			r.Header.Set("Authorization", "Bearer "+credential)
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec.Code
	}
	count := func(status int, credential string, addresses ...string) (n int) {
		for i := range 20 {
			if from(addresses[i%len(addresses)], credential) == status {
				n++
			}
		}
		return n
	}
	if n := count(200, "", "192.0.2.7:1", "192.0.2.7:2"); n != 10 {
		t.Errorf("%d of one address, want 10", n)
	}
	if n := count(200, "", "192.0.2.8:1", "192.0.2.9:1"); n != 20 {
		t.Errorf("%d of two addresses, want 20", n)
	}
	if n := count(200, "", "[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ffff:1]:1"); n != 10 {
		t.Errorf("%d of one network, want 10", n)
	}
	if n := count(401, "wrong", "198.51.100.1:1"); n != 2 {
		t.Errorf("%d refused credentials before the first 429, want 2", n)
	}
	*now = now.Add(time.Hour)
	if n := count(200, "searcher", "192.0.2.7:1"); n != 20 {
		t.Errorf("%d requests with a key of an address that asks a lot, want 20", n)
	}
}

// holding is a searcher whose streams run until the client leaves.
type holding struct{ *world }

func (h holding) Stream(ctx context.Context, _ corpus.View, _ search.Request, emit search.Emit) (*search.Result, error) {
	if err := emit(h.filesOf("boil")[:1], search.Stats{Matches: 1}); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStreamsOfOneCaller checks that one caller cannot occupy all streams.
func TestStreamsOfOneCaller(t *testing.T) {
	w := closedWorld()
	o := without429(w.serverOptions())
	o.Searcher, o.Limits.Streams = holding{w}, 2
	server := httptest.NewServer(newServer(t, o))
	defer server.Close()
	open := func(credential string) (int, func()) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/stream_search", strings.NewReader(`{"query":"x","matches":1}`))
		r.Header.Set("Authorization", "Bearer "+credential)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, func() { _ = response.Body.Close() }
	}
	for _, c := range []struct {
		credential string
		want       int
	}{{"searcher", 200}, {"searcher", 200}, {"searcher", 429}, {"token", 200}, {"operator", 200}, {"operator", 200}, {"operator", 200}} {
		status, closeIt := open(c.credential)
		defer closeIt()
		if status != c.want {
			t.Errorf("%s: %d, want %d", c.credential, status, c.want)
		}
	}
}

// TestReconfigure checks that limits that change while the server runs apply from the
// next request on.
func TestReconfigure(t *testing.T) {
	_, s, _, _ := newLimitedServer(t, front.Limits{PerSecond: 10, Burst: 1})
	passed := func() (n int) {
		for sendRequest(s, "GET", "/api/repos", "", "member").Code == 200 && n < 10 {
			n++
		}
		return n
	}
	if n := passed(); n != 1 {
		t.Fatalf("%d requests passed, want 1", n)
	}
	s.Reconfigure(front.Limits{PerSecond: 10, Burst: 4}, false, nil)
	if n := passed(); n != 3 {
		t.Errorf("%d further requests passed, want 3", n)
	}
	s.Reconfigure(front.Limits{PerSecond: -1, Burst: 4}, false, nil)
	if n := passed(); n != 10 {
		t.Errorf("%d requests passed without a limit, want all", n)
	}
}
