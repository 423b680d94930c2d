package boot

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// writeCertificate writes a certificate for 127.0.0.1 with a serial number n, and its key, as
// files that were changed in n minutes. It expires in n hours.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Duration(serial) * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, now, now.Add(time.Duration(serial)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestCertificate serves with a certificate, which is renewed, and then damaged: the last
// one that could be read stays in use. A client that speaks HTTP learns what to do.
func TestCertificate(t *testing.T) {
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	if _, err := ReadCertificate(certFile, keyFile, discardLogger(), prometheus.NewRegistry()); err == nil || !strings.Contains(err.Error(), "cert.pem") {
		t.Errorf("a certificate without files was read: %v", err)
	}
	first := writeCertificate(t, certFile, keyFile, 1)
	reg, log := prometheus.NewRegistry(), &bytes.Buffer{}
	certificate, err := ReadCertificate(certFile, keyFile, slog.New(slog.NewTextHandler(log, nil)), reg)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	certificate.now = func() time.Time { return now }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	h := NewHTTP(certificate.WrapListener(listener), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }), discardLogger())
	go func() { served <- h.Run(ctx) }()

	ask := func(trusted *x509.Certificate) (serial int64, body string, err error) {
		pool := x509.NewCertPool()
		pool.AddCert(trusted)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
		response, err := client.Get("https://" + address)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = response.Body.Close() }()
		all, err := io.ReadAll(response.Body)
		return response.TLS.PeerCertificates[0].SerialNumber.Int64(), string(all), err
	}
	if serial, body, err := ask(first); err != nil || serial != 1 || body != "HTTP/1.1" {
		t.Errorf("certificate %d, body %q: %v", serial, body, err)
	}
	second := writeCertificate(t, certFile, keyFile, 2)
	if serial, _, err := ask(first); err != nil || serial != 1 {
		t.Errorf("before the files are read again: certificate %d: %v", serial, err)
	}
	now = now.Add(recheckCertificate)
	if serial, _, err := ask(second); err != nil || serial != 2 {
		t.Errorf("after the files are read again: certificate %d: %v", serial, err)
	}
	if err := os.WriteFile(keyFile, []byte("half of a"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(recheckCertificate)
	if serial, _, err := ask(second); err != nil || serial != 2 {
		t.Errorf("after the key was damaged: certificate %d: %v", serial, err)
	}
	if !strings.Contains(log.String(), "certificate renewed") || !strings.Contains(log.String(), "certificate not renewed") || !strings.Contains(log.String(), "key.pem") {
		t.Errorf("the log is %s", log)
	}
	if got := testutil.CollectAndCount(reg, "quarry_server_certificate_expiry_timestamp_seconds"); got != 1 {
		t.Errorf("%d series of the expiry, want 1", got)
	}

	response, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "https://") {
		t.Errorf("a client that speaks HTTP gets %d %q", response.StatusCode, body)
	}
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}
