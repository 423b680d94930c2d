package server

import (
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// writeTestCertificate writes the certificate and the key of package httptest, which are for
// loopback addresses, and returns a client that trusts it.
func writeTestCertificate(t *testing.T) (certFile, keyFile string, client *http.Client) {
	t.Helper()
	source := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(source.Close)
	pair := source.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, source.Client()
}

// TestHTTPS serves pages and the API with a certificate. Cookies and links are those of an
// https server, and the operators' listener on loopback speaks HTTP.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, client := writeTestCertificate(t)
	s := runServer(t, testConfig(t, "tls.certFile="+certFile, "tls.keyFile="+keyFile))
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") || s.publicURL() != s.URL() {
		t.Errorf("the server is at %s and calls itself %s", s.URL(), s.publicURL())
	}
	for _, path := range []string{"/healthz", "/", "/api/version"} {
		response, err := client.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("GET %s: %d with %v", path, response.StatusCode, response.Header)
		}
	}
	if status, _, body := requestWith(t, strings.Replace(s.URL(), "https", "http", 1)+"/"); status != http.StatusBadRequest || !strings.Contains(body, "https://") {
		t.Errorf("a client that speaks HTTP gets %d %q", status, body)
	}
	if status, _, body := requestWith(t, s.MetricsURL()+"/metrics"); status != http.StatusOK || !strings.Contains(body, "quarry_server_certificate_expiry_timestamp_seconds ") {
		t.Errorf("GET /metrics: %d without the time at which the certificate expires", status)
	}
	c := testConfig(t, "tls.certFile="+certFile, "tls.keyFile="+certFile)
	if _, err := Open(t.Context(), Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Version: "test"}); err == nil || !strings.Contains(err.Error(), "tls.keyFile") {
		t.Errorf("a server with a certificate for a key starts: %v", err)
	}
}
