package kafkalog

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// Committed implements eventlog.Log.
func (l *Log) Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error) {
	offsets, err := l.committedOffsets(ctx, group, topic)
	if err != nil {
		return nil, fmt.Errorf("committed offsets of group %s on %s: %w", group, topic, err)
	}
	return offsets, nil
}

func (l *Log) committedOffsets(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error) {
	if err := eventlog.CheckName(group); err != nil {
		return nil, err
	}
	if l.isClosed() {
		return nil, eventlog.ErrClosed
	}
	n, err := l.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	var offsets []event.Offset
	err = l.doRequest(ctx, func(ctx context.Context) (err error) {
		offsets, err = fetchCommitted(ctx, l.client, group, topic, n)
		return err
	})
	return offsets, err
}

// fetchCommitted makes one request for the offsets of all n partitions.
func fetchCommitted(ctx context.Context, client *kafka.Client, group string, topic event.Topic, n int32) ([]event.Offset, error) {
	partitions := make([]int, n)
	for p := range partitions {
		partitions[p] = p
	}
	response, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
		GroupID: group, Topics: map[string][]int{string(topic): partitions},
	})
	if err != nil {
		return nil, explainMissingGroupRight(err, "DESCRIBE", group, "DESCRIBE", topic)
	}
	if response.Error != nil {
		return nil, explainMissingGroupRight(response.Error, "DESCRIBE", group, "DESCRIBE", topic)
	}
	offsets := make([]event.Offset, n)
	return offsets, explainMissingGroupRight(fillCommitted(offsets, response.Topics[string(topic)]), "DESCRIBE", group, "DESCRIBE", topic)
}

func fillCommitted(offsets []event.Offset, answered []kafka.OffsetFetchPartition) error {
	if len(answered) != len(offsets) {
		return errIncomplete
	}
	for _, p := range answered {
		if p.Error != nil {
			return p.Error
		}
		if p.Partition < 0 || p.Partition >= len(offsets) {
			return errIncomplete
		}
		// -1 means that nothing was committed.
		offsets[p.Partition] = event.Offset(max(p.CommittedOffset, 0))
	}
	return nil
}
