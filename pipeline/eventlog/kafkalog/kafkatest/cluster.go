package kafkatest

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/event"
	"golang.org/x/sync/errgroup"
)

// startTimeout bounds a start. After a kill a broker waits for its own former
// session to end, about 15 s; three on two busy cores were seen to take 50 s.
const startTimeout = 150 * time.Second

// Cluster is some Kafka brokers that belong to a test. Its nodes are numbered
// from 0, as the brokers number themselves.
type Cluster struct {
	// Addresses are what clients connect to, one for each node.
	Addresses []string
	// SASL and TLS are what clients need; nil if the brokers let everybody in.
	SASL *kafkalog.SASL
	TLS  *tls.Config
	// CertificateFile holds, in PEM, the authority that clients need to trust;
	// empty without TLS.
	CertificateFile string

	t     testing.TB
	nodes []*node
}

// StartCluster returns a cluster of n nodes that is ready for clients and lets
// everybody in. It is stopped at the end of the test.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	return start(t, n, nil)
}

// StartSecureCluster returns a cluster that speaks TLS with a certificate of its
// own, and knows one user, by SCRAM-SHA-256.
func StartSecureCluster(t testing.TB, n int, user, password string) *Cluster {
	t.Helper()
	return start(t, n, &kafkalog.SASL{Mechanism: "scram-sha-256", Username: user, Password: password})
}

func start(t testing.TB, n int, sasl *kafkalog.SASL) *Cluster {
	t.Helper()
	c := &Cluster{t: t, SASL: sasl}
	shape := newShape(t, n, sasl)
	if sasl != nil {
		c.TLS = shape.certificate.clientConfig()
		c.CertificateFile = shape.certificate.write(t)
	}
	for i := range n {
		c.nodes = append(c.nodes, newNode(t, shape, i))
		c.Addresses = append(c.Addresses, shape.clientAddress(i))
	}
	var formatting errgroup.Group
	for _, node := range c.nodes {
		formatting.Go(node.format)
	}
	if err := formatting.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.end("kill", c.running()) })
	c.Restart(c.all()...)
	return c
}

// Stop ends nodes as an operator does; those that stop together do not wait for
// each other.
func (c *Cluster) Stop(nodes ...int) {
	c.t.Helper()
	c.end("stop", nodes)
}

// Kill ends nodes as kill -9 does.
func (c *Cluster) Kill(nodes ...int) {
	c.t.Helper()
	c.end("kill", nodes)
}

// Restart starts nodes that were stopped or killed, on the same ports with the
// same data, and returns when each is ready for clients. A majority of the nodes
// must run then, or none becomes ready: restart those that are needed together.
func (c *Cluster) Restart(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		if err := c.nodes[i].run(); err != nil {
			c.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, i := range nodes {
		if err := c.await(ctx, i); err != nil {
			c.t.Fatalf("broker %d is not ready after %v: %v\n%s", i, startTimeout, err, c.nodes[i].printed())
		}
	}
}

// Running reports whether a node is started, that is neither stopped nor killed.
func (c *Cluster) Running(node int) bool { return c.nodes[node].child != nil }

// Leader returns the node that leads a partition. It waits for one while there
// is none.
func (c *Cluster) Leader(topic event.Topic, partition int32) int {
	c.t.Helper()
	leader := -1
	c.awaitLayout(topic, fmt.Sprintf("partition %d has no leader that runs", partition), func(layout []kafkalog.PartitionLayout) bool {
		leader = int(layout[partition].Leader)
		return layout[partition].Leader != kafkalog.NoBroker && c.Running(leader)
	})
	return leader
}

// AwaitInSync returns when every node that runs has a complete copy of each
// partition of the topic. It is for topics with a copy on each node.
func (c *Cluster) AwaitInSync(topic event.Topic) {
	c.t.Helper()
	c.awaitLayout(topic, "not every copy is complete", func(layout []kafkalog.PartitionLayout) bool {
		return !slices.ContainsFunc(layout, func(p kafkalog.PartitionLayout) bool {
			return p.Leader == kafkalog.NoBroker || fmt.Sprint(p.InSync) != fmt.Sprint(c.running())
		})
	})
}

// awaitLayout asks for the layout of a topic until it is as wanted.
func (c *Cluster) awaitLayout(topic event.Topic, otherwise string, wanted func([]kafkalog.PartitionLayout) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		layout, err := c.layout(ctx, topic)
		if err == nil && wanted(layout) {
			return
		}
		if ctx.Err() != nil {
			c.t.Fatalf("topic %s after %v: %s: %+v, %v", topic, startTimeout, otherwise, layout, err)
		}
	}
}

// layout asks through a client of its own: one that is kept answers from what it
// knew.
func (c *Cluster) layout(ctx context.Context, topic event.Topic) ([]kafkalog.PartitionLayout, error) {
	log, err := c.open(ctx, c.running())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return log.Layout(ctx, topic)
}

func (c *Cluster) all() []int {
	var all []int
	for i := range c.nodes {
		all = append(all, i)
	}
	return all
}

func (c *Cluster) running() []int {
	return slices.DeleteFunc(c.all(), func(i int) bool { return !c.Running(i) })
}

func (c *Cluster) end(order string, nodes []int) {
	c.t.Helper()
	var ending errgroup.Group
	for _, i := range nodes {
		ending.Go(func() error { return c.nodes[i].end(order) })
	}
	if err := ending.Wait(); err != nil {
		c.t.Error(err)
	}
}

// await returns when node i lists itself among the brokers that are alive, which
// an open port does not show.
func (c *Cluster) await(ctx context.Context, i int) error {
	for {
		err := c.probe(ctx, i)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (c *Cluster) probe(ctx context.Context, i int) error {
	log, err := c.open(ctx, []int{i})
	if err != nil {
		return err
	}
	defer log.Close()
	alive, err := log.Brokers(ctx)
	if err == nil && !slices.Contains(alive, int32(i)) {
		return fmt.Errorf("it lists %v as alive", alive)
	}
	return err
}

// open returns a client of some nodes.
func (c *Cluster) open(ctx context.Context, nodes []int) (*kafkalog.Log, error) {
	var addresses []string
	for _, i := range nodes {
		addresses = append(addresses, c.Addresses[i])
	}
	return kafkalog.Open(ctx, kafkalog.Options{Brokers: addresses, SASL: c.SASL, TLS: c.TLS, ConnectTimeout: time.Second})
}
