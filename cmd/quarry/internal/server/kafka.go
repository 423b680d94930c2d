package server

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// defaultPartitions is the number of partitions of a topic that we create: as many
// processes can share the work of workers.
const defaultPartitions = 4

// openKafka connects to the brokers, makes the topics where they are missing and
// checks those that are there.
func openKafka(ctx context.Context, o Options) (eventlog.Log, error) {
	log, err := dialKafka(ctx, o.Config, o.Logger, o.Registerer)
	if err != nil {
		return nil, err
	}
	for _, topic := range topicsOfLog {
		spec := topicSpec(o.Config, topic)
		err := ensureTopic(ctx, log, spec)
		if err == nil {
			err = checkTopic(ctx, log, spec, o)
		}
		if err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return log, nil
}

// dialKafka connects to the brokers.
func dialKafka(ctx context.Context, c *config.Config, logger *slog.Logger, reg prometheus.Registerer) (*kafkalog.Log, error) {
	options := kafkalog.Options{
		Brokers: c.Log.Kafka.Brokers, SessionTimeout: c.Log.Kafka.SessionTimeout.Std(), Logger: logger, Registerer: reg,
	}
	var err error
	if options.Instance, err = instanceName(c.Data); err != nil {
		return nil, err
	}
	if options.TLS, err = tlsOf(c.Log.Kafka.TLS); err != nil {
		return nil, err
	}
	if options.SASL, err = saslOf(c.Log.Kafka.SASL); err != nil {
		return nil, err
	}
	log, err := kafkalog.Open(ctx, options)
	if errors.Is(err, kafkalog.ErrRefused) {
		return nil, fmt.Errorf("%w; see log.kafka.tls and log.kafka.sasl", err)
	}
	return log, err
}

// instanceName returns the name under which a process comes back to its group after
// a restart. The lock of the data directory sees to it that there is one process of
// it; a copy of the directory on another machine has another name.
func instanceName(data string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this machine: %w", err)
	}
	path, err := filepath.Abs(data)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(host + "\x00" + path))
	return "quarry-" + hex.EncodeToString(sum[:8]), nil
}

// topicSpec says how a topic is to be. Partitions is 0 if the configuration
// leaves it to what is there.
func topicSpec(c *config.Config, topic event.Topic) kafkalog.TopicSpec {
	spec := kafkalog.TopicSpec{Topic: topic, Partitions: int32(c.Log.Partitions), Replication: c.Log.Kafka.ReplicationFactor}
	if topic.Single() {
		spec.Partitions = 1
	}
	return spec
}

// ensureTopic creates a topic that is missing, and refuses one with another
// number of partitions than configured.
func ensureTopic(ctx context.Context, log *kafkalog.Log, spec kafkalog.TopicSpec) error {
	if spec.Partitions == 0 {
		_, err := log.Partitions(ctx, spec.Topic)
		if !errors.Is(err, kafkalog.ErrNoTopic) {
			return err
		}
		spec.Partitions = defaultPartitions
	}
	return log.EnsureTopics(ctx, spec)
}

func tlsOf(c config.KafkaTLS) (*tls.Config, error) {
	if !c.Enabled {
		return nil, nil
	}
	out := &tls.Config{ServerName: c.ServerName, MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("log.kafka.tls.caFile: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("log.kafka.tls.caFile: %s holds no certificate in PEM", c.CAFile)
		}
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("log.kafka.tls: %w", err)
		}
		out.GetClientCertificate = reloadCertificate(c, pair)
	}
	return out, nil
}

// reloadCertificate returns what gives each new connection the client's certificate as it
// is in the files then: one that is renewed counts without a restart. While the files do
// not fit together, as in the middle of a change, the last good one counts.
func reloadCertificate(c config.KafkaTLS, good tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	var last atomic.Pointer[tls.Certificate]
	last.Store(&good)
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile); err == nil {
			last.Store(&pair)
		}
		return last.Load(), nil
	}
}

func saslOf(c config.KafkaSASL) (*kafkalog.SASL, error) {
	if c.Mechanism == "" {
		return nil, nil
	}
	password, err := c.Password.Value()
	if err != nil {
		return nil, fmt.Errorf("log.kafka.sasl.password: %w", err)
	}
	return &kafkalog.SASL{Mechanism: c.Mechanism, Username: c.Username, Password: password}, nil
}
