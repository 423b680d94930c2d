package boot

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestPeerTLS connects two processes, each with its own certificate, which the other one trusts.
// A file that is renewed is used, and one that is damaged is not.
func TestPeerTLS(t *testing.T) {
	dir, log := t.TempDir(), &bytes.Buffer{}
	file := func(name string) string { return filepath.Join(dir, name) }
	writeCertificate(t, file("a.pem"), file("a.key"), 1)
	writeCertificate(t, file("b.pem"), file("b.key"), 2)
	writeCertificate(t, file("other.pem"), file("other.key"), 3)
	read := func(o PeerTLSOptions) *PeerTLS {
		o.Logger, o.Registerer = slog.New(slog.NewTextHandler(log, nil)), prometheus.NewRegistry()
		p, err := ReadPeerTLS(o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	serve := func(p *PeerTLS) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		h := NewHTTP(p.WrapListener(listener), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }), discardLogger())
		go func() { served <- h.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		return listener.Addr().String()
	}
	ask := func(address string, config *tls.Config) (string, error) {
		scheme := "https://"
		if config == nil {
			scheme = "http://"
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		response, err := client.Get(scheme + address)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	server := read(PeerTLSOptions{CertFile: file("a.pem"), KeyFile: file("a.key"), CAFile: file("b.pem"), ClientCertificates: true})
	client := read(PeerTLSOptions{CertFile: file("b.pem"), KeyFile: file("b.key"), CAFile: file("a.pem")})
	anonymous := read(PeerTLSOptions{CAFile: file("a.pem")})
	stranger := read(PeerTLSOptions{CertFile: file("other.pem"), KeyFile: file("other.key"), CAFile: file("a.pem")})
	address := serve(server)
	if body, err := ask(address, client.ClientConfig("127.0.0.1")); err != nil || body != "hello" {
		t.Errorf("a client with a certificate: %q, %v", body, err)
	}
	for name, x := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"no certificate":    {anonymous.ClientConfig("127.0.0.1"), "certificate required"},
		"another authority": {stranger.ClientConfig("127.0.0.1"), "certificate"},
		"another host":      {client.ClientConfig("127.0.0.2"), "not 127.0.0.2"},
		"another server":    {server.ClientConfig("127.0.0.1"), "failed to verify certificate"},
	} {
		if _, err := ask(address, x.config); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	if body, err := ask(address, nil); err != nil || !strings.Contains(body, "set peerTls.caFile of the caller") {
		t.Errorf("a client without TLS: %q, %v", body, err)
	}
	open := serve(read(PeerTLSOptions{CertFile: file("a.pem"), KeyFile: file("a.key")}))
	if body, err := ask(open, anonymous.ClientConfig("127.0.0.1")); err != nil || body != "hello" {
		t.Errorf("a server that wants no certificates: %q, %v", body, err)
	}
	plain := read(PeerTLSOptions{})
	if body, err := ask(serve(plain), plain.ClientConfig("127.0.0.1")); err != nil || body != "hello" {
		t.Errorf("without files: %q, %v", body, err)
	}

	writeCertificate(t, file("b.pem"), file("b.key"), 4) // the server still trusts the one before
	for _, p := range []*PeerTLS{server, client} {
		now := time.Now().Add(time.Hour)
		p.authorities.now, p.certificate.now = func() time.Time { return now }, func() time.Time { return now }
	}
	if body, err := ask(address, client.ClientConfig("127.0.0.1")); err != nil || body != "hello" {
		t.Errorf("after both have read the renewed files: %q, %v", body, err)
	}
	if err := os.WriteFile(file("b.pem"), []byte("half of a"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * time.Hour)
	server.authorities.now = func() time.Time { return later }
	if body, err := ask(address, client.ClientConfig("127.0.0.1")); err != nil || body != "hello" {
		t.Errorf("after the file was damaged: %q, %v", body, err)
	}
	if !strings.Contains(log.String(), "authorities not renewed") || !strings.Contains(log.String(), "b.pem") {
		t.Errorf("the log is %s", log)
	}
	for _, o := range []PeerTLSOptions{{CAFile: file("b.pem")}, {CAFile: file("none.pem")}, {CertFile: file("none.pem"), KeyFile: file("a.key")}} {
		o.Registerer = prometheus.NewRegistry()
		if _, err := ReadPeerTLS(o); err == nil || !strings.Contains(err.Error(), ".pem") {
			t.Errorf("%+v: %v, want an error that names the file", o, err)
		}
	}
}
