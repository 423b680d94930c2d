package logdriver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
)

// openKafka connects to the brokers, creates missing topics and checks existing ones.
func openKafka(ctx context.Context, o Options) (eventlog.Log, error) {
	log, err := dialKafka(ctx, o.Config, o.Logger, o.Registerer)
	if err != nil {
		return nil, err
	}
	if err := topics.EnsureKafka(ctx, log, kafkaSpec(o.Config), o.Logger); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// kafkaSpec returns the required properties of the topics.
func kafkaSpec(c *config.Config) topics.Spec {
	return topics.Spec{Partitions: int32(c.Log.Partitions), Replication: c.Log.Kafka.ReplicationFactor,
		AllowDataLoss: c.Log.Kafka.AllowDataLoss}
}

// dialKafka connects to the brokers.
func dialKafka(ctx context.Context, c *config.Config, logger *slog.Logger, reg prometheus.Registerer) (*kafkalog.Log, error) {
	options := kafkalog.Options{
		Brokers: c.Log.Kafka.Brokers, SessionTimeout: c.Log.Kafka.SessionTimeout.Std(), Logger: logger, Metrics: kafkalog.NewMetrics(reg),
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

// instanceName returns the name under which a process rejoins its group after a restart.
// The lock of the data directory ensures that only one process uses the name; a copy of
// the directory on another machine has another name.
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

func tlsOf(c config.KafkaTLS) (*tls.Config, error) {
	if !c.Enabled {
		return nil, nil
	}
	out, err := boot.ClientTLS(c.CAFile, c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("log.kafka.tls: %w", err)
	}
	out.ServerName = c.ServerName
	return out, nil
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
