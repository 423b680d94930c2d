package kafkalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// PartitionLayout says which brokers have a partition.
type PartitionLayout struct {
	Number int32
	// Leader is the broker that takes and gives records; NoBroker if there is none.
	Leader int
	// Replicas are the brokers that are to have a copy and that are alive, InSync
	// those whose copy is complete. Both rise.
	Replicas []int
	InSync   []int
}

// NoBroker is the number of a leader that is not there.
const NoBroker = -1

// Brokers returns the numbers of the brokers that are alive, rising. What it
// says may be as old as two seconds.
func (l *Log) Brokers(ctx context.Context) ([]int, error) {
	var numbers []int
	err := l.request(ctx, func(ctx context.Context) error {
		response, err := l.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
		if err == nil {
			numbers = brokerNumbers(response.Brokers)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("brokers of the cluster: %w", err)
	}
	return numbers, nil
}

// Layout returns where the partitions of a topic are. It fails with ErrNoTopic
// if the topic does not exist. What it says may be as old as two seconds.
func (l *Log) Layout(ctx context.Context, topic event.Topic) ([]PartitionLayout, error) {
	// It knows how to wait for a topic that is new.
	if _, err := l.Partitions(ctx, topic); err != nil {
		return nil, err
	}
	var layout []PartitionLayout
	err := l.request(ctx, func(ctx context.Context) error {
		response, err := l.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{string(topic)}})
		if err != nil {
			return err
		}
		layout, err = layoutOf(response, topic)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("layout of %s: %w", topic, err)
	}
	return layout, nil
}

func layoutOf(response *kafka.MetadataResponse, topic event.Topic) ([]PartitionLayout, error) {
	for _, t := range response.Topics {
		if t.Name != string(topic) {
			continue
		}
		if t.Error != nil {
			return nil, t.Error
		}
		layout := make([]PartitionLayout, len(t.Partitions))
		for i, p := range t.Partitions {
			layout[i] = PartitionLayout{Number: int32(p.ID), Leader: leaderOf(p), Replicas: brokerNumbers(p.Replicas), InSync: brokerNumbers(p.Isr)}
		}
		return layout, nil
	}
	return nil, kafka.UnknownTopicOrPartition
}

// leaderOf tells a leader that is not there, which the client gives as the zero
// Broker, from broker 0.
func leaderOf(p kafka.Partition) int {
	if p.Leader.Host == "" {
		return NoBroker
	}
	return p.Leader.ID
}

// brokerNumbers leaves out brokers that are not alive: the client knows no
// number of them.
func brokerNumbers(brokers []kafka.Broker) []int {
	var numbers []int
	for _, b := range brokers {
		if b.Host != "" {
			numbers = append(numbers, b.ID)
		}
	}
	slices.Sort(numbers)
	return numbers
}
