package kafkalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// PartitionLayout describes which brokers have a partition.
type PartitionLayout struct {
	Number int32
	// Leader is the broker that serves the partition; NoBroker if there is none.
	Leader int32
	// Replicas are the brokers that should have a copy; InSync are those with a complete
	// copy. Both are in ascending order.
	Replicas []int32
	InSync   []int32
}

// NoBroker is the leader of a partition without one.
const NoBroker int32 = -1

// Brokers returns the numbers of the live brokers in ascending order. The result may be
// up to two seconds old.
func (l *Log) Brokers(ctx context.Context) ([]int32, error) {
	response, err := l.fetchMetadata(ctx, []string{})
	if err != nil {
		return nil, fmt.Errorf("brokers of the cluster: %w", err)
	}
	var numbers []int32
	for _, b := range response.Brokers {
		numbers = append(numbers, b.NodeID)
	}
	slices.Sort(numbers)
	return numbers, nil
}

// ClusterID returns the ID of the cluster, which all of its brokers have.
func (l *Log) ClusterID(ctx context.Context) (string, error) {
	response, err := l.fetchMetadata(ctx, []string{})
	if err != nil {
		return "", fmt.Errorf("ID of the cluster: %w", err)
	}
	return response.ClusterID, nil
}

// Layout returns the layout of the partitions of a topic. It fails with ErrNoTopic if the
// topic does not exist. The result may be up to two seconds old.
func (l *Log) Layout(ctx context.Context, topic event.Topic) ([]PartitionLayout, error) {
	// Partitions waits for a topic that is new.
	if _, err := l.Partitions(ctx, topic); err != nil {
		return nil, err
	}
	response, err := l.fetchMetadata(ctx, []string{string(topic)})
	if err == nil && len(response.Topics) != 1 {
		err = errIncomplete
	}
	if err == nil && response.Topics[0].ErrorCode != 0 {
		err = kafka.Error(response.Topics[0].ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("layout of %s: %w", topic, err)
	}
	return layoutOf(response.Topics[0].Partitions), nil
}

// fetchMetadata replaces Client.Metadata, whose result lacks the numbers of brokers that
// are down.
func (l *Log) fetchMetadata(ctx context.Context, topics []string) (*metadata.Response, error) {
	var response *metadata.Response
	err := l.doRequest(ctx, func(ctx context.Context) error {
		answer, err := l.transport.RoundTrip(ctx, l.client.Addr, &metadata.Request{TopicNames: topics})
		if err != nil {
			return err
		}
		var ok bool
		if response, ok = answer.(*metadata.Response); !ok {
			return fmt.Errorf("answer of type %T", answer)
		}
		return nil
	})
	return response, err
}

// layoutRequest requests the layout from a broker. The library would answer its own
// request from its cache, which lacks the topics that this client may not access. So this
// type looks like a request that must be split, with a response that the library does not
// recognize.
type layoutRequest metadata.Request

// ApiKey implements protocol.Message.
func (*layoutRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }

// Split implements protocol.Splitter.
func (r *layoutRequest) Split(protocol.Cluster) ([]protocol.Message, protocol.Merger, error) {
	return []protocol.Message{(*sentLayoutRequest)(r)}, r, nil
}

// Merge implements protocol.Merger.
func (*layoutRequest) Merge(_ []protocol.Message, results []any) (protocol.Message, error) {
	switch result := results[0].(type) {
	case *metadata.Response:
		return (*layoutResponse)(result), nil
	case error:
		return nil, result
	default:
		return nil, fmt.Errorf("answer of type %T", result)
	}
}

// sentLayoutRequest is sent to the broker; layoutResponse is its answer.
type (
	sentLayoutRequest metadata.Request
	layoutResponse    metadata.Response
)

// ApiKey implements protocol.Message.
func (*sentLayoutRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }

// ApiKey implements protocol.Message.
func (*layoutResponse) ApiKey() protocol.ApiKey { return protocol.Metadata }

// explainUnknown returns why the library does not know a topic: ErrNoTopic, or an error
// that wraps ErrRefused if this client may not access it.
func (l *Log) explainUnknown(ctx context.Context, topic event.Topic) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	answer, err := l.transport.RoundTrip(ctx, l.client.Addr, &layoutRequest{TopicNames: []string{string(topic)}})
	if err != nil {
		return ErrNoTopic // as far as is known
	}
	response, ok := answer.(*layoutResponse)
	if ok && len(response.Topics) == 1 && kafka.Error(response.Topics[0].ErrorCode) == kafka.TopicAuthorizationFailed {
		return classifyError(explainMissingRight(kafka.TopicAuthorizationFailed, "DESCRIBE", topicName(topic)))
	}
	return ErrNoTopic
}

// MissingTopics returns those topics that do not exist. Unlike Partitions, it does not wait
// for topics that were just created.
func (l *Log) MissingTopics(ctx context.Context, topics ...event.Topic) (missing []event.Topic, err error) {
	request := &layoutRequest{}
	for _, topic := range topics {
		request.TopicNames = append(request.TopicNames, string(topic))
	}
	err = l.doRequest(ctx, func(ctx context.Context) error {
		answer, err := l.transport.RoundTrip(ctx, l.client.Addr, request)
		if err != nil {
			return err
		}
		response, ok := answer.(*layoutResponse)
		if !ok {
			return fmt.Errorf("answer of type %T", answer)
		}
		missing = nil
		for _, topic := range response.Topics {
			switch code := kafka.Error(topic.ErrorCode); {
			case code == kafka.UnknownTopicOrPartition:
				missing = append(missing, event.Topic(topic.Name))
			case code != 0:
				return explainMissingRight(code, "DESCRIBE", topicName(event.Topic(topic.Name)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for topics: %w", err)
	}
	return missing, nil
}

// layoutOf makes a copy, because the client shares its responses.
func layoutOf(partitions []metadata.ResponsePartition) []PartitionLayout {
	layout := make([]PartitionLayout, len(partitions))
	for i, p := range partitions {
		layout[i] = PartitionLayout{
			Number: p.PartitionIndex, Leader: p.LeaderID,
			Replicas: slices.Sorted(slices.Values(p.ReplicaNodes)), InSync: slices.Sorted(slices.Values(p.IsrNodes)),
		}
	}
	slices.SortFunc(layout, func(a, b PartitionLayout) int { return cmp.Compare(a.Number, b.Number) })
	return layout
}
