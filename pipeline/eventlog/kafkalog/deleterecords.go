package kafkalog

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

var _ eventlog.Importer = (*Log)(nil)

// deleteRecordsRequest deletes the beginning of partitions. The client library lacks it.
type deleteRecordsRequest struct {
	Topics    []deleteRecordsTopic `kafka:"min=v0,max=v1"`
	TimeoutMS int32                `kafka:"min=v0,max=v1"`
}

type deleteRecordsTopic struct {
	Name       string                   `kafka:"min=v0,max=v1"`
	Partitions []deleteRecordsPartition `kafka:"min=v0,max=v1"`
}

type deleteRecordsPartition struct {
	Partition int32 `kafka:"min=v0,max=v1"`
	Offset    int64 `kafka:"min=v0,max=v1"`
}

// ApiKey implements protocol.Message.
func (*deleteRecordsRequest) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

// Broker implements protocol.BrokerMessage: the request goes to the leader. It has one
// topic and one partition.
func (r *deleteRecordsRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	topic := r.Topics[0]
	partition, ok := cluster.Topics[topic.Name].Partitions[topic.Partitions[0].Partition]
	if !ok {
		return protocol.Broker{}, protocol.NewErrNoPartition(topic.Name, topic.Partitions[0].Partition)
	}
	leader, ok := cluster.Brokers[partition.Leader]
	if !ok {
		return protocol.Broker{}, protocol.NewErrNoLeader(topic.Name, partition.ID)
	}
	return leader, nil
}

type deleteRecordsResponse struct {
	ThrottleTimeMS int32                `kafka:"min=v0,max=v1"`
	Topics         []deletedRecordTopic `kafka:"min=v0,max=v1"`
}

type deletedRecordTopic struct {
	Name       string                    `kafka:"min=v0,max=v1"`
	Partitions []deletedRecordsPartition `kafka:"min=v0,max=v1"`
}

type deletedRecordsPartition struct {
	Partition    int32 `kafka:"min=v0,max=v1"`
	LowWatermark int64 `kafka:"min=v0,max=v1"`
	ErrorCode    int16 `kafka:"min=v0,max=v1"`
}

// ApiKey implements protocol.Message.
func (*deleteRecordsResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

// DeleteBefore implements eventlog.Importer.
func (l *Log) DeleteBefore(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error {
	err := eventlog.ErrKeptWhole
	if topic.Trimmable() {
		err = l.deleteRecords(ctx, topic, partition, before)
	}
	if err != nil {
		return fmt.Errorf("delete the records of %s/%d below %d: %w", topic, partition, before, err)
	}
	return nil
}

func (l *Log) deleteRecords(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error {
	ranges, err := l.offsetRanges(ctx, topic)
	if err != nil {
		return err
	}
	if err := eventlog.CheckPartition(partition, int32(len(ranges)), false); err != nil {
		return err
	}
	if r := ranges[partition]; before <= r.first {
		return nil
	}
	return l.doRequest(ctx, func(ctx context.Context) error {
		answer, err := l.transport.RoundTrip(ctx, l.client.Addr, &deleteRecordsRequest{
			Topics: []deleteRecordsTopic{{
				Name: string(topic), Partitions: []deleteRecordsPartition{{Partition: partition, Offset: int64(before)}},
			}},
			TimeoutMS: int32(requestTimeout.Milliseconds()),
		})
		if err != nil {
			return err
		}
		response, ok := answer.(*deleteRecordsResponse)
		if !ok {
			return fmt.Errorf("answer of type %T", answer)
		}
		if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
			return errIncomplete
		}
		if code := response.Topics[0].Partitions[0].ErrorCode; code != 0 {
			return explainMissingRight(kafka.Error(code), "DELETE", topicName(topic))
		}
		return nil
	})
}
