package brokers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
)

// ErrUnavailable means that brokers cannot run here, because Java or the jars are
// missing.
var ErrUnavailable = errors.New("no Kafka broker can be run")

// StartTimeout bounds the wait for nodes. After a kill, a broker waits about 15 s for its
// own former session to expire; three brokers on two busy cores have taken 50 s.
const StartTimeout = 150 * time.Second

// Options configures a cluster. Dir is required.
type Options struct {
	// Dir contains the directories of the nodes; it is created.
	Dir string
	// Libs is the directory of the brokers' jars; Find describes the default.
	Libs string
	// Nodes is the number of nodes; default 1.
	Nodes int
	// SASL makes the cluster use TLS with its own certificate and accept this user; nil
	// accepts every client. The mechanism is scram-sha-256.
	SASL *kafkalog.SASL
	// Users are additional users: passwords by name. If there are any, the brokers also
	// accept SCRAM-SHA-512 and PLAIN, the latter only for these users. It requires SASL.
	Users map[string]string
	// MutualTLS adds an address for each node that requires a client certificate
	// (Cluster.MutualAddresses). It requires SASL.
	MutualTLS bool
	// Authorize makes the brokers check access control lists for all users except the one
	// in SASL. Initially there are no lists. It requires SASL.
	Authorize bool
	// Controllers is the number of dedicated controller nodes, as in production clusters.
	// If it is 0, each node is a broker and a controller, and killing one may also kill
	// the active controller.
	Controllers int
	// Properties are lines of server.properties added for every node; they replace lines
	// with the same setting.
	Properties []string
}

// Cluster is a running cluster. Its nodes are numbered from 0, as the brokers number
// themselves.
type Cluster struct {
	// Addresses are the client addresses, one for each node.
	Addresses []string
	// SASL and TLS configure clients; nil if the brokers accept every client.
	SASL *kafkalog.SASL
	TLS  *tls.Config
	// MutualAddresses require TLS with a client certificate.
	MutualAddresses []string
	// CertificateFile is the CA file for clients, in PEM; empty without TLS.
	CertificateFile string

	certificate certificate
	nodes       []*node
	controllers []*node // dedicated controllers, which run as long as the cluster
}

// Find returns the Java program and the directory of the jars: dir if it is set, else
// QUARRY_KAFKA_LIBS, else .cache/kafka/libs next to go.mod in the working directory or a
// parent of it. The error wraps ErrUnavailable if Java or the jars are missing.
func Find(dir string) (java, libs string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("%w: no java in PATH", ErrUnavailable)
	}
	for _, libs := range []string{dir, os.Getenv("QUARRY_KAFKA_LIBS"), filepath.Join(moduleRoot(), ".cache", "kafka", "libs")} {
		if libs == "" {
			continue
		}
		if jars, err := filepath.Glob(filepath.Join(libs, "kafka_*.jar")); err == nil && len(jars) > 0 {
			absolute, err := filepath.Abs(libs)
			return java, absolute, err
		}
	}
	return "", "", fmt.Errorf("%w: no jars; fetch them by make kafka, or name their directory in QUARRY_KAFKA_LIBS", ErrUnavailable)
}

// moduleRoot returns the directory of go.mod, which is the working directory or a parent
// of it; the working directory if there is none.
func moduleRoot() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return "."
}

// Start returns a cluster that is ready for clients. The caller must close it.
func Start(ctx context.Context, o Options) (*Cluster, error) { return start(ctx, o, "") }

// start starts a cluster with a flag of Java about the class archive. If it is empty, the
// cluster uses the archive.
func start(ctx context.Context, o Options, archive string) (*Cluster, error) {
	shape, err := newClusterConfig(o)
	if err != nil {
		return nil, err
	}
	if shape.archive = archive; archive == "" {
		shape.findArchive(ctx)
	}
	c := &Cluster{SASL: o.SASL}
	if o.SASL != nil {
		c.certificate, c.TLS = shape.certificate, shape.certificate.clientConfig()
		if c.CertificateFile, err = shape.certificate.write(o.Dir); err != nil {
			return nil, err
		}
	}
	if err := c.formatNodes(shape, o.Dir); err != nil {
		return nil, err
	}
	for _, n := range c.controllers {
		if err := n.run(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	err = c.Restart(c.allNodes()...)
	if err == nil {
		err = c.Await(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// formatNodes creates the nodes and their storage.
func (c *Cluster) formatNodes(shape *clusterConfig, dir string) error {
	var formatting errgroup.Group
	for i := range shape.clients {
		n, err := newNode(shape, i, filepath.Join(dir, fmt.Sprintf("broker-%d", i)))
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
		c.Addresses = append(c.Addresses, shape.clientAddress(i))
		if len(shape.mutual) > 0 {
			c.MutualAddresses = append(c.MutualAddresses, shape.mutualAddress(i))
		}
		formatting.Go(n.formatStorage)
	}
	if shape.dedicated {
		for i := range shape.controllers {
			number := len(shape.clients) + i
			n, err := newNode(shape, number, filepath.Join(dir, fmt.Sprintf("controller-%d", number)))
			if err != nil {
				return err
			}
			c.controllers = append(c.controllers, n)
			formatting.Go(n.formatStorage)
		}
	}
	return formatting.Wait()
}

// Size is the number of nodes.
func (c *Cluster) Size() int { return len(c.nodes) }

// Running returns the nodes that run, that is, are neither stopped nor killed.
func (c *Cluster) Running() []int {
	return slices.DeleteFunc(c.allNodes(), func(i int) bool { return c.nodes[i].child == nil })
}

func (c *Cluster) allNodes() []int {
	var all []int
	for i := range c.nodes {
		all = append(all, i)
	}
	return all
}

// Kill ends nodes as kill -9 does. It ignores nodes that do not run.
func (c *Cluster) Kill(nodes ...int) error { return c.endNodes("kill", nodes) }

// Stop shuts nodes down as an operator does; nodes that stop together do not wait for
// each other. It ignores nodes that do not run.
func (c *Cluster) Stop(nodes ...int) error { return c.endNodes("stop", nodes) }

// Close kills all nodes.
func (c *Cluster) Close() error {
	err := c.Kill(c.allNodes()...)
	for _, n := range c.controllers {
		err = errors.Join(err, n.endProcess("kill"))
	}
	return err
}

func (c *Cluster) endNodes(order string, nodes []int) error {
	var ending errgroup.Group
	for _, i := range nodes {
		ending.Go(func() error { return c.nodes[i].endProcess(order) })
	}
	return ending.Wait()
}

// Restart starts nodes that were stopped or killed, on the same ports with the same data.
// Use Await to wait until they are back. A majority of the nodes must then run, or none
// becomes ready, so restart nodes together if they are needed together.
func (c *Cluster) Restart(nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].run(); err != nil {
			return err
		}
	}
	return nil
}

// Await returns when each running node lists itself among the live brokers, which an open
// port does not prove; it waits at most StartTimeout.
func (c *Cluster) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	for _, i := range c.Running() {
		for err := c.probeNode(ctx, i); err != nil; err = c.probeNode(ctx, i) {
			if ctx.Err() != nil {
				return fmt.Errorf("broker %d is not ready after %v: %w\n%s", i, StartTimeout, err, c.nodes[i].outputTail())
			}
		}
	}
	return nil
}

func (c *Cluster) probeNode(ctx context.Context, i int) error {
	log, err := c.Open(ctx, i)
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

// Open returns a client of some nodes, to query their state. It waits for them for a
// second.
func (c *Cluster) Open(ctx context.Context, nodes ...int) (*kafkalog.Log, error) {
	var addresses []string
	for _, i := range nodes {
		addresses = append(addresses, c.Addresses[i])
	}
	return kafkalog.Open(ctx, kafkalog.Options{Brokers: addresses, SASL: c.SASL, TLS: c.TLS, ConnectTimeout: time.Second})
}
