package boot

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PeerTLS encrypts the connections between processes. Its files are read again after they have
// changed. It is safe for concurrent use.
type PeerTLS struct {
	certificate       *Certificate // nil without one
	authorities       *authorities // nil without a file
	clientCertificate bool
}

// PeerTLSOptions are the files of a PeerTLS. Each may be empty.
type PeerTLSOptions struct {
	CertFile, KeyFile string
	// CAFile has the authorities of the certificates of other processes.
	CAFile string
	// ClientCertificates makes listeners refuse callers without a certificate of CAFile.
	ClientCertificates bool
	Logger             *slog.Logger
	Registerer         prometheus.Registerer
}

// ReadPeerTLS reads the files. The error names one that cannot be read.
func ReadPeerTLS(o PeerTLSOptions) (p *PeerTLS, err error) {
	p = &PeerTLS{clientCertificate: o.ClientCertificates}
	if o.CertFile != "" {
		if p.certificate, err = readCertificate(peerCertificate, o.CertFile, o.KeyFile, o.Logger, o.Registerer); err != nil {
			return nil, err
		}
	}
	if o.CAFile != "" {
		p.authorities = &authorities{renewed[*x509.CertPool]{name: "authorities of other processes", files: []string{o.CAFile}, now: time.Now}, o.Logger}
		p.authorities.read = func() (*x509.CertPool, error) { return readAuthorities(o.CAFile) }
		if _, err := p.authorities.readFiles(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// WrapListener returns a listener whose connections speak TLS 1.3, or the listener itself without a
// certificate.
func (p *PeerTLS) WrapListener(l net.Listener) net.Listener {
	if p.certificate == nil {
		return l
	}
	config := &tls.Config{GetCertificate: p.certificate.get, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}}
	if p.clientCertificate {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			current := config.Clone()
			current.GetConfigForClient, current.ClientCAs = nil, p.authorities.get()
			return current, nil
		}
	}
	return tlsListener{l, config, peerCertificate.plainHTTP}
}

// ClientConfig returns the configuration of a connection to a host, or nil without authorities.
func (p *PeerTLS) ClientConfig(host string) *tls.Config {
	if p.authorities == nil {
		return nil
	}
	config := &tls.Config{ServerName: host, RootCAs: p.authorities.get(), MinVersion: tls.VersionTLS13}
	if p.certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return p.certificate.get(nil) }
	}
	return config
}

// authorities are those of a PEM file.
type authorities struct {
	renewed[*x509.CertPool]
	log *slog.Logger
}

// get returns the authorities for a handshake. It keeps the last ones if the file cannot be read.
func (a *authorities) get() *x509.CertPool {
	pool, _, err := a.current()
	if err != nil {
		a.log.Error("authorities not renewed: the ones before stay in use", "error", err)
	}
	return pool
}
