package logcopy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

var (
	// ErrRefused means that the target cannot continue the source. Nothing was written, unless
	// the source lacks a record in its middle, or the target stores others than it is sent.
	ErrRefused = errors.New("the logs do not match")
	// ErrForeignWriter means that the target has records that the copy did not write.
	ErrForeignWriter = errors.New("something else writes to the target")
	// ErrGrown means that the source has got records since the copy began.
	ErrGrown = errors.New("the source has grown")
)

// Options are the options of Copy.
type Options struct {
	Topics []event.Topic
	// Groups are the groups whose committed offsets are copied.
	Groups []Group
	// Missing are topics that the target lacks, which a dry run takes for empty.
	Missing []event.Topic
	// DryRun compares the logs and writes nothing.
	DryRun bool
	// Progress is called after each batch. Optional.
	Progress func(Progress)
}

// Group is a consumer group of a topic.
type Group struct {
	Name  string
	Topic event.Topic
}

// Progress is the progress in one partition.
type Progress struct {
	Step      string // comparing, reading, copying or verifying
	Topic     event.Topic
	Partition int32
	Next, End event.Offset
}

// Partition is the result for one partition.
type Partition struct {
	Topic     event.Topic `json:"topic"`
	Partition int32       `json:"partition"`
	// First is the offset of the first record that the source has kept; Next is its end.
	First event.Offset `json:"first"`
	Next  event.Offset `json:"next"`
	// Present is the number of records that the target had already, and Lacking the number
	// of those that it lacked.
	Present int64 `json:"present"`
	Lacking int64 `json:"lacking"`
	// Refused is the reason why the partition cannot be copied; empty if there is none.
	Refused string `json:"refused,omitempty"`

	targetFirst, targetNext event.Offset
}

// copyFrom returns the offset of the first record that the target lacks.
func (p *Partition) copyFrom() event.Offset { return max(p.First, p.targetNext) }

// copier is one run of Copy.
type copier struct {
	from eventlog.Log
	to   eventlog.Importer
	o    Options
}

// Copy copies the records that the target lacks, and the offsets of the groups. It returns
// the result for each partition, also with ErrRefused.
func Copy(ctx context.Context, from eventlog.Log, to eventlog.Importer, o Options) ([]Partition, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	c := &copier{from, to, o}
	partitions, err := c.findPartitions(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.compareAll(ctx, partitions); err != nil {
		return partitions, err
	}
	if o.DryRun {
		return partitions, c.readLacking(ctx, partitions)
	}
	for i := range partitions {
		p := &partitions[i]
		if err := c.beginPartition(ctx, p); err != nil {
			return nil, err
		}
		if err := c.copyRecords(ctx, p); err != nil {
			return nil, err
		}
		if err := c.compareRecords(ctx, "verifying", p, p.copyFrom(), p.Next); err != nil {
			return nil, err
		}
	}
	if err := c.checkEnds(ctx, partitions); err != nil {
		return nil, err
	}
	return partitions, c.copyGroups(ctx)
}

// findPartitions returns the partitions of all topics with their ends in both logs.
func (c *copier) findPartitions(ctx context.Context) (partitions []Partition, err error) {
	for _, topic := range c.o.Topics {
		ends, err := c.from.HighWater(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		targetEnds := make([]event.Offset, len(ends))
		if !slices.Contains(c.o.Missing, topic) {
			if targetEnds, err = c.to.HighWater(ctx, topic); err != nil {
				return nil, fmt.Errorf("target: %w", err)
			}
		}
		if err := CheckPartitions(topic, int32(len(ends)), int32(len(targetEnds))); err != nil {
			return nil, err
		}
		for i, end := range ends {
			p := Partition{Topic: topic, Partition: int32(i), Next: end, targetNext: targetEnds[i]}
			if p.First, err = findFirst(ctx, c.from, &p, end); err != nil {
				return nil, fmt.Errorf("source: %w", err)
			}
			if p.targetFirst, err = findFirst(ctx, c.to, &p, p.targetNext); err != nil {
				return nil, fmt.Errorf("target: %w", err)
			}
			p.Present, p.Lacking = int64(max(0, p.targetNext-p.First)), int64(max(0, end-p.copyFrom()))
			partitions = append(partitions, p)
		}
	}
	return partitions, nil
}

// CheckPartitions returns an error unless both logs have the same number of partitions of
// a topic.
func CheckPartitions(topic event.Topic, source, target int32) error {
	if source == target {
		return nil
	}
	return fmt.Errorf("%w: %s has %d partitions at the source and %d at the target: the partition of a repository decides where its documents are, so a copy keeps the number; use a target with %d, or delete the topic there, and the copy creates it; quarry topics copy --repartition changes the number",
		ErrRefused, topic, source, target, source)
}

// findFirst returns the offset of the first record that a log has kept in a partition, or
// end if there is none.
func findFirst(ctx context.Context, log eventlog.Log, p *Partition, end event.Offset) (event.Offset, error) {
	if end == 0 {
		return 0, nil
	}
	last, err := openCursor(ctx, log, p, end-1)
	if errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		return end, nil // all records were deleted
	}
	if err != nil {
		return 0, err
	}
	last.close()
	r, err := openCursor(ctx, log, p, 0)
	if err != nil {
		return 0, err
	}
	defer r.close()
	ctx, cancel := context.WithTimeout(ctx, maxBatchWait)
	defer cancel()
	rec, err := r.reader.Next(ctx)
	return rec.Position.Offset, r.explainError(err)
}

// compareAll compares what both logs have. It returns ErrRefused after it has compared all
// partitions.
func (c *copier) compareAll(ctx context.Context, partitions []Partition) error {
	var refusals []error
	for i := range partitions {
		p := &partitions[i]
		err := p.checkRange()
		if err == nil && p.targetFirst < p.First {
			err = c.checkPlaceholders(ctx, p)
		}
		if err == nil {
			err = c.compareRecords(ctx, "comparing", p, p.First, p.targetNext)
		}
		if err != nil && !errors.Is(err, ErrRefused) {
			return err
		}
		if err != nil {
			p.Refused = err.Error()
			refusals = append(refusals, err)
		}
	}
	if refusals == nil {
		return nil
	}
	return fmt.Errorf("nothing was copied: %w", errors.Join(refusals...))
}

// checkRange compares the ends of a partition in both logs.
func (p *Partition) checkRange() error {
	at := fmt.Sprintf("%s/%d", p.Topic, p.Partition)
	switch {
	case p.targetNext > p.Next:
		return fmt.Errorf("%w: %s ends at offset %d at the target and at %d at the source: a server has used the target, or it is the log of another installation",
			ErrRefused, at, p.targetNext, p.Next)
	case p.targetNext > 0 && p.targetFirst > p.First:
		return fmt.Errorf("%w: %s begins at offset %d at the target and at %d at the source: records were deleted at the target, as by retention.ms; set it to -1, delete the topic there, and copy again",
			ErrRefused, at, p.targetFirst, p.First)
	case p.First > 0 && !p.Topic.Trimmable():
		return fmt.Errorf("%w: %s begins at offset %d at the source: records of a topic that must be kept whole were deleted, so the index cannot be rebuilt from a copy",
			ErrRefused, at, p.First)
	}
	return nil
}

// readLacking reads the records that the target lacks. A gap among them is ErrRefused.
func (c *copier) readLacking(ctx context.Context, partitions []Partition) error {
	var refusals []error
	for i := range partitions {
		p := &partitions[i]
		r, err := openCursor(ctx, c.from, p, p.copyFrom())
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		for err == nil && r.next < p.Next {
			_, err = r.readBatch(ctx, p.Next)
			c.o.Progress(Progress{"reading", p.Topic, p.Partition, r.next, p.Next})
		}
		r.close()
		if err != nil && !errors.Is(err, ErrRefused) {
			return fmt.Errorf("source: %w", err)
		}
		if err != nil {
			p.Refused = err.Error()
			refusals = append(refusals, err)
		}
	}
	return errors.Join(refusals...)
}

// copyRecords appends the records that the target lacks.
func (c *copier) copyRecords(ctx context.Context, p *Partition) error {
	r, err := openCursor(ctx, c.from, p, p.copyFrom())
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer r.close()
	for r.next < p.Next {
		at := r.next
		batch, err := r.readBatch(ctx, p.Next)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if err := c.importBatch(ctx, p, at, batch); err != nil {
			return err
		}
		c.o.Progress(Progress{"copying", p.Topic, p.Partition, r.next, p.Next})
	}
	return nil
}

// importBatch appends records, the first of which must get the offset at.
func (c *copier) importBatch(ctx context.Context, p *Partition, at event.Offset, batch []event.Record) error {
	positions, err := c.to.Import(ctx, p.Topic, p.Partition, batch...)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	for i, position := range positions {
		if want := at + event.Offset(i); position.Offset != want {
			return fmt.Errorf("%w: a record of %s/%d was added at offset %d in place of %d; stop what writes there, delete the topic at the target, and copy again",
				ErrForeignWriter, p.Topic, p.Partition, position.Offset, want)
		}
	}
	return nil
}

// checkEnds returns an error if either log has got records that are not in the copy.
func (c *copier) checkEnds(ctx context.Context, partitions []Partition) error {
	for _, p := range partitions {
		target, err := c.to.HighWater(ctx, p.Topic)
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		if target[p.Partition] != p.Next {
			return fmt.Errorf("%w: %s/%d ends at offset %d in place of %d; stop what writes there, delete the topic at the target, and copy again",
				ErrForeignWriter, p.Topic, p.Partition, target[p.Partition], p.Next)
		}
		source, err := c.from.HighWater(ctx, p.Topic)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if source[p.Partition] != p.Next {
			return fmt.Errorf("%w: %s/%d has %d new records since the copy began: stop every server that uses it, and run the command again, which copies only those",
				ErrGrown, p.Topic, p.Partition, source[p.Partition]-p.Next)
		}
	}
	return nil
}

// copyGroups stores the committed offsets of the groups at the target.
func (c *copier) copyGroups(ctx context.Context) error {
	for _, group := range c.o.Groups {
		offsets, err := c.from.Committed(ctx, group.Name, group.Topic)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if slices.Max(offsets) == 0 {
			continue // nothing was committed
		}
		if err := c.to.Note(ctx, group.Name, group.Topic, offsets); err != nil {
			return fmt.Errorf("target: all records are copied, but not the offsets of groups; stop every server that uses the target and run the command again: %w", err)
		}
	}
	return nil
}
