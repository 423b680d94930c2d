package loopback

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// The ports of free addresses. From 32768 on, Linux gives them to outgoing connections, and one
// of these would now and then take a port before its server listens.
const (
	firstPort = 10_000
	ports     = 22_000
	attempts  = 100
	// stride is the distance of the first ports of two processes that start one after the
	// other. It has no factor in common with ports.
	stride = 397
)

// tried counts the ports that this process has tried. Each process begins at a port of its
// number and takes one after another: if tests of several packages drew them at random, two would
// now and then draw the same one in the second until its server listens.
var tried atomic.Uint64

// FreeAddress returns a loopback address with an unused port.
func FreeAddress() (string, error) {
	var last error
	for range attempts {
		port := firstPort + (uint64(os.Getpid())*stride+tried.Add(1))%ports
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no free port on loopback after %d attempts: %w", attempts, last)
}
