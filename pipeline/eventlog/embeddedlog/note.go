package embeddedlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Note implements eventlog.Log. It does not sync.
func (l *Log) Note(_ context.Context, name string, topic event.Topic, offsets []event.Offset) error {
	if err := l.noteOffsets(groupID{name, topic}, offsets); err != nil {
		return fmt.Errorf("note offsets of group %s on %s: %w", name, topic, err)
	}
	return nil
}

func (l *Log) noteOffsets(id groupID, offsets []event.Offset) error {
	if err := errors.Join(eventlog.CheckName(id.group), eventlog.CheckName(string(id.topic))); err != nil {
		return err
	}
	if err := eventlog.CheckOffsets(offsets, l.partitionsOf(id.topic)); err != nil {
		return err
	}
	release, err := l.acquireDB()
	if err != nil {
		return err
	}
	defer release()
	// Held to the end, so that no member joins in the meantime.
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.groups[id] != nil {
		return eventlog.ErrGroupInUse
	}
	batch := l.db.NewBatch()
	defer batch.Close()
	for p, offset := range offsets {
		value := binary.BigEndian.AppendUint64(nil, uint64(offset))
		if err := batch.Set(groupKey(id.topic, id.group, int32(p)), value, nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.NoSync)
}
