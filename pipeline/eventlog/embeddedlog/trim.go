package embeddedlog

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

var (
	_ eventlog.Trimmer  = (*Log)(nil)
	_ eventlog.Importer = (*Log)(nil)
)

// Trim implements eventlog.Trimmer. Pebble frees the space when it compacts.
func (l *Log) Trim(ctx context.Context, name event.Topic, number int32, before event.Offset) error {
	if err := l.trimPartition(ctx, name, number, before); err != nil {
		return fmt.Errorf("trim %s/%d below %d: %w", name, number, before, err)
	}
	return nil
}

// DeleteBefore implements eventlog.Importer.
func (l *Log) DeleteBefore(ctx context.Context, name event.Topic, number int32, before event.Offset) error {
	return l.Trim(ctx, name, number, before)
}

func (l *Log) trimPartition(ctx context.Context, name event.Topic, number int32, before event.Offset) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !name.Trimmable() {
		return eventlog.ErrKeptWhole
	}
	p, err := l.partitionOf(name, number)
	if err != nil {
		return err
	}
	p.trimming.Lock()
	defer p.trimming.Unlock()
	first, end := p.offsetRange()
	if before < 0 || before > end {
		return &event.RangeError{First: first, End: end}
	}
	if before <= first {
		return nil
	}
	// Before the records are deleted, so that a reader that misses one knows why.
	p.setFirst(before)
	if err := l.deleteBelow(p, before); err != nil {
		p.setFirst(first)
		return err
	}
	l.metrics.trimmedRecords.Add(float64(before - first))
	return nil
}

// deleteBelow deletes records and stores the first offset in one batch. Otherwise the
// offsets of a partition that was trimmed to its end would restart at 0.
func (l *Log) deleteBelow(p *partition, before event.Offset) error {
	release, err := l.acquireDB()
	if err != nil {
		return err
	}
	defer release()
	b := l.db.NewBatch()
	defer b.Close()
	// Neither can fail on a batch without index.
	_ = b.DeleteRange(p.prefix, appendOffset(p.prefix, before), nil)
	_ = b.Set(beginKey(p.topic, p.number), binary.BigEndian.AppendUint64(nil, uint64(before)), nil)
	return b.Commit(pebble.Sync)
}

// setFirst sets the first offset that is kept.
func (p *partition) setFirst(first event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.first = first
}
