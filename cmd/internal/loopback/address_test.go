package loopback

import (
	"net"
	"testing"
)

// TestFreeAddress listens at free addresses and checks that outgoing connections use other ports.
func TestFreeAddress(t *testing.T) {
	for range 20 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		if port := l.Addr().(*net.TCPAddr).Port; port < firstPort || port >= firstPort+ports {
			t.Errorf("port %d, want one below those of outgoing connections", port)
		}
	}
}
