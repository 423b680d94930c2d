package kafkalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// Note implements eventlog.Log.
func (l *Log) Note(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error {
	if err := l.noteOffsets(ctx, group, topic, offsets); err != nil {
		return fmt.Errorf("note offsets of group %s on %s: %w", group, topic, err)
	}
	return nil
}

// A commit without member and generation is for a group without members.
const (
	noMember     = ""
	noGeneration = -1
)

func (l *Log) noteOffsets(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error {
	if err := eventlog.CheckName(group); err != nil {
		return err
	}
	if l.isClosed() {
		return eventlog.ErrClosed
	}
	n, err := l.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	if err := eventlog.CheckOffsets(offsets, n); err != nil {
		return err
	}
	commits := make([]kafka.OffsetCommit, n)
	for p, offset := range offsets {
		commits[p] = kafka.OffsetCommit{Partition: p, Offset: int64(offset)}
	}
	err = l.doRequest(ctx, func(ctx context.Context) error {
		response, err := l.client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
			GroupID: group, MemberID: noMember, GenerationID: noGeneration,
			Topics: map[string][]kafka.OffsetCommit{string(topic): commits},
		})
		if err != nil {
			return explainMissingGroupRight(err, "READ", group, "READ", topic)
		}
		return explainMissingGroupRight(firstError(response.Topics[string(topic)], len(commits)), "READ", group, "READ", topic)
	})
	// The coordinator's answer to a non-member if the group has members.
	if errors.Is(err, kafka.UnknownMemberId) {
		return fmt.Errorf("%w: %w", eventlog.ErrGroupInUse, err)
	}
	return err
}

func firstError(answered []kafka.OffsetCommitPartition, want int) error {
	for _, p := range answered {
		if p.Error != nil {
			return p.Error
		}
	}
	if len(answered) != want {
		return errIncomplete
	}
	return nil
}
