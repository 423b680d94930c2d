package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// TestReleaseBefore rolls a cluster from the program of an earlier commit to this one, in the order
// of docs/upgrade.md. CI does not build other commits: `make rolling` does.
func TestReleaseBefore(t *testing.T) {
	t.Parallel()
	before := os.Getenv("QUARRY_BEFORE_BINARY")
	if before == "" {
		t.Skip("QUARRY_BEFORE_BINARY does not name the program of an earlier commit: run make rolling")
	}
	runOnOneBroker(t, []brokerTest{{"rolling upgrade", func(t *testing.T, broker *kafkatest.Broker) { rollCluster(t, broker, before) }}})
}

// rollCluster starts all processes with the program of before, and replaces them one after another
// under searches, each of which must be answered as before. After each step a push is searched for
// from its position on. Answers of fronts of both releases are compared with those of processes that
// hold everything and are of the same release, with shards of both releases.
func rollCluster(t *testing.T, broker *kafkatest.Broker, before string) {
	c := &shardCluster{shares: []string{"0/2", "0/2", "1/2", "1/2"}}
	c.replicas = startReplicasOf(t, before, broker, "query.maxLag=10s")
	c.startShards()
	m := &moving{shardCluster: c, t: t}
	m.at.Store(c.front)
	stopSearches := m.searchAlways()
	m.pushAndSearch("before")

	c.program = "quarry"
	wholes := c.queries
	must(t, wholes[1].stop())
	wholes[1] = c.startNode("query-1", "query")
	early := c.startFront("front-early")
	t.Run("new front and old shards", func(t *testing.T) { c.withNodes(wholes[1], early).compareAnswers(t) })
	must(t, early.stop())

	for _, i := range []int{0, 2, 1, 3} {
		must(t, c.shards[i].stop())
		m.pushAndSearch(fmt.Sprint("stopped", i))
		if i == 3 { // it begins with nothing
			must(t, os.RemoveAll(c.shards[i].data))
		}
		c.shards[i] = c.startShard(i)
		c.awaitReplicas(t, c.shares[i], 2)
		m.pushAndSearch(fmt.Sprint("started", i))
		if i == 2 {
			t.Run("old front and mixed replicas", c.compareAnswers)
		}
	}
	t.Run("old front and new shards", func(t *testing.T) {
		c.compareAnswers(t)
		c.checkPrivate(t)
	})
	m.goTo(c.startFront("front-next"))
	must(t, wholes[0].stop())
	c.whole = wholes[1]
	m.pushAndSearch("front")
	must(t, c.pipeline.stop())
	c.pipeline = c.startNode("pipeline", "pipeline")
	m.pushAndSearch("pipeline")
	must(t, c.ingest.stop())
	c.ingest = c.startNode("ingest", "ingest")
	m.pushAndSearch("ingest")
	stopSearches()
	t.Run("new processes", c.compareAnswers)
}

// withNodes returns the cluster with another process that holds everything, and another front.
func (c *shardCluster) withNodes(whole, front *server) *shardCluster {
	other := *c
	other.whole, other.front = whole, front
	return &other
}
