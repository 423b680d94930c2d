package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/logcopy"
	"github.com/quarrysearch/quarry/schemas/event"
)

// CheckTarget checks whether the topics of brokers can receive the records of source, and
// returns the topics that do not exist yet. It changes nothing.
func CheckTarget(ctx context.Context, log *kafkalog.Log, s Spec, source eventlog.Log) (missing []event.Topic, err error) {
	if missing, err = log.MissingTopics(ctx, All...); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	for _, topic := range All {
		n, err := source.Partitions(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		if s.Partitions != 0 && !topic.Single() {
			if err := logcopy.CheckPartitions(topic, n, s.Partitions); err != nil {
				return nil, fmt.Errorf("log.partitions of the target: %w", err)
			}
		}
		if slices.Contains(missing, topic) {
			continue
		}
		existing, err := log.Partitions(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		if err := logcopy.CheckPartitions(topic, n, existing); err != nil {
			return nil, err
		}
		if err := checkTargetSettings(ctx, log, s, topic); err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
	}
	return missing, nil
}

// checkTargetSettings refuses a topic that gives records other times, or that deletes
// events or accounts.
func checkTargetSettings(ctx context.Context, log *kafkalog.Log, s Spec, topic event.Topic) error {
	state, err := log.Describe(ctx, topic)
	if err != nil {
		return err
	}
	for _, d := range log.Deviations(keepChosenRetention(s.topicSpec(topic), state), state) {
		if d.Setting == kafkalog.TimestampType || preventsStart(topic, d) && !s.AllowDataLoss {
			return errors.New(d.String())
		}
	}
	return nil
}

// CreateTarget creates topics with the numbers of partitions that source has.
func CreateTarget(ctx context.Context, log *kafkalog.Log, s Spec, source eventlog.Log, missing []event.Topic) error {
	for _, topic := range missing {
		spec := s.topicSpec(topic)
		var err error
		if spec.Partitions, err = source.Partitions(ctx, topic); err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if err := log.EnsureTopics(ctx, spec); err != nil {
			return fmt.Errorf("target: %w", err)
		}
	}
	return nil
}
