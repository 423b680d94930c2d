package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Cluster is a Kafka cluster that belongs to a test.
type Cluster struct {
	*brokers.Cluster
	t testing.TB
}

// StartCluster returns a cluster of n nodes that is ready and accepts every client. It is
// stopped at the end of the test. Properties are lines of server.properties that add to
// or replace the defaults for tests.
func StartCluster(t testing.TB, n int, properties ...string) *Cluster {
	t.Helper()
	return start(t, brokers.Options{Nodes: n, Properties: properties})
}

// StartWith returns a cluster with these options, in a directory of the test.
func StartWith(t testing.TB, o brokers.Options) *Cluster {
	t.Helper()
	return start(t, o)
}

// StartClusterWithControllers works like StartCluster, with dedicated controllers.
func StartClusterWithControllers(t testing.TB, n, controllers int, properties ...string) *Cluster {
	t.Helper()
	return start(t, brokers.Options{Nodes: n, Controllers: controllers, Properties: properties})
}

// start starts brokers until the test ends, or skips it with -short.
func start(t testing.TB, o brokers.Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts brokers")
	}
	o.Dir = t.TempDir()
	started, err := brokers.Start(context.Background(), o)
	if errors.Is(err, brokers.ErrUnavailable) && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{started, t}
	t.Cleanup(func() { c.must(started.Close()) })
	return c
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Stop shuts nodes down as an operator does; nodes that stop together do not wait for
// each other.
func (c *Cluster) Stop(nodes ...int) {
	c.t.Helper()
	c.must(c.Cluster.Stop(nodes...))
}

// Kill ends nodes as kill -9 does.
func (c *Cluster) Kill(nodes ...int) {
	c.t.Helper()
	c.must(c.Cluster.Kill(nodes...))
}

// Restart starts nodes that were stopped or killed, on the same ports with the same data,
// and returns when all running nodes are ready for clients. A majority of the nodes must
// then run, or none becomes ready, so restart nodes together if they are needed together.
func (c *Cluster) Restart(nodes ...int) {
	c.t.Helper()
	c.must(c.Cluster.Restart(nodes...))
	c.must(c.Await(context.Background()))
}

// Clear deletes all groups and all topics, so that the next test finds the cluster as new,
// on brokers that are warm. It waits until the members of groups have left or expired.
func (c *Cluster) Clear() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), brokers.StartTimeout)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(c.Addresses...), Transport: &kafka.Transport{Context: ctx}}
	listed, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	c.must(err)
	for _, group := range listed.Groups {
		for err = kafka.NonEmptyGroup; errors.Is(err, kafka.NonEmptyGroup); {
			var deleted *kafka.DeleteGroupsResponse
			if deleted, err = client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group.GroupID}}); err == nil {
				err = deleted.Errors[group.GroupID]
			}
			if errors.Is(err, kafka.NonEmptyGroup) {
				c.must(clock.Sleep(ctx, 100*time.Millisecond))
			}
		}
		c.must(err)
	}
	state, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	c.must(err)
	var topics []string
	for _, topic := range state.Topics {
		if !topic.Internal {
			topics = append(topics, topic.Name)
		}
	}
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: topics})
	c.must(err)
	for _, err := range deleted.Errors {
		if !errors.Is(err, kafka.UnknownTopicOrPartition) { // a broker may still name a deleted topic
			c.must(err)
		}
	}
}

// Running reports whether a node runs, that is, is neither stopped nor killed.
func (c *Cluster) Running(node int) bool { return slices.Contains(c.Cluster.Running(), node) }

// Leader returns the node that leads a partition. If there is none, it waits for one.
func (c *Cluster) Leader(topic event.Topic, partition int32) int {
	c.t.Helper()
	leader := -1
	c.awaitLayout(topic, fmt.Sprintf("partition %d has no leader that runs", partition), func(layout []kafkalog.PartitionLayout) bool {
		leader = int(layout[partition].Leader)
		return layout[partition].Leader != kafkalog.NoBroker && c.Running(leader)
	})
	return leader
}

// AwaitInSync returns when every running node has a complete replica of each partition of
// the topic. It is for topics with a replica on each node.
func (c *Cluster) AwaitInSync(topic event.Topic) {
	c.t.Helper()
	c.awaitLayout(topic, "not every copy is complete", func(layout []kafkalog.PartitionLayout) bool {
		return !slices.ContainsFunc(layout, func(p kafkalog.PartitionLayout) bool {
			return p.Leader == kafkalog.NoBroker || fmt.Sprint(p.InSync) != fmt.Sprint(c.Cluster.Running())
		})
	})
}

// awaitLayout polls the layout of a topic until wanted returns true.
func (c *Cluster) awaitLayout(topic event.Topic, otherwise string, wanted func([]kafkalog.PartitionLayout) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), brokers.StartTimeout)
	defer cancel()
	for {
		layout, err := c.askLayout(ctx, topic)
		if err == nil && wanted(layout) {
			return
		}
		if ctx.Err() != nil {
			c.t.Fatalf("topic %s after %v: %s: %+v, %v", topic, brokers.StartTimeout, otherwise, layout, err)
		}
	}
}

// askLayout uses a new client, because an existing one would answer from its cache.
func (c *Cluster) askLayout(ctx context.Context, topic event.Topic) ([]kafkalog.PartitionLayout, error) {
	log, err := c.Open(ctx, c.Cluster.Running()...)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return log.Layout(ctx, topic)
}
