package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// topicsOfLog are the topics that Quarry keeps.
var topicsOfLog = []event.Topic{event.TopicEvents, event.TopicDeadLetters, event.TopicAccounts, event.TopicAudit}

// TopicReport says how a topic is and how it should be.
type TopicReport struct {
	Topic event.Topic `json:"topic"`
	// Driver is that of the log: embedded or kafka.
	Driver string `json:"driver"`
	// Exists is false for a topic that is to be created.
	Exists     bool              `json:"exists"`
	Partitions []PartitionReport `json:"partitions,omitempty"`
	// Settings and Deviations are of Kafka only.
	Settings   []SettingReport   `json:"settings,omitempty"`
	Deviations []DeviationReport `json:"deviations,omitempty"`
}

// PartitionReport says where a partition is and what it holds. Leader is nil
// where there are no brokers, and where none leads; First and Next are -1 if
// leaders do not answer.
type PartitionReport struct {
	Partition int32        `json:"partition"`
	Leader    *int32       `json:"leader,omitempty"`
	Replicas  []int32      `json:"replicas,omitempty"`
	InSync    []int32      `json:"inSync,omitempty"`
	First     event.Offset `json:"first"`
	Next      event.Offset `json:"next"`
}

// SettingReport is one setting of a topic.
type SettingReport struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Wanted string `json:"wanted"`
	Reason string `json:"reason"`
}

// DeviationReport is what is not as it should be.
type DeviationReport struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Mend string `json:"mend"`
	// Refused says that a server does not start because of it.
	Refused bool `json:"refused"`
}

// DescribeTopics reports on the topics of the log that the configuration
// chooses. It changes nothing.
func DescribeTopics(ctx context.Context, o Options) ([]TopicReport, error) {
	if o.Config.Log.Driver == "kafka" {
		return reportKafkaTopics(ctx, o, false)
	}
	if _, err := os.Stat(o.Config.LogDir()); err != nil {
		return nil, fmt.Errorf("no embedded log: %w", err)
	}
	return reportEmbeddedTopics(ctx, o)
}

// EnsureTopics creates the topics that are missing and reports on all.
func EnsureTopics(ctx context.Context, o Options) ([]TopicReport, error) {
	if o.Config.Log.Driver == "kafka" {
		return reportKafkaTopics(ctx, o, true)
	}
	return reportEmbeddedTopics(ctx, o)
}

// reportEmbeddedTopics holds the data directory meanwhile.
func reportEmbeddedTopics(ctx context.Context, o Options) (reports []TopicReport, err error) {
	directory, err := lockData(o)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, directory)
	log, err := openEmbedded(Options{Config: o.Config, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, log)
	for _, topic := range topicsOfLog {
		report, err := embeddedReport(ctx, log, topic)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func embeddedReport(ctx context.Context, log *embeddedlog.Log, topic event.Topic) (TopicReport, error) {
	report := TopicReport{Topic: topic, Driver: "embedded", Exists: true}
	ends, err := log.HighWater(ctx, topic)
	for p, end := range ends {
		report.Partitions = append(report.Partitions, PartitionReport{Partition: int32(p), Next: end})
	}
	return report, err
}

func reportKafkaTopics(ctx context.Context, o Options, create bool) (reports []TopicReport, err error) {
	log, err := dialKafka(ctx, o.Config, o.Logger, nil)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, log)
	for _, topic := range topicsOfLog {
		spec := topicSpec(o.Config, topic)
		if create {
			if err := ensureTopic(ctx, log, spec); err != nil {
				return nil, err
			}
		}
		report, err := kafkaReport(ctx, log, spec)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func kafkaReport(ctx context.Context, log *kafkalog.Log, spec kafkalog.TopicSpec) (TopicReport, error) {
	report := TopicReport{Topic: spec.Topic, Driver: "kafka"}
	state, err := log.Describe(ctx, spec.Topic)
	if errors.Is(err, kafkalog.ErrNoTopic) {
		return report, nil
	}
	if err != nil {
		return report, err
	}
	report.Exists, spec = true, keepChosenRetention(spec, state)
	for _, p := range state.Partitions {
		out := PartitionReport{Partition: p.Number, Replicas: p.Replicas, InSync: p.InSync, First: p.First, Next: p.Next}
		if p.Leader != kafkalog.NoBroker {
			out.Leader = &p.Leader
		}
		report.Partitions = append(report.Partitions, out)
	}
	for _, s := range spec.Settings(state) {
		report.Settings = append(report.Settings, SettingReport{s.Name, s.Value, s.Wanted, s.Reason})
	}
	for _, d := range log.Deviations(spec, state) {
		report.Deviations = append(report.Deviations, DeviationReport{d.What, d.Why, d.Fix, preventsStart(spec.Topic, d)})
	}
	return report, nil
}

// keepChosenRetention keeps the retention of the audit log that is set on the brokers, if any:
// the accounts themselves do not depend on it.
func keepChosenRetention(spec kafkalog.TopicSpec, state kafkalog.TopicState) kafkalog.TopicSpec {
	if ms, err := strconv.ParseInt(state.Settings["retention.ms"], 10, 64); spec.Topic == event.TopicAudit && err == nil && ms > 0 {
		spec.Retention = time.Duration(ms) * time.Millisecond
	}
	return spec
}

// preventsStart reports whether a server does not start over a deviation: what deletes
// events and accounts deletes the truth. What deletes dead letters is warned of,
// since the events that they were made of stay, and so is what deletes the audit
// log.
func preventsStart(topic event.Topic, d kafkalog.Deviation) bool {
	return d.Loss && (topic == event.TopicEvents || topic == event.TopicAccounts)
}

// checkTopic warns of each deviation of a topic, and returns an error for those
// that prevent a start unless the configuration allows them.
func checkTopic(ctx context.Context, log *kafkalog.Log, spec kafkalog.TopicSpec, o Options) error {
	state, err := log.Describe(ctx, spec.Topic)
	if errors.Is(err, kafkalog.ErrRefused) {
		o.Logger.Warn("no permission to read the settings of a topic; wrong settings are not reported", "topic", spec.Topic, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	spec = keepChosenRetention(spec, state)
	var grave []string
	for _, d := range log.Deviations(spec, state) {
		if preventsStart(spec.Topic, d) && !o.Config.Log.Kafka.AllowDataLoss {
			grave = append(grave, d.String())
			continue
		}
		o.Logger.Warn("topic deviates from its specification", "what", d.What, "why", d.Why, "mend", d.Fix)
	}
	if len(grave) > 0 {
		return fmt.Errorf("%s; to start all the same set log.kafka.allowDataLoss", strings.Join(grave, "; "))
	}
	return nil
}

func closeInto(err *error, c io.Closer) { *err = errors.Join(*err, c.Close()) }
