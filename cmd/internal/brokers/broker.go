package brokers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// broker is one process of a cluster.
type broker struct {
	id                  int
	dir                 string
	clients, controller int // ports
	child               *exec.Cmd
	stdin               io.WriteCloser // orders for the child's keeper
}

func (b *broker) config() string { return filepath.Join(b.dir, "server.properties") }
func (b *broker) output() string { return filepath.Join(b.dir, "output") }

// heap is that of one broker; the smallest machine has to hold three.
const heap = "-Xmx512m"

func (c *Cluster) arguments(class string, arguments ...string) []string {
	return append([]string{heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(c.libs, "*"), class}, arguments...)
}

// format makes the broker's storage.
func (c *Cluster) format(ctx context.Context, b *broker) error {
	out, err := exec.CommandContext(ctx, c.java, c.arguments("kafka.tools.StorageTool", "format", "-t", clusterID, "-c", b.config())...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the storage of broker %d: %w: %.500s", b.id, err, out)
	}
	return nil
}

// keeper runs the broker and waits for an order, or for the end of this process,
// which closes its standard input.
const keeper = `"$@" </dev/null & p=$!
order=kill; read order
if [ "$order" = stop ]; then kill -TERM $p; else kill -KILL $p; fi
wait $p`

func (c *Cluster) run(b *broker) error {
	output, err := os.OpenFile(b.output(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	b.child = exec.Command("/bin/sh", append([]string{"-c", keeper, "sh", c.java}, c.arguments("kafka.Kafka", b.config())...)...)
	b.child.Stdout, b.child.Stderr = output, output
	// A group of its own: an interrupt of this program must not end the broker
	// before what uses it has ended.
	b.child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if b.stdin, err = b.child.StdinPipe(); err != nil {
		return err
	}
	if err := b.child.Start(); err != nil {
		return fmt.Errorf("start broker %d: %w", b.id, err)
	}
	return nil
}

// end gives an order and waits until the broker is gone.
func (b *broker) end(order string) error {
	if b.child == nil {
		return nil
	}
	_, err := io.WriteString(b.stdin, order+"\n")
	_ = b.stdin.Close()
	_ = b.child.Wait() // the status is that of a process that got a signal
	b.child = nil
	if err != nil {
		return fmt.Errorf("end broker %d: %w", b.id, err)
	}
	return nil
}

// lastWords is the end of what the broker printed.
func (b *broker) lastWords() string {
	printed, _ := os.ReadFile(b.output()) // best effort: it only explains an error
	return string(printed[max(0, len(printed)-2000):])
}

// properties of one of n brokers, each of which is a controller as well.
func (b *broker) properties(n int, voters string) string {
	acknowledged := 1
	if n >= 3 {
		acknowledged = n - 1
	}
	return strings.Join([]string{
		"process.roles=broker,controller",
		fmt.Sprintf("node.id=%d", b.id),
		"controller.quorum.voters=" + voters,
		fmt.Sprintf("listeners=CLIENTS://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", b.clients, b.controller),
		fmt.Sprintf("advertised.listeners=CLIENTS://127.0.0.1:%d", b.clients),
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT",
		"inter.broker.listener.name=CLIENTS",
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(b.dir, "data"),
		"auto.create.topics.enable=false",
		fmt.Sprintf("default.replication.factor=%d", n),
		fmt.Sprintf("min.insync.replicas=%d", acknowledged),
		fmt.Sprintf("offsets.topic.replication.factor=%d", n),
		"offsets.topic.num.partitions=3",
		fmt.Sprintf("transaction.state.log.replication.factor=%d", n),
		fmt.Sprintf("transaction.state.log.min.isr=%d", acknowledged),
		fmt.Sprintf("share.coordinator.state.topic.replication.factor=%d", n),
		fmt.Sprintf("share.coordinator.state.topic.min.isr=%d", acknowledged),
		"unclean.leader.election.enable=false",
		"group.initial.rebalance.delay.ms=0",
		"broker.session.timeout.ms=6000",
		"broker.heartbeat.interval.ms=1000",
	}, "\n") + "\n"
}
