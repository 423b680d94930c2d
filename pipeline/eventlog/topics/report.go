package topics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// All are the topics that Quarry uses.
var All = []event.Topic{event.TopicEvents, event.TopicDeadLetters, event.TopicAccounts, event.TopicAudit}

// Report describes the state of a topic and its specification.
type Report struct {
	Topic event.Topic `json:"topic"`
	// Driver is the driver of the log: embedded or kafka.
	Driver string `json:"driver"`
	// Exists is false for a topic that has not been created yet.
	Exists     bool              `json:"exists"`
	Partitions []PartitionReport `json:"partitions,omitempty"`
	// Settings and Deviations are set only for Kafka.
	Settings   []SettingReport   `json:"settings,omitempty"`
	Deviations []DeviationReport `json:"deviations,omitempty"`
}

// PartitionReport describes the location and the offsets of a partition. Leader is nil if
// there are no brokers, or no broker leads; First and Next are -1 if leaders do not
// answer.
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

// DeviationReport describes one deviation from the specification.
type DeviationReport struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Mend string `json:"mend"`
	// Refused reports that a server does not start because of this deviation.
	Refused bool `json:"refused"`
}

// Spec is the specification of the topics on Kafka brokers.
type Spec struct {
	// Partitions is 0 to accept any existing number.
	Partitions  int32
	Replication int
	// AllowDataLoss allows a start even if the settings of a topic delete events or
	// accounts.
	AllowDataLoss bool
}

// defaultPartitions is the number of partitions of a topic that Quarry creates. It is
// also the number of processes that can share the work of workers.
const defaultPartitions = 4

// ReportEmbedded reports on the topics of an embedded log.
func ReportEmbedded(ctx context.Context, log *embeddedlog.Log) ([]Report, error) {
	var reports []Report
	for _, topic := range All {
		report, err := embeddedReport(ctx, log, topic)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func embeddedReport(ctx context.Context, log *embeddedlog.Log, topic event.Topic) (Report, error) {
	report := Report{Topic: topic, Driver: "embedded", Exists: true}
	ends, err := log.HighWater(ctx, topic)
	for p, end := range ends {
		report.Partitions = append(report.Partitions, PartitionReport{Partition: int32(p), Next: end})
	}
	return report, err
}

// ReportKafka reports on the topics of Kafka brokers, and creates missing ones if create
// is set.
func ReportKafka(ctx context.Context, log *kafkalog.Log, s Spec, create bool) ([]Report, error) {
	var reports []Report
	for _, topic := range All {
		spec := s.topicSpec(topic)
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

// EnsureKafka creates missing topics and warns of deviations of existing ones. It fails
// for deviations that delete events or accounts, unless the Spec allows them.
func EnsureKafka(ctx context.Context, log *kafkalog.Log, s Spec, logger *slog.Logger) error {
	for _, topic := range All {
		spec := s.topicSpec(topic)
		if err := ensureTopic(ctx, log, spec); err != nil {
			return err
		}
		if err := checkTopic(ctx, log, spec, s.AllowDataLoss, logger); err != nil {
			return err
		}
	}
	return nil
}

func kafkaReport(ctx context.Context, log *kafkalog.Log, spec kafkalog.TopicSpec) (Report, error) {
	report := Report{Topic: spec.Topic, Driver: "kafka"}
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

// keepChosenRetention keeps the retention of the audit log that is configured on the
// brokers, if any, because the accounts themselves do not depend on it.
func keepChosenRetention(spec kafkalog.TopicSpec, state kafkalog.TopicState) kafkalog.TopicSpec {
	if ms, err := strconv.ParseInt(state.Settings["retention.ms"], 10, 64); spec.Topic == event.TopicAudit && err == nil && ms > 0 {
		spec.Retention = time.Duration(ms) * time.Millisecond
	}
	return spec
}

// preventsStart reports whether a deviation prevents a start: one that deletes events or
// accounts, the source of truth. One that deletes dead letters only causes a warning,
// since the original events remain, and so does one that deletes the audit log.
func preventsStart(topic event.Topic, d kafkalog.Deviation) bool {
	return d.Loss && topic.KeptWhole()
}

// checkTopic warns of each deviation of a topic, and returns an error for those that
// prevent a start unless the configuration allows them.
func checkTopic(ctx context.Context, log *kafkalog.Log, spec kafkalog.TopicSpec, allowDataLoss bool, logger *slog.Logger) error {
	state, err := log.Describe(ctx, spec.Topic)
	if errors.Is(err, kafkalog.ErrRefused) {
		logger.Warn("no permission to read the settings of a topic; wrong settings are not reported", "topic", spec.Topic, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	spec = keepChosenRetention(spec, state)
	var grave []string
	for _, d := range log.Deviations(spec, state) {
		if preventsStart(spec.Topic, d) && !allowDataLoss {
			grave = append(grave, d.String())
			continue
		}
		logger.Warn("topic deviates from its specification", "what", d.What, "why", d.Why, "mend", d.Fix)
	}
	if len(grave) > 0 {
		return fmt.Errorf("%s; to start all the same set log.kafka.allowDataLoss", strings.Join(grave, "; "))
	}
	return nil
}

// topicSpec returns the specification of a topic. Partitions is 0 if the configuration
// accepts any existing number.
func (s Spec) topicSpec(topic event.Topic) kafkalog.TopicSpec {
	spec := kafkalog.TopicSpec{Topic: topic, Partitions: s.Partitions, Replication: s.Replication}
	if topic.Single() {
		spec.Partitions = 1
	}
	return spec
}

// ensureTopic creates a missing topic, and refuses one whose number of partitions differs
// from the configured one.
func ensureTopic(ctx context.Context, log *kafkalog.Log, spec kafkalog.TopicSpec) error {
	if spec.Partitions == 0 {
		// Log.Partitions would wait for a topic that may be on its way to the client.
		if missing, err := log.MissingTopics(ctx, spec.Topic); err != nil || len(missing) == 0 {
			return err
		}
		spec.Partitions = defaultPartitions
	}
	return log.EnsureTopics(ctx, spec)
}
