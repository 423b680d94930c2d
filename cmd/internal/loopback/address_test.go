package loopback

import (
	"net"
	"testing"
)

// TestFreeAddress checks that addresses differ until servers listen at them, and that outgoing
// connections use other ports.
func TestFreeAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatalf("%s was given away before", address)
		}
		seen[address] = true
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
