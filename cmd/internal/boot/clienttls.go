package boot

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// ClientTLS returns the configuration of connections to another server, with TLS 1.2 or later. Its
// certificate has to be signed by an authority of caFile, or of the system if that is empty.
//
// Unless certFile is empty, the client presents that certificate. Its files are read for each new
// connection, so a renewed one is used without a restart. While the files do not match, as during a
// change, it is the last valid one.
func ClientTLS(caFile, certFile, keyFile string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		var err error
		if config.RootCAs, err = readAuthorities(caFile); err != nil {
			return nil, err
		}
	}
	if certFile == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate of the client: %w", err)
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&pair)
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
			last.Store(&pair)
		}
		return last.Load(), nil
	}
	return config, nil
}

// readAuthorities reads the certificates of authorities from a file in PEM.
func readAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("authorities: %s contains no certificate in PEM", file)
	}
	return pool, nil
}
