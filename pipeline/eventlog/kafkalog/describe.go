package kafkalog

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// TopicState is how a topic is.
type TopicState struct {
	Topic      event.Topic
	Partitions []PartitionState
	// Settings are those of settingNames that the brokers told, by name.
	Settings map[string]string
}

// PartitionState is where a partition is and what it holds: First is the oldest
// record kept, Next the offset that the next one gets.
type PartitionState struct {
	PartitionLayout
	First, Next event.Offset
}

// settingNames are the settings of a topic that matter to a log.
var settingNames = []string{
	"cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas",
	"max.message.bytes", "unclean.leader.election.enable", "message.timestamp.type",
}

// Describe returns how a topic is. It fails with ErrNoTopic if it does not
// exist.
func (l *Log) Describe(ctx context.Context, topic event.Topic) (TopicState, error) {
	state := TopicState{Topic: topic}
	layout, err := l.Layout(ctx, topic)
	if err != nil {
		return state, err
	}
	ranges, err := l.offsetRanges(ctx, topic)
	if err != nil {
		return state, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	for _, p := range layout {
		if int(p.Number) >= len(ranges) {
			return state, fmt.Errorf("layout of %s: %w", topic, errIncomplete)
		}
		r := ranges[p.Number]
		state.Partitions = append(state.Partitions, PartitionState{PartitionLayout: p, First: r.first, Next: r.end})
	}
	if state.Settings, err = l.settings(ctx, topic); err != nil {
		return state, fmt.Errorf("settings of %s: %w", topic, err)
	}
	return state, nil
}

// settings asks for settingNames.
func (l *Log) settings(ctx context.Context, topic event.Topic) (map[string]string, error) {
	settings := map[string]string{}
	err := l.request(ctx, func(ctx context.Context) error {
		response, err := l.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: string(topic), ConfigNames: settingNames,
			}},
		})
		if err != nil {
			return err
		}
		for _, r := range response.Resources {
			if r.Error != nil {
				return r.Error
			}
			for _, entry := range r.ConfigEntries {
				settings[entry.ConfigName] = entry.ConfigValue
			}
		}
		return nil
	})
	return settings, err
}
