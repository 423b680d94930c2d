package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
)

// TopicState is the current state of a topic.
type TopicState struct {
	Topic      event.Topic
	Partitions []PartitionState
	// Settings are the reported values of settingNames, by name.
	Settings map[string]string
}

// PartitionState describes the location and the offsets of a partition: First is the
// oldest record that is kept, Next the offset of the next record. Both are UnknownOffset
// in all partitions if a leader does not answer.
type PartitionState struct {
	PartitionLayout
	First, Next event.Offset
}

// UnknownOffset is the offset of a partition whose leader does not answer.
const UnknownOffset event.Offset = -1

// describeOffsetsTimeout bounds the wait for leaders that do not answer, because the rest
// of a topic's description is most useful in just that case.
const describeOffsetsTimeout = 3 * time.Second

// settingNames are the topic settings that matter to a log.
var settingNames = []string{
	"cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas",
	"max.message.bytes", "unclean.leader.election.enable", TimestampType,
}

// Describe returns the state of a topic. It fails with ErrNoTopic if the topic does not
// exist.
func (l *Log) Describe(ctx context.Context, topic event.Topic) (TopicState, error) {
	state := TopicState{Topic: topic}
	layout, err := l.Layout(ctx, topic)
	if err != nil {
		return state, err
	}
	ranges, err := l.offsetsToDescribe(ctx, topic, len(layout))
	if err != nil {
		return state, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	for i, p := range layout {
		state.Partitions = append(state.Partitions, PartitionState{PartitionLayout: p, First: ranges[i].first, Next: ranges[i].end})
	}
	if state.Settings, err = l.fetchSettings(ctx, topic); err != nil {
		return state, fmt.Errorf("settings of %s: %w", topic, err)
	}
	return state, nil
}

// offsetsToDescribe returns the offset ranges of n partitions, if their leaders answer in
// time.
func (l *Log) offsetsToDescribe(ctx context.Context, topic event.Topic, n int) ([]offsetRange, error) {
	limited, cancel := context.WithTimeout(ctx, describeOffsetsTimeout)
	defer cancel()
	ranges, err := l.offsetRanges(limited, topic)
	if err == nil && len(ranges) == n {
		return ranges, nil
	}
	if ctx.Err() != nil || errors.Is(err, ErrRefused) || errors.Is(err, eventlog.ErrClosed) {
		return nil, err
	}
	return slices.Repeat([]offsetRange{{UnknownOffset, UnknownOffset}}, n), nil
}

// settingsRequest is the library's request for settings without its methods Broker and
// Split. With them the library sends it to the controller, which may be down while other
// brokers could answer.
type settingsRequest describeconfigs.Request

// ApiKey implements protocol.Message.
func (*settingsRequest) ApiKey() protocol.ApiKey { return protocol.DescribeConfigs }

// fetchSettings requests settingNames from any broker.
func (l *Log) fetchSettings(ctx context.Context, topic event.Topic) (map[string]string, error) {
	settings := map[string]string{}
	err := l.doRequest(ctx, func(ctx context.Context) error {
		answer, err := l.transport.RoundTrip(ctx, l.client.Addr, &settingsRequest{Resources: []describeconfigs.RequestResource{
			{ResourceType: int8(kafka.ResourceTypeTopic), ResourceName: string(topic), ConfigNames: settingNames},
		}})
		if err != nil {
			return err
		}
		response, ok := answer.(*describeconfigs.Response)
		if !ok {
			return fmt.Errorf("answer of type %T", answer)
		}
		for _, r := range response.Resources {
			if r.ErrorCode != 0 {
				return explainMissingRight(kafka.Error(r.ErrorCode), "DESCRIBE_CONFIGS", topicName(topic))
			}
			for _, entry := range r.ConfigEntries {
				settings[entry.ConfigName] = entry.ConfigValue
			}
		}
		return nil
	})
	return settings, err
}
