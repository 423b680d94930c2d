package kafkalog_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/event"
)

var leaderDeaths = flag.Int("leader-deaths", 0, "kill the leader this often with Kafka's defaults and with the recommended settings, and report the times")

// Broker settings that determine how long a partition has no leader.
var (
	kafkaDefaults = []string{"broker.session.timeout.ms=9000", "broker.heartbeat.interval.ms=2000"}
	recommended   = []string{"broker.session.timeout.ms=1500", "broker.heartbeat.interval.ms=250"}
)

// hookBound is how long a webhook waits for the log: ingest.appendTimeout.
const hookBound = 8 * time.Second

// TestLeaderDeaths measures how long appends wait when the leader of their partition is
// killed.
func TestLeaderDeaths(t *testing.T) {
	if *leaderDeaths == 0 {
		t.Skip("kills the leader many times, only with -leader-deaths")
	}
	for _, settings := range []struct {
		name        string
		controllers int // 0 means that each broker is a controller
		properties  []string
	}{{"KafkaDefaults", 0, kafkaDefaults}, {"Recommended", 0, recommended}, {"RecommendedWithController", 1, recommended}} {
		t.Run(settings.name, func(t *testing.T) {
			c := kafkatest.StartClusterWithControllers(t, 3, settings.controllers, settings.properties...)
			d := &deaths{cluster: c, log: mustOpen(t, kafkalog.Options{Brokers: c.Addresses})}
			if err := d.log.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: deathTopic, Partitions: 3, Replication: 3}); err != nil {
				t.Fatal(err)
			}
			for range *leaderDeaths {
				c.AwaitInSync(deathTopic)
				d.killLeader(t)
			}
			d.logRecovery(t)
		})
	}
}

const deathTopic = event.Topic("deaths")

// deaths collects the results of the webhooks.
type deaths struct {
	cluster   *kafkatest.Cluster
	log       *kafkalog.Log
	recovered []time.Duration // from each kill to the acknowledgement of an append that began after it
	mu        struct {
		sync.Mutex
		appends []time.Duration
		refused int
	}
}

// killLeader kills the leader of partition 0 while webhooks append to every partition,
// and restarts it once its partition accepts records.
func (d *deaths) killLeader(t *testing.T) {
	leader := d.cluster.Leader(deathTopic, 0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hooks sync.WaitGroup
	defer hooks.Wait()
	d.appendOnce(t.Context(), 0)
	for partition := range int32(3) {
		hooks.Go(func() { d.appendUntil(ctx, &hooks, partition) })
	}
	d.cluster.Kill(leader)
	began := time.Now()
	for {
		if err := d.appendOnce(t.Context(), 0); err == nil {
			break
		}
	}
	d.recovered = append(d.recovered, time.Since(began))
	t.Logf("death %d: leader %d, recovered in %v", len(d.recovered), leader, time.Since(began).Round(time.Millisecond))
	stop()
	d.cluster.Restart(leader)
}

// appendUntil starts an append every hundred milliseconds, whether or not the previous
// ones have been answered.
func (d *deaths) appendUntil(ctx context.Context, hooks *sync.WaitGroup, partition int32) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			hooks.Go(func() { _ = d.appendOnce(context.WithoutCancel(ctx), partition) }) // errors are counted
		}
	}
}

func (d *deaths) appendOnce(ctx context.Context, partition int32) error {
	ctx, cancel := context.WithTimeout(ctx, hookBound)
	defer cancel()
	began := time.Now()
	_, err := d.log.Append(ctx, deathTopic, partition, event.Record{Key: fmt.Append(nil, partition), Value: []byte("push")})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.mu.refused++
		return err
	}
	d.mu.appends = append(d.mu.appends, time.Since(began))
	return nil
}

func (d *deaths) logRecovery(t *testing.T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.recovered)
	slices.Sort(d.mu.appends)
	t.Logf("%d deaths: partition takes records after p50 %v, p99 %v; %d appends, slowest %v, %d refused", len(d.recovered),
		quantile(d.recovered, 0.5), quantile(d.recovered, 0.99), len(d.mu.appends), d.mu.appends[len(d.mu.appends)-1].Round(time.Millisecond), d.mu.refused)
}

// quantile returns a quantile of sorted durations; with few of them, the highest
// quantiles are the slowest.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Millisecond)
}
