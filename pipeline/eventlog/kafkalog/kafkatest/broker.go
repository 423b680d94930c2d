package kafkatest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
)

// startTimeout bounds a start. After a kill the broker waits for its own former
// session to end, about 15 s.
const startTimeout = 60 * time.Second

// Broker is a Kafka broker that belongs to a test.
type Broker struct {
	// Addresses are what clients connect to.
	Addresses []string
	// SASL and TLS are what clients need; nil if the broker lets everybody in.
	SASL *kafkalog.SASL
	TLS  *tls.Config

	t           testing.TB
	java        string
	libs        string
	config      string // path of server.properties
	certificate certificate
	child       *exec.Cmd
	stdin       io.WriteCloser // orders for the child's keeper
	output      string         // path of what the broker prints
}

// Start returns a broker that is ready for clients and lets everybody in. It is
// stopped at the end of the test.
func Start(t testing.TB) *Broker {
	t.Helper()
	return start(t, nil)
}

// StartSecure returns a broker that speaks TLS with a certificate of its own, and
// knows one user, by SCRAM-SHA-256.
func StartSecure(t testing.TB, user, password string) *Broker {
	t.Helper()
	return start(t, &kafkalog.SASL{Mechanism: "scram-sha-256", Username: user, Password: password})
}

// Stop ends the broker as an operator does.
func (b *Broker) Stop() {
	b.t.Helper()
	b.end("stop")
}

// Kill ends the broker as kill -9 does.
func (b *Broker) Kill() {
	b.t.Helper()
	b.end("kill")
}

// Restart starts the broker again, on the same ports with the same data, and
// returns when it is ready for clients. The broker must have been stopped or
// killed.
func (b *Broker) Restart() {
	b.t.Helper()
	b.run()
	b.await()
}

func start(t testing.TB, sasl *kafkalog.SASL) *Broker {
	t.Helper()
	b := &Broker{t: t, SASL: sasl, java: findJava(t), libs: findLibs(t)}
	if sasl != nil {
		b.certificate = newCertificate(t)
		b.TLS = b.certificate.clientConfig()
	}
	dir := t.TempDir()
	b.config, b.output = filepath.Join(dir, "server.properties"), filepath.Join(dir, "output")
	clients, controller := freePort(t), freePort(t)
	b.Addresses = []string{fmt.Sprintf("127.0.0.1:%d", clients)}
	if err := os.WriteFile(b.config, []byte(b.properties(clients, controller)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.format()
	b.run()
	t.Cleanup(func() { b.end("kill") })
	b.await()
	return b
}

// freePort returns a port that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// clusterID is the same for all brokers: each is a cluster of its own.
const clusterID = "cXVhcnJ5LXRlc3QtLS0tLQ"

func (b *Broker) javaArguments(class string, arguments ...string) []string {
	return append([]string{
		"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(b.libs, "*"), class,
	}, arguments...)
}

// format makes the broker's storage, and its user.
func (b *Broker) format() {
	b.t.Helper()
	arguments := []string{"format", "-t", clusterID, "-c", b.config}
	if b.SASL != nil {
		arguments = append(arguments, "--add-scram", fmt.Sprintf("SCRAM-SHA-256=[name=%s,password=%s]", b.SASL.Username, b.SASL.Password))
	}
	out, err := exec.Command(b.java, b.javaArguments("kafka.tools.StorageTool", arguments...)...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("format the broker's storage: %v\n%s", err, out)
	}
}

// keeper runs the broker and waits for an order, or for the end of the test
// process, which closes its standard input.
const keeper = `"$@" </dev/null & p=$!
order=kill; read order
if [ "$order" = stop ]; then kill -TERM $p; else kill -KILL $p; fi
wait $p`

func (b *Broker) run() {
	b.t.Helper()
	// A file and not a buffer: that would take a goroutine, which tests that look
	// for leaks would find.
	output, err := os.Create(b.output)
	if err != nil {
		b.t.Fatal(err)
	}
	defer output.Close()
	b.child = exec.Command("/bin/sh", append([]string{"-c", keeper, "sh", b.java}, b.javaArguments("kafka.Kafka", b.config)...)...)
	b.child.Stdout, b.child.Stderr = output, output
	if b.stdin, err = b.child.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	if err := b.child.Start(); err != nil {
		b.t.Fatalf("start the broker: %v", err)
	}
}

// end gives an order and waits until the broker is gone. A second end does
// nothing.
func (b *Broker) end(order string) {
	b.t.Helper()
	if b.child == nil {
		return
	}
	if _, err := io.WriteString(b.stdin, order+"\n"); err != nil {
		b.t.Errorf("end the broker: %v", err)
	}
	_ = b.stdin.Close()
	// The status is that of a process that got a signal.
	_ = b.child.Wait()
	b.child = nil
}

// await returns when a topic can be made: then the broker is registered with its
// controller, which an open port does not show.
func (b *Broker) await() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = b.probe(ctx); err == nil {
			return
		}
	}
	b.end("kill")
	// Best effort: the error says enough by itself.
	printed, _ := os.ReadFile(b.output)
	b.t.Fatalf("the broker is not ready after %v: %v\n%s", startTimeout, err, printed)
}

func (b *Broker) probe(ctx context.Context) error {
	log, err := kafkalog.Open(ctx, kafkalog.Options{Brokers: b.Addresses, SASL: b.SASL, TLS: b.TLS})
	if err != nil {
		return err
	}
	defer log.Close()
	probe := kafkalog.TopicSpec{Topic: "kafkatest-probe", Partitions: 1}
	if err := log.EnsureTopics(ctx, probe); err != nil {
		return err
	}
	_, err = log.HighWater(ctx, probe.Topic)
	return err
}
