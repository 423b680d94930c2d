package boot

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientTLS replaces the files of a client's certificate while the configuration is in use,
// leaves a partial file, and replaces them again. The server asks for the certificate each time.
func TestClientTLS(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	writeCertificate(t, file("server.pem"), file("server.key"), 9)
	pair, err := tls.LoadX509KeyPair(file("server.pem"), file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	writeCertificate(t, file("client.pem"), file("client.key"), 1)
	config, err := ClientTLS(file("server.pem"), file("client.pem"), file("client.key"))
	if err != nil {
		t.Fatal(err)
	}
	presents := func(want int64) {
		t.Helper()
		go func() {
			if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
				client := config.Clone()
				client.ServerName = "127.0.0.1"
				if err := errors.Join(tls.Client(conn, client).Handshake(), conn.Close()); err != nil {
					t.Error(err)
				}
			}
		}()
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		server := conn.(*tls.Conn)
		if err := server.Handshake(); err != nil {
			t.Fatal(err)
		}
		if got := server.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("the client presents certificate %d, want %d", got, want)
		}
	}
	presents(1)
	writeCertificate(t, file("client.pem"), file("client.key"), 2)
	presents(2)
	if err := os.Truncate(file("client.key"), 10); err != nil {
		t.Fatal(err)
	}
	presents(2)
	writeCertificate(t, file("client.pem"), file("client.key"), 3)
	presents(3)

	for files, want := range map[[3]string]string{
		{file("none"), "", ""}:                                       "authorities: open",
		{file("server.key"), "", ""}:                                 "contains no certificate in PEM",
		{"", file("none"), file("client.key")}:                       "certificate of the client: open",
		{file("server.pem"), file("client.pem"), file("server.key")}: "private key does not match",
	} {
		if _, err := ClientTLS(files[0], files[1], files[2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", files, err, want)
		}
	}
}
