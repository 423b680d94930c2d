package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// trimMargin is the part of the retention for which records stay in the log after
// their entries were pruned: nothing that is listed is a repetition of a group
// before them, and clocks may differ.
const trimMargin = 24

// errChain says that what would be kept of the log does not lead to the chain.
var errChain = errors.New("the log does not lead to what the store kept of the pruned records; nothing is trimmed, see quarry audit verify")

// Trimming is what a log of event.TopicAudit need not keep: records from First to
// below Before. Nothing if they are equal.
type Trimming struct{ First, Before event.Offset }

// PlanTrim finds it: the records before the newest seal that seals the record
// directly before it and that was pruned, with a margin. A log that begins with
// that seal can be verified from its first record on, by an existing store and by a
// rebuilt one. The store is durable up to there. PlanTrim reads the records to
// trim, and refuses if they do not lead to the anchor of the chain.
func PlanTrim(ctx context.Context, s *store.Store, log projections.Tailer, retention time.Duration) (Trimming, error) {
	chain, err := readChain(s, topicRecords)
	a := chain.anchorOfPruned()
	if err != nil || a == nil || retention <= 0 {
		return Trimming{}, err
	}
	p := &trimPlan{last: a.Offset, until: chain.At.Add(-retention - retention/trimMargin)}
	if err := p.read(ctx, log); err != nil {
		return Trimming{}, fmt.Errorf("audit: plan to trim: %w", err)
	}
	if p.before <= p.first {
		return Trimming{}, nil
	}
	if p.sum.String() != a.Hash || p.records != a.Records {
		return Trimming{}, fmt.Errorf("audit: plan to trim below %d: %w", p.before, errChain)
	}
	return Trimming{p.first, p.before}, s.Sync()
}

// anchorOfPruned returns the link of the last record that was pruned; nil if none
// was.
func (c *chainRow) anchorOfPruned() *anchor {
	if c == nil || c.Anchor == nil || c.Anchor.Offset < c.First || c.Oldest != c.Anchor.Offset+1 {
		return nil
	}
	return c.Anchor
}

// trimPlan is one pass over the records that were pruned.
type trimPlan struct {
	// last is the anchor's record, until the latest time of a seal that is chosen.
	// It precedes the anchor, so a verification reads it first.
	last  event.Offset
	until time.Time
	first event.Offset
	begun bool
	// before is the seal that was chosen last, sum and records what follows from it.
	before  event.Offset
	sum     hash
	records int64
}

// read skips the records up to last.
func (p *trimPlan) read(ctx context.Context, log projections.Tailer) (err error) {
	reader, err := log.Tail(ctx, event.TopicAudit, 0, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	for {
		rec, err := nextRecord(ctx, reader)
		if err != nil {
			return err
		}
		at := rec.Position.Offset
		if !p.begun {
			p.first, p.before, p.begun = at, at, true
		}
		if at > p.last {
			return nil
		}
		if err := p.addRecord(&rec); err != nil || at == p.last {
			return err
		}
	}
}

// addRecord adds a record to what follows from the seal, or chooses it.
func (p *trimPlan) addRecord(rec *event.Record) error {
	_, ev, err := event.Decode(*rec)
	if err != nil {
		return nil // it is in no chain
	}
	at := rec.Position.Offset
	if seal, ok := ev.(*event.AuditSealed); ok && at > p.first && at < p.last && !rec.Time.After(p.until) {
		head, ok := (&sealRow{Chains: seal.Chains}).headOf(event.TopicAudit)
		if ok && head.Offset == at-1 {
			if p.sum, err = parseHash(head.Hash); err != nil {
				return fmt.Errorf("%s: %w", rec.Position, err)
			}
			p.before, p.records = at, head.Records
		}
	}
	p.sum = p.sum.next(digestOf(rec))
	p.records++
	return nil
}
