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

// trimMargin is the part of the retention for which records stay in the log after their
// entries were pruned. Until then, a repetition of a pruned group may still be
// recognized, and clocks may differ.
const trimMargin = 24

// errChain reports that the chain cannot be computed from the records that would remain
// in the log.
var errChain = errors.New("the log does not lead to what the store kept of the pruned records; nothing is trimmed, see quarry audit verify")

// Trimming is the range of records that a log of event.TopicAudit no longer needs: from
// First up to, but not including, Before. It is empty if they are equal.
type Trimming struct{ First, Before event.Offset }

// PlanTrim determines the records to trim: those before the newest pruned seal, with a
// margin, that seals the record directly before it. A log that begins with that seal can
// be verified from its first record on, by an existing store and by a rebuilt one. The
// store must be durable up to there. PlanTrim reads the records to trim, and returns an
// error if they do not lead to the anchor of the chain.
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

// anchorOfPruned returns the link of the last pruned record, or nil if none was pruned.
func (c *chainRow) anchorOfPruned() *anchor {
	if c == nil || c.Anchor == nil || c.Anchor.Offset < c.First || c.Oldest != c.Anchor.Offset+1 {
		return nil
	}
	return c.Anchor
}

// trimPlan is one pass over the pruned records.
type trimPlan struct {
	// last is the record of the anchor. until is the latest time of a seal that may be
	// chosen. The chosen seal precedes the anchor, so a verification reads it first.
	last  event.Offset
	until time.Time
	first event.Offset
	begun bool
	// before is the last chosen seal; sum and records are computed from it.
	before  event.Offset
	sum     hash
	records int64
}

// read processes the records up to last.
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

// addRecord adds a record to the chain that starts at the seal, or chooses the record as
// the seal.
func (p *trimPlan) addRecord(rec *event.Record) error {
	_, ev, err := event.Decode(*rec)
	if err != nil {
		return nil // it is not in a chain
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
