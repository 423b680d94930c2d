package brokers

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports of nodes are below the ephemeral range. Rejected: letting the system choose.
// While a node is down, its clients dial its port. If the port were in the ephemeral
// range, a client could get it and so connect to itself, and the node could not come
// back.
const (
	firstPort = 12_000
	lastPort  = 31_999
)

// maxPortAttempts bounds the search for ports on a machine with many servers.
const maxPortAttempts = 1000

// freePorts returns ports that were free a moment ago, all different.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range maxPortAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		// Kept open until all are found, so that they differ.
		defer l.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("found %d of %d free ports from %d to %d", len(ports), n, firstPort, lastPort)
}
