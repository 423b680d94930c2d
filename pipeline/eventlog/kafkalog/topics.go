package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// TopicSpec is the specification of a topic.
type TopicSpec struct {
	Topic event.Topic
	// Partitions never changes, because the partition of a repository depends on it.
	Partitions int32
	// Replication is the number of copies; 0 means the brokers' default.
	Replication int
	// Retention is how long records are kept; 0 keeps them forever, since the log is the
	// source of truth.
	Retention time.Duration
}

// EnsureTopics creates the topics that do not exist. It fails if one exists with a
// different number of partitions.
func (l *Log) EnsureTopics(ctx context.Context, specs ...TopicSpec) error {
	for _, spec := range specs {
		if err := l.ensureTopic(ctx, spec); err != nil {
			return fmt.Errorf("ensure topic %s: %w", spec.Topic, err)
		}
	}
	return nil
}

func (l *Log) ensureTopic(ctx context.Context, spec TopicSpec) error {
	if err := eventlog.CheckName(string(spec.Topic)); err != nil {
		return err
	}
	if spec.Partitions <= 0 {
		return fmt.Errorf("%d partitions, want at least 1", spec.Partitions)
	}
	err := l.doRequest(ctx, func(ctx context.Context) error {
		response, err := l.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{spec.topicConfig()}})
		if err != nil {
			return err
		}
		return explainMissingRight(response.Errors[string(spec.Topic)], "CREATE", topicName(spec.Topic))
	})
	if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
		return err
	}
	n, err := l.Partitions(ctx, spec.Topic)
	if err == nil && n != spec.Partitions {
		return fmt.Errorf("it has %d partitions, %d are configured: the number is fixed when a topic is created", n, spec.Partitions)
	}
	return err
}

// retentionMillis returns the value of retention.ms.
func (s TopicSpec) retentionMillis() string {
	if s.Retention == 0 {
		return "-1"
	}
	return strconv.FormatInt(s.Retention.Milliseconds(), 10)
}

func (s TopicSpec) topicConfig() kafka.TopicConfig {
	replication := s.Replication
	if replication == 0 {
		replication = -1
	}
	entries := []kafka.ConfigEntry{
		{ConfigName: "cleanup.policy", ConfigValue: "delete"},
		{ConfigName: "retention.ms", ConfigValue: s.retentionMillis()},
		{ConfigName: "retention.bytes", ConfigValue: "-1"},
		{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(maxBatchBytes)},
		{ConfigName: "unclean.leader.election.enable", ConfigValue: "false"},
		{ConfigName: TimestampType, ConfigValue: "CreateTime"},
	}
	// With three replicas, one broker may be down and an acknowledged record is still on
	// two disks.
	if replication >= 3 {
		entries = append(entries, kafka.ConfigEntry{ConfigName: "min.insync.replicas", ConfigValue: "2"})
	}
	return kafka.TopicConfig{
		Topic: string(s.Topic), NumPartitions: int(s.Partitions), ReplicationFactor: replication, ConfigEntries: entries,
	}
}

// unknownTopicPatience is how long a topic may be missing from the client's layout of the
// cluster, which may be as old as metadataTTL.
const unknownTopicPatience = metadataTTL + time.Second

// Partitions implements eventlog.Log. It fails with ErrNoTopic if the topic does
// not exist.
func (l *Log) Partitions(ctx context.Context, topic event.Topic) (int32, error) {
	if err := eventlog.CheckName(string(topic)); err != nil {
		return 0, fmt.Errorf("partitions of topic: %w", err)
	}
	if n := l.knownPartitions(topic); n > 0 {
		return n, nil
	}
	var n int32
	limit, cancel := context.WithTimeout(ctx, unknownTopicPatience)
	defer cancel()
	err := l.doRequest(limit, func(ctx context.Context) (err error) {
		n, err = l.askPartitions(ctx, topic)
		return explainMissingRight(err, "DESCRIBE", topicName(topic))
	})
	switch {
	case ctx.Err() == nil && errors.Is(err, kafka.UnknownTopicOrPartition):
		return 0, fmt.Errorf("partitions of %s: %w", topic, l.explainUnknown(ctx, topic))
	case err != nil:
		return 0, fmt.Errorf("partitions of %s: %w", topic, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.partitions[topic] = n
	return n, nil
}

func (l *Log) knownPartitions(topic event.Topic) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.partitions[topic]
}

func (l *Log) askPartitions(ctx context.Context, topic event.Topic) (int32, error) {
	response, err := l.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{string(topic)}})
	if err != nil {
		return 0, err
	}
	for _, t := range response.Topics {
		if t.Name == string(topic) && t.Error == nil && len(t.Partitions) > 0 {
			return int32(len(t.Partitions)), nil
		}
		if t.Error != nil {
			return 0, t.Error
		}
	}
	return 0, kafka.UnknownTopicOrPartition
}

// offsetRange is the range of offsets in a partition: first is the oldest record that is
// kept, end the offset of the next record.
type offsetRange struct{ first, end event.Offset }

// HighWater implements eventlog.Log.
func (l *Log) HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error) {
	ranges, err := l.offsetRanges(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("high-water marks of %s: %w", topic, err)
	}
	ends := make([]event.Offset, len(ranges))
	for i, r := range ranges {
		ends[i] = r.end
	}
	return ends, nil
}

func (l *Log) offsetRanges(ctx context.Context, topic event.Topic) ([]offsetRange, error) {
	if l.isClosed() {
		return nil, eventlog.ErrClosed
	}
	n, err := l.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	var asked []kafka.OffsetRequest
	for p := range int(n) {
		asked = append(asked, kafka.FirstOffsetOf(p), kafka.LastOffsetOf(p))
	}
	ranges := make([]offsetRange, n)
	err = l.doRequest(ctx, func(ctx context.Context) error {
		response, err := l.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
			Topics: map[string][]kafka.OffsetRequest{string(topic): asked},
		})
		if err != nil {
			return err
		}
		return explainMissingRight(fillRanges(ranges, response.Topics[string(topic)]), "DESCRIBE", topicName(topic))
	})
	return ranges, err
}

// errIncomplete is retriable: a broker omitted partitions from its response.
var errIncomplete = errors.New("answer lacks partitions")

func fillRanges(ranges []offsetRange, answered []kafka.PartitionOffsets) error {
	if len(answered) != len(ranges) {
		return errIncomplete
	}
	for _, p := range answered {
		// The client reports a broken connection this way, if not all connections broke.
		if errors.Is(p.Error, kafka.Unknown) {
			return errIncomplete
		}
		if p.Error != nil {
			return p.Error
		}
		if p.Partition < 0 || p.Partition >= len(ranges) || p.FirstOffset < 0 || p.LastOffset < 0 {
			return errIncomplete
		}
		ranges[p.Partition] = offsetRange{event.Offset(p.FirstOffset), event.Offset(p.LastOffset)}
	}
	return nil
}
