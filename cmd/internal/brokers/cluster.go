package brokers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrUnavailable says that brokers cannot run here: no Java, or no jars.
var ErrUnavailable = errors.New("no Kafka broker can be run")

// startTimeout bounds the wait for a cluster. After a kill the controller waits
// for the broker's former session to end.
const startTimeout = 90 * time.Second

// clusterID is the same for all clusters: their ports keep them apart.
const clusterID = "cXVhcnJ5LXRlc3QtLS0tLQ"

// Cluster is one broker, or several.
type Cluster struct {
	// Addresses are what clients connect to, one for each broker.
	Addresses []string

	dir     string
	java    string
	libs    string
	brokers []*broker
}

// Libs returns the directory of the jars: dir if it is given, else
// QUARRY_KAFKA_LIBS, else .cache/kafka/libs below the working directory. The
// error wraps ErrUnavailable if Java or the jars are missing.
func Libs(dir string) (java, libs string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("%w: no java in PATH", ErrUnavailable)
	}
	for _, libs := range []string{dir, os.Getenv("QUARRY_KAFKA_LIBS"), filepath.Join(".cache", "kafka", "libs")} {
		if libs == "" {
			continue
		}
		jars, err := filepath.Glob(filepath.Join(libs, "kafka_*.jar"))
		if err == nil && len(jars) > 0 {
			absolute, err := filepath.Abs(libs)
			return java, absolute, err
		}
	}
	return "", "", fmt.Errorf("%w: no jars; fetch them by make kafka, or name their directory in QUARRY_KAFKA_LIBS", ErrUnavailable)
}

// Start starts n brokers with their data below dir, which is made, and returns
// when they take topics. The caller calls Close.
func Start(ctx context.Context, dir, libs string, n int) (_ *Cluster, err error) {
	c := &Cluster{dir: dir}
	if c.java, c.libs, err = Libs(libs); err != nil {
		return nil, err
	}
	if err := c.plan(n); err != nil {
		return nil, err
	}
	for _, b := range c.brokers {
		if err := c.format(ctx, b); err != nil {
			return nil, err
		}
	}
	for _, b := range c.brokers {
		if err := c.run(b); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if err := c.Await(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// plan gives every broker its ports and writes its properties.
func (c *Cluster) plan(n int) error {
	var voters []string
	for id := 1; id <= n; id++ {
		b := &broker{id: id, dir: filepath.Join(c.dir, fmt.Sprintf("broker-%d", id))}
		for _, port := range []*int{&b.clients, &b.controller} {
			var err error
			if *port, err = freePort(); err != nil {
				return err
			}
		}
		c.brokers = append(c.brokers, b)
		c.Addresses = append(c.Addresses, fmt.Sprintf("127.0.0.1:%d", b.clients))
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", id, b.controller))
	}
	for _, b := range c.brokers {
		if err := os.MkdirAll(b.dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(b.config(), []byte(b.properties(n, strings.Join(voters, ","))), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Size is the number of brokers.
func (c *Cluster) Size() int { return len(c.brokers) }

// Kill ends broker i, from 0, as kill -9 does; Stop as an operator does. A broker
// that does not run is left alone.
func (c *Cluster) Kill(i int) error { return c.brokers[i].end("kill") }

// Stop is described with Kill.
func (c *Cluster) Stop(i int) error { return c.brokers[i].end("stop") }

// Restart starts broker i again, on its ports with its data. Await says when it
// is back.
func (c *Cluster) Restart(i int) error { return c.run(c.brokers[i]) }

// Close ends all brokers at once.
func (c *Cluster) Close() error {
	var all []error
	for _, b := range c.brokers {
		all = append(all, b.end("kill"))
	}
	return errors.Join(all...)
}

// Await returns when every broker that runs answers, and the cluster takes
// records with as many copies as it has brokers.
func (c *Cluster) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d brokers are not ready after %v: %w\n%s", len(c.brokers), startTimeout, err, c.brokers[0].lastWords())
		case <-tick.C:
		}
	}
}

// probe asks each broker by itself, and has a topic made of which each has a copy.
func (c *Cluster) probe(ctx context.Context) error {
	for i := range c.brokers {
		if err := c.probeAt(ctx, c.Addresses[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) probeAt(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	log, err := kafkalog.Open(ctx, kafkalog.Options{Brokers: []string{address}, ConnectTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	err = c.probeTopic(ctx, log)
	return errors.Join(err, log.Close())
}

func (c *Cluster) probeTopic(ctx context.Context, log *kafkalog.Log) error {
	probe := kafkalog.TopicSpec{Topic: "brokers-probe", Partitions: 1, Replication: len(c.brokers)}
	if err := log.EnsureTopics(ctx, probe); err != nil {
		return err
	}
	_, err := log.Append(ctx, probe.Topic, 0, event.Record{Key: []byte("probe"), Value: []byte("1")})
	return err
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
