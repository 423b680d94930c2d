package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports of free addresses. From 32768 on, Linux gives them to outgoing connections, and one
// of these would now and then take a port before its server listens.
const (
	firstPort = 10_000
	ports     = 22_000
	attempts  = 100
)

// FreeAddress returns a loopback address with an unused port.
func FreeAddress() (string, error) {
	var last error
	for range attempts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no free port on loopback after %d attempts: %w", attempts, last)
}
