package logdriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/datadir"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/logcopy"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/schemas/event"
)

// CopyOptions are the options of Copy.
type CopyOptions struct {
	From, To *config.Config
	Logger   *slog.Logger
	Groups   []logcopy.Group
	DryRun   bool
	Progress func(logcopy.Progress)
}

// Copy copies the log of one configuration to that of another one. It locks the data
// directory of an embedded log, whose server must be stopped. With DryRun it only
// compares the logs.
func Copy(ctx context.Context, o CopyOptions) (partitions []logcopy.Partition, err error) {
	if err := checkOtherDirectory(o); err != nil {
		return nil, err
	}
	from, closeFrom, err := openSource(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer func() { err = errors.Join(err, closeFrom()) }()
	to, missing, closeTo, err := openTarget(ctx, o, from, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeTo()) }()
	return logcopy.Copy(ctx, from, to, logcopy.Options{Topics: topics.All, Groups: o.Groups, Missing: missing, DryRun: o.DryRun, Progress: o.Progress})
}

// Repartition copies a log to that of another configuration, with the events in another one,
// which has the number of partitions of the target. The target is checked before write
// writes the events, and holds nothing until write has returned.
func Repartition(ctx context.Context, o CopyOptions, from eventlog.Log, events eventlog.Log, write func() error) (partitions []logcopy.Partition, err error) {
	if err := checkOtherDirectory(o); err != nil {
		return nil, err
	}
	to, _, closeTo, err := openTarget(ctx, o, from, events)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeTo()) }()
	if err := write(); err != nil || o.DryRun {
		return nil, err
	}
	partitions, err = logcopy.Copy(ctx, events, to, logcopy.Options{
		Topics: []event.Topic{event.TopicEvents, event.TopicDeadLetters}, Groups: o.Groups, Progress: o.Progress,
	})
	if err != nil {
		return partitions, err
	}
	rest, err := logcopy.Copy(ctx, from, to, logcopy.Options{Topics: []event.Topic{event.TopicAccounts, event.TopicAudit}, Progress: o.Progress})
	return append(partitions, rest...), err
}

func checkOtherDirectory(o CopyOptions) error {
	if o.From.Log.Driver == "embedded" && o.To.Log.Driver == "embedded" && o.From.LogDir() == o.To.LogDir() {
		return errSameLog
	}
	return nil
}

// errSameLog prevents that a log is taken for a copy of itself, and deleted.
var errSameLog = errors.New("both configurations name the same log")

// checkOtherCluster returns errSameLog if both logs are topics of one cluster, whose addresses
// may differ.
func checkOtherCluster(ctx context.Context, from eventlog.Log, to *kafkalog.Log) error {
	source, ok := from.(*kafkalog.Log)
	if !ok {
		return nil
	}
	a, err := source.ClusterID(ctx)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	b, err := to.ClusterID(ctx)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if a != "" && a == b {
		return fmt.Errorf("%w: the brokers of both are of the cluster %s", errSameLog, a)
	}
	return nil
}

// openSource opens the source of a copy.
func openSource(ctx context.Context, o CopyOptions) (log eventlog.Log, closeAll func() error, err error) {
	if o.From.Log.Driver == "kafka" {
		log, err := dialKafka(ctx, o.From, o.Logger, nil)
		if err != nil {
			return nil, nil, err
		}
		return log, log.Close, nil
	}
	return openLocked(o.From, o.Logger, embeddedlog.Options{ReadOnly: true})
}

// openLocked opens an embedded log and locks its data directory. A log that is opened
// read-only must exist.
func openLocked(c *config.Config, logger *slog.Logger, options embeddedlog.Options) (_ *embeddedlog.Log, closeAll func() error, err error) {
	if _, err := os.Stat(c.LogDir()); err != nil && options.ReadOnly {
		return nil, nil, fmt.Errorf("no embedded log: %w", err)
	}
	directory, err := datadir.Lock(c, logger)
	if err != nil {
		return nil, nil, err
	}
	options.Logger, options.CacheBytes, options.MinFreeBytes = logger, int64(c.Cache.LogBytes), uint64(c.Storage.MinFreeBytes)
	log, err := embeddedlog.Open(c.LogDir(), options)
	if err != nil {
		return nil, nil, errors.Join(err, directory.Close())
	}
	return log, func() error { return errors.Join(log.Close(), directory.Close()) }, nil
}

// openTarget opens the target for a copy of from, with the numbers of partitions that shape
// has, and creates its topics unless it is a dry run, which gets a list of those that are
// missing. to is nil if all are.
func openTarget(ctx context.Context, o CopyOptions, from, shape eventlog.Log) (to eventlog.Importer, missing []event.Topic, closeAll func() error, err error) {
	if o.To.Log.Driver == "kafka" {
		return openKafkaTarget(ctx, o, from, shape)
	}
	n, err := shape.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("source: %w", err)
	}
	if configured := int32(o.To.Log.Partitions); configured != 0 {
		if err := logcopy.CheckPartitions(event.TopicEvents, n, configured); err != nil {
			return nil, nil, nil, fmt.Errorf("log.partitions of the target: %w", err)
		}
	}
	if _, err := os.Stat(o.To.LogDir()); err != nil && o.DryRun {
		return nil, topics.All, func() error { return nil }, nil
	}
	log, closeAll, err := openLocked(o.To, o.Logger, embeddedlog.Options{Partitions: n, ReadOnly: o.DryRun})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("target: %w", err)
	}
	return log, nil, closeAll, nil
}

func openKafkaTarget(ctx context.Context, o CopyOptions, from, shape eventlog.Log) (_ eventlog.Importer, missing []event.Topic, closeAll func() error, err error) {
	to, err := dialKafka(ctx, o.To, o.Logger, nil)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("target: %w", err)
	}
	defer func() {
		if err != nil {
			closeInto(&err, to)
		}
	}()
	if err := checkOtherCluster(ctx, from, to); err != nil {
		return nil, nil, nil, err
	}
	spec := kafkaSpec(o.To)
	if missing, err = topics.CheckTarget(ctx, to, spec, shape); err != nil {
		return nil, nil, nil, err
	}
	if !o.DryRun {
		if err := topics.CreateTarget(ctx, to, spec, shape, missing); err != nil {
			return nil, nil, nil, err
		}
		missing = nil
	}
	return to, missing, to.Close, nil
}
