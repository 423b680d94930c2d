package logcopy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// compareRecords compares the records of a partition from first up to, but not including,
// end. A difference is ErrRefused.
func (c *copier) compareRecords(ctx context.Context, step string, p *Partition, first, end event.Offset) error {
	if first >= end {
		return nil
	}
	source, err := openCursor(ctx, c.from, p, first)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer source.close()
	target, err := openCursor(ctx, c.to, p, first)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	defer target.close()
	for source.next < end {
		batch, err := source.readBatch(ctx, end)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if err := target.compareBatch(ctx, batch); err != nil {
			return fmt.Errorf("target: %w", err)
		}
		c.o.Progress(Progress{step, p.Topic, p.Partition, source.next, end})
	}
	return nil
}

// compareBatch compares the next records with those of the source.
func (r *cursor) compareBatch(ctx context.Context, batch []event.Record) error {
	ctx, cancel := context.WithTimeout(ctx, maxBatchWait)
	defer cancel()
	for i := range batch {
		got, err := r.read(ctx)
		if err != nil {
			return err
		}
		if part := differingPart(&got, &batch[i]); part != "" {
			return fmt.Errorf("%w: the record %s differs from that of the source in its %s: the target is the log of another installation, or a server has used it; choose another target, or delete the topic there if nothing needs it, and copy again",
				ErrRefused, got.Position, part)
		}
	}
	return nil
}

// differingPart names the first part in which two records differ; empty if they are equal.
func differingPart(a, b *event.Record) string {
	switch {
	case !bytes.Equal(a.Key, b.Key):
		return "key"
	case !bytes.Equal(a.Value, b.Value):
		return "value"
	case !slices.EqualFunc(a.Headers, b.Headers, func(a, b event.Header) bool {
		return a.Name == b.Name && bytes.Equal(a.Value, b.Value)
	}):
		return "headers"
	case a.Time.UnixMilli() != b.Time.UnixMilli():
		return "time"
	}
	return ""
}

// placeholder takes the offset of a record that the source has deleted.
var placeholder = event.Record{Time: time.UnixMilli(0)}

// beginPartition makes the first record that the source has kept the first one at the
// target: it appends placeholders in place of the deleted records, and deletes them.
func (c *copier) beginPartition(ctx context.Context, p *Partition) error {
	if p.targetFirst >= p.First {
		return nil
	}
	for at := p.targetNext; at < p.First; {
		batch := make([]event.Record, min(batchRecords, p.First-at))
		for i := range batch {
			batch[i] = placeholder
		}
		if err := c.importBatch(ctx, p, at, batch); err != nil {
			return err
		}
		at += event.Offset(len(batch))
		c.o.Progress(Progress{"copying", p.Topic, p.Partition, at, p.Next})
	}
	if err := c.to.DeleteBefore(ctx, p.Topic, p.Partition, p.First); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return nil
}

// checkPlaceholders returns ErrRefused if the target has other records than placeholders
// below the first one that the source has kept.
func (c *copier) checkPlaceholders(ctx context.Context, p *Partition) error {
	end := min(p.First, p.targetNext)
	if p.targetFirst >= end {
		return nil
	}
	r, err := openCursor(ctx, c.to, p, p.targetFirst)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	defer r.close()
	for r.next < end {
		batch, err := r.readBatch(ctx, end)
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		for _, rec := range batch {
			if differingPart(&rec, &placeholder) != "" {
				return fmt.Errorf("%w: the target has the record %s, which the source has deleted, as by the retention of the audit log: delete the topic there, and copy again, which begins at the first record that is left", ErrRefused, rec.Position)
			}
		}
	}
	return nil
}
