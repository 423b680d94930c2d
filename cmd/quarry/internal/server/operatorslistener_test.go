package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// operatorsPaths are the paths that only the operators' listener serves.
var operatorsPaths = []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/heap?debug=1"}

// requestWith returns the status, the headers and the body of a GET request with headers.
// The header Host sets the host of the request.
func requestWith(t *testing.T, url string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// TestOperatorsListener checks that metrics and pprof are served on a listener of their
// own without any setting, and not on the main one.
func TestOperatorsListener(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "runtime.pprof=true"))
	for _, path := range operatorsPaths {
		if status, _, body := requestWith(t, s.MetricsURL()+path); status != http.StatusOK {
			t.Errorf("GET %s on the operators' listener: %d %.200s, want 200", path, status, body)
		}
		if status, _, body := requestWith(t, s.URL()+path); status != http.StatusNotFound {
			t.Errorf("GET %s on the main listener: %d %.200s, want 404", path, status, body)
		}
	}
	for _, path := range []string{"/api/repos", "/api/version", "/admin/events", "/healthz", "/", "/webhooks/github/x"} {
		if status, _, body := requestWith(t, s.MetricsURL()+path); status != http.StatusNotFound {
			t.Errorf("GET %s on the operators' listener: %d %.200s, want 404", path, status, body)
		}
	}
}

func TestMetricsOnTheirOwnListener(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "metricsListen=127.0.0.1:0", "runtime.pprof=true"))
	own := "http://" + s.listeners.metrics.Addr().String()
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if status, _ := getURL(t, own+path); status != 200 {
			t.Errorf("GET %s on the operators' listener: %d, want 200", path, status)
		}
		if status, _ := getURL(t, s.URL()+path); status != 404 {
			t.Errorf("GET %s on the main listener: %d, want 404", path, status)
		}
	}
}

// TestPprofIsOff checks that no listener serves pprof without runtime.pprof.
func TestPprofIsOff(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	for _, url := range []string{s.URL(), s.MetricsURL()} {
		for _, path := range operatorsPaths[1:] {
			if status, _, _ := requestWith(t, url+path); status != http.StatusNotFound {
				t.Errorf("GET %s%s: %d, want 404", url, path, status)
			}
		}
	}
}

// TestOperatorsListenerChecksHosts checks that a page whose name resolves to this machine
// (DNS rebinding) reads nothing of the operators' listener.
func TestOperatorsListenerChecksHosts(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "runtime.pprof=true", "access.hosts=prometheus.example", "publicUrl=https://code.example"))
	own := runServer(t, testConfig(t, "runtime.pprof=true", "metricsListen=main", "access.hosts=prometheus.example", "publicUrl=https://code.example"))
	for host, want := range map[string]int{
		"evil.example": 421, "evil.example:7071": 421, "127.0.0.1.evil.example": 421, "x.code.example": 421,
		"localhost:7071": 200, "127.0.0.1": 200, "[::1]:7071": 200, "quarry:7071": 200, "prometheus.example": 200, "code.example:7071": 200,
	} {
		for _, path := range append([]string{"/readyz"}, operatorsPaths...) {
			if status, _, body := requestWith(t, s.MetricsURL()+path, "Host", host); status != want || want == 421 && !strings.Contains(body, "MISDIRECTED_REQUEST") {
				t.Errorf("GET %s of %s: %d %.200s, want %d", path, host, status, body, want)
			}
		}
		for _, path := range operatorsPaths {
			if status, _, body := requestWith(t, own.URL()+path, "Host", host); status != want {
				t.Errorf("GET %s of %s on the main listener: %d %.200s, want %d", path, host, status, body, want)
			}
		}
	}
}

// TestMetricsToken checks that with metricsToken, nothing is served without it, on either
// listener.
func TestMetricsToken(t *testing.T) {
	t.Parallel()
	const token = "of-prometheus-0123456789"
	for _, listen := range []string{"auto", "127.0.0.1:0", "main"} {
		s := runServer(t, testConfig(t, "runtime.pprof=true", "metricsToken="+token, "metricsListen="+listen))
		for _, path := range operatorsPaths {
			for credential, want := range map[string]int{
				"": 401, "Bearer ": 401, "Bearer " + token + "0": 401, "Bearer " + token[1:]: 401, "Basic " + token: 401, token: 401, "Bearer " + token: 200,
			} {
				status, header, body := requestWith(t, s.MetricsURL()+path, "Authorization", credential)
				if status != want || (want == 401) != strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") || strings.Contains(body, token) {
					t.Errorf("metricsListen %s: GET %s with %q: %d %v %.200s, want %d", listen, path, credential, status, header, body, want)
				}
			}
		}
		if listen == "main" {
			continue
		}
		for credential, want := range map[string]int{"": 401, "Bearer " + token: 200} {
			if status, _, body := requestWith(t, s.MetricsURL()+"/readyz", "Authorization", credential); status != want {
				t.Errorf("metricsListen %s: GET /readyz with %q: %d %s, want %d", listen, credential, status, body, want)
			}
		}
	}
}

// TestMetricsOnTheMainListener checks metricsListen=main: the main listener serves what
// the operators' listener would, except the details of readiness.
func TestMetricsOnTheMainListener(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "metricsListen=main", "runtime.pprof=true"))
	if s.MetricsURL() != s.URL() {
		t.Errorf("metrics at %s, want %s", s.MetricsURL(), s.URL())
	}
	for _, path := range operatorsPaths {
		if status, _, body := requestWith(t, s.URL()+path); status != http.StatusOK {
			t.Errorf("GET %s: %d %.200s, want 200", path, status, body)
		}
	}
}

// TestNoMetrics checks metricsListen=none: nothing serves metrics.
func TestNoMetrics(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "metricsListen=none", "runtime.pprof=true"))
	if s.MetricsURL() != "" {
		t.Errorf("metrics at %s, want nowhere", s.MetricsURL())
	}
	for _, path := range operatorsPaths {
		if status, _, _ := requestWith(t, s.URL()+path); status != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", path, status)
		}
	}
}

// TestReadinessOnEachListener checks a server that is not ready: the main listener
// answers with the status alone, the operators' listener with the reason.
func TestReadinessOnEachListener(t *testing.T) {
	t.Parallel()
	s := openOnly(t, testConfig(t))
	main, operators, err := s.newHandlers()
	if err != nil {
		t.Fatal(err)
	}
	reason := s.checkReady(t.Context())
	if reason == nil {
		t.Fatal("a server that has not run is ready")
	}
	const status = `{"statusCode":503,"errorCode":"NOT_READY","message":"not ready"}`
	for _, credential := range []string{"", "Bearer " + "wrong"} {
		if code, body := recordRequest(main, "/readyz", credential); code != 503 || strings.TrimSpace(body) != status {
			t.Errorf("GET /readyz on the main listener: %d %s, want 503 %s", code, body, status)
		}
	}
	if code, body := recordRequest(operators, "/readyz", ""); code != 503 || !strings.Contains(body, strconv.Quote("not ready: "+reason.Error())) {
		t.Errorf("GET /readyz on the operators' listener: %d %s, want 503 with %q", code, body, reason)
	}
}

// listenNext listens on a loopback port and on the port after it.
func listenNext(t *testing.T) (first, next net.Listener) {
	t.Helper()
	for {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first.Addr().(*net.TCPAddr).Port+1))
		if err == nil {
			return first, next
		}
		_ = first.Close()
	}
}

// TestMetricsAddress checks the address of the operators' listener: without the setting,
// it is the port after that of listen. If that port is taken, the server starts, and logs
// which setting to change. An address that the operator has set must be free.
func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	main, next := listenNext(t)
	address, taken := main.Addr().String(), next.Addr().String()
	_, _ = main.Close(), next.Close()
	s := open(t, testConfig(t, "listen="+address), prometheus.NewRegistry(), prometheus.NewRegistry())
	if s.MetricsURL() != "http://"+taken {
		t.Errorf("metrics of a server on %s: %s, want http://%s", address, s.MetricsURL(), taken)
	}

	main, next = listenNext(t)
	address, taken = main.Addr().String(), next.Addr().String()
	_ = main.Close()
	t.Cleanup(func() { _ = next.Close() })
	var log bytes.Buffer
	second, err := Open(t.Context(), Options{
		Config: testConfig(t, "listen="+address), Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatalf("Open next to a taken port: %v", err)
	}
	closeAtEnd(t, second)
	if second.MetricsURL() != "" || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "metricsListen") || !strings.Contains(log.String(), taken) {
		t.Errorf("metrics at %q with %s taken, and the log:\n%s", second.MetricsURL(), taken, log.String())
	}
	_, err = Open(t.Context(), Options{
		Config: testConfig(t, "metricsListen="+taken), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry(),
	})
	if err == nil || !strings.Contains(err.Error(), "metricsListen") || !strings.Contains(err.Error(), taken) {
		t.Errorf("Open with metricsListen at a taken address = %v, want advice", err)
	}
}

// recordRequest returns the status and body of the answer of a handler.
func recordRequest(h http.Handler, path, credential string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	if credential != "" {
		r.Header.Set("Authorization", credential)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}
