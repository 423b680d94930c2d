package logdriver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// writeCertificate writes a certificate of a new CA, and its key.
func writeCertificate(t *testing.T, c config.KafkaTLS, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
	}{{c.CertFile, "CERTIFICATE", der}, {c.KeyFile, "PRIVATE KEY", pkcs8}} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenewedCertificateCountsWithoutRestart replaces the files of a client's certificate
// while the configuration is in use, and then leaves a partial file.
func TestRenewedCertificateCountsWithoutRestart(t *testing.T) {
	dir := t.TempDir()
	c := config.KafkaTLS{Enabled: true, CertFile: filepath.Join(dir, "client.pem"), KeyFile: filepath.Join(dir, "client.key")}
	writeCertificate(t, c, "first")
	tlsConfig, err := tlsOf(c)
	if err != nil {
		t.Fatal(err)
	}
	presents := func(want string) {
		t.Helper()
		pair, err := tlsConfig.GetClientCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if pair.Leaf.Subject.CommonName != want {
			t.Errorf("the client presents %q, want %q", pair.Leaf.Subject.CommonName, want)
		}
	}
	presents("first")
	writeCertificate(t, c, "second")
	presents("second")
	if err := os.Truncate(c.KeyFile, 10); err != nil {
		t.Fatal(err)
	}
	presents("second")
	writeCertificate(t, c, "third")
	presents("third")
}
