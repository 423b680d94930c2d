package logdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/datadir"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/schemas/event"
)

// DescribeTopics reports on the topics of the configured log. It changes nothing.
func DescribeTopics(ctx context.Context, o Options) ([]topics.Report, error) {
	if o.Config.Log.Driver == "kafka" {
		return reportKafkaTopics(ctx, o, false)
	}
	if _, err := os.Stat(o.Config.LogDir()); err != nil {
		return nil, fmt.Errorf("no embedded log: %w", err)
	}
	return reportEmbeddedTopics(ctx, o)
}

// EnsureTopics creates missing topics and reports on all topics.
func EnsureTopics(ctx context.Context, o Options) ([]topics.Report, error) {
	if o.Config.Log.Driver == "kafka" {
		return reportKafkaTopics(ctx, o, true)
	}
	return reportEmbeddedTopics(ctx, o)
}

// reportEmbeddedTopics reports on the topics of an embedded log. It locks the data
// directory while it runs.
func reportEmbeddedTopics(ctx context.Context, o Options) (reports []topics.Report, err error) {
	directory, err := datadir.Lock(o.Config, o.Logger)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, directory)
	log, err := openEmbedded(Options{Config: o.Config, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, log)
	return topics.ReportEmbedded(ctx, log)
}

func reportKafkaTopics(ctx context.Context, o Options, create bool) (reports []topics.Report, err error) {
	log, err := dialKafka(ctx, o.Config, o.Logger, nil)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, log)
	return topics.ReportKafka(ctx, log, kafkaSpec(o.Config), create)
}

func closeInto(err *error, c io.Closer) { *err = errors.Join(*err, c.Close()) }

// LastRecordTime returns when the last record was appended to the log, or the zero time
// if it is empty. It locks an embedded log, whose server must be stopped. It changes
// nothing on brokers.
func LastRecordTime(ctx context.Context, o Options) (last time.Time, err error) {
	var log eventlog.Log
	if o.Config.Log.Driver == "kafka" {
		if log, err = dialKafka(ctx, o.Config, o.Logger, nil); err != nil {
			return last, err
		}
	} else {
		directory, err := datadir.Lock(o.Config, o.Logger)
		if err != nil {
			return last, err
		}
		defer closeInto(&err, directory)
		if log, err = openEmbedded(Options{Config: o.Config, Logger: o.Logger}); err != nil {
			return last, err
		}
	}
	defer closeInto(&err, log)
	return topics.LastRecordTime(ctx, log, topics.All...)
}

// ReadEnds returns the position of the next record of each partition of a log on brokers.
func ReadEnds(ctx context.Context, c *config.Config) (ends []event.Position, err error) {
	log, err := dialKafka(ctx, c, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, log)
	return topics.ReadEnds(ctx, log)
}
