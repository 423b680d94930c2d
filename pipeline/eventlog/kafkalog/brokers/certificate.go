package brokers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// certificate is a self-signed certificate for 127.0.0.1, in PEM.
type certificate struct{ chain, key string }

func newCertificate() (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "quarry brokers"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		// The broker also connects to itself as a client.
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate{}, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, err
	}
	return certificate{
		chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
	}, nil
}

// clientConfig returns a configuration that trusts only this certificate.
func (c certificate) clientConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(c.chain))
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// write writes the CA file for clients and returns its path.
func (c certificate) write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "authority.pem")
	return path, os.WriteFile(path, []byte(c.chain), 0o600)
}

// brokerProperties returns the settings that make a broker use and trust the certificate.
func (c certificate) brokerProperties() []string {
	// Values in a properties file are on one line; Java reads \n as a line feed.
	line := strings.NewReplacer("\n", `\n`)
	return []string{
		"ssl.keystore.type=PEM",
		"ssl.keystore.certificate.chain=" + line.Replace(c.chain),
		"ssl.keystore.key=" + line.Replace(c.key),
		"ssl.truststore.type=PEM",
		"ssl.truststore.certificates=" + line.Replace(c.chain),
	}
}

// ClientCertificate returns a client certificate that the brokers trust until the given
// time, and its key, in PEM. The brokers know the client as User:CN=name.
func (c *Cluster) ClientCertificate(name string, until time.Time) (chain, key []byte, err error) {
	authority, err := tls.X509KeyPair([]byte(c.certificate.chain), []byte(c.certificate.key))
	if err != nil {
		return nil, nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, &own.PublicKey, authority.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}
