package kafkatest

import (
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
)

// Broker is a cluster with one node.
type Broker struct{ *Cluster }

// Start returns a broker that is ready and accepts every client. It is stopped at the end
// of the test.
func Start(t testing.TB) *Broker {
	t.Helper()
	return &Broker{StartCluster(t, 1)}
}

// StartSecure returns a broker that uses TLS with its own certificate and accepts
// one user, by SCRAM-SHA-256.
func StartSecure(t testing.TB, user, password string) *Broker {
	t.Helper()
	return &Broker{StartWith(t, brokers.Options{SASL: &kafkalog.SASL{Mechanism: "scram-sha-256", Username: user, Password: password}})}
}

// Kill ends the broker as kill -9 does.
func (b *Broker) Kill() {
	b.t.Helper()
	b.Cluster.Kill(0)
}

// Restart starts the broker again, on the same ports with the same data, and
// returns when it is ready for clients. The broker must have been stopped or
// killed.
func (b *Broker) Restart() {
	b.t.Helper()
	b.Cluster.Restart(0)
}
