package boot

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// recheckCertificate is the time after which a handshake looks for a new certificate.
const recheckCertificate = time.Minute

// Certificate is the certificate of a listener, in two PEM files that are read again after
// they have changed. It is safe for concurrent use.
type Certificate struct {
	renewed[*tls.Certificate]
	use certificateUse
	log *slog.Logger
}

// certificateUse is what a certificate is for: its name in errors, the metric of its expiry, and
// the answer to a client that speaks HTTP.
type certificateUse struct{ name, metric, setting, plainHTTP string }

var (
	mainCertificate = certificateUse{"the main listener", "quarry_server_certificate_expiry_timestamp_seconds", "tls.certFile",
		"This server speaks HTTPS: write https:// instead of http://."}
	peerCertificate = certificateUse{"connections between processes", "quarry_server_peer_certificate_expiry_timestamp_seconds", "peerTls.certFile",
		"This address speaks TLS: set peerTls.caFile of the caller."}
)

// ReadCertificate reads the certificate of the main listener with its intermediate ones, and its
// key. The error names a file that cannot be read, or that does not fit the other one.
func ReadCertificate(certFile, keyFile string, log *slog.Logger, reg prometheus.Registerer) (*Certificate, error) {
	return readCertificate(mainCertificate, certFile, keyFile, log, reg)
}

func readCertificate(use certificateUse, certFile, keyFile string, log *slog.Logger, reg prometheus.Registerer) (*Certificate, error) {
	name := "certificate of " + use.name
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("%s, %s and %s: %w", name, certFile, keyFile, err)
		}
		return &pair, nil
	}
	files := []string{certFile, keyFile}
	c := &Certificate{renewed: renewed[*tls.Certificate]{name: name, files: files, read: read, now: time.Now}, use: use, log: log}
	if _, err := c.readFiles(); err != nil {
		return nil, err
	}
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: use.metric,
		Help: "Time at which the certificate of " + use.name + " expires; no series without " + use.setting + ".",
	}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(c.mu.value.Leaf.NotAfter.Unix())
	})
	return c, nil
}

// get returns the certificate for a handshake. It keeps the last one if the files cannot be read.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, isNew, err := c.current()
	switch {
	case err != nil:
		c.log.Error("certificate not renewed: the one before stays in use", "error", err)
	case isNew:
		c.log.Info("certificate renewed", "expires", certificate.Leaf.NotAfter)
	}
	return certificate, nil
}

// WrapListener returns a listener whose connections speak TLS 1.2 or later. A client that
// speaks HTTP gets status 400 with the reason.
func (c *Certificate) WrapListener(l net.Listener) net.Listener {
	return tlsListener{l, &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, c.use.plainHTTP}
}

type tlsListener struct {
	net.Listener
	config    *tls.Config
	plainHTTP string
}

// Accept implements net.Listener. The handshake is part of the first read.
func (l tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tlsConn{tls.Server(c, l.config), l.plainHTTP}, nil
}

// tlsConn is not a tls.Conn, so that net/http reads from it under its bound for headers
// and does not speak HTTP/2, which the bounds of this package do not cover.
type tlsConn struct {
	*tls.Conn
	plainHTTP string
}

// Read implements net.Conn.
func (c tlsConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	var malformed tls.RecordHeaderError
	if errors.As(err, &malformed) && malformed.Conn != nil {
		const head = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
		_, _ = malformed.Conn.Write([]byte(head + c.plainHTTP + "\n")) // the connection is closed next
	}
	return n, err
}
