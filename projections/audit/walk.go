package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// topicWalk reads the records of a topic and, in parallel, the links and entries of
// the store.
type topicWalk struct {
	v      *verification
	topic  event.Topic
	b      byte
	chain  *chainRow
	report *auditlog.TopicReport
	trail  *trail

	// logLink is the link computed from the log alone; nil until there is an anchor.
	logLink *hash
	// pending holds the digests since the beginning of a log without an anchor.
	pending []pendingLink
	// storedLink is the previous link in the store, expectedLink the correct one if it
	// differs.
	storedLink, expectedLink *hash
	records                  int64 // up to the current one, according to the log
	instances                map[string]uint64

	links, entries *store.Iterator
	// nextLink and nextEntry report whether the iterators have a current row.
	nextLink, nextEntry bool
	takenOffset         event.Offset // of the last link that was read
}

type pendingLink struct {
	at     event.Offset
	digest hash
}

// run walks to the last record that the store has applied.
func (t *topicWalk) run(ctx context.Context) (err error) {
	if err := t.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.links.Close(), t.entries.Close()) }()
	high, err := t.v.o.Log.HighWater(ctx, t.topic)
	if err != nil {
		return err
	}
	end := high[0]
	if t.chain.Begun && end <= t.chain.Last {
		t.trail.broken = true
		t.addFinding(auditlog.FindingCut, end, "the log ends before offset %d, but records up to %d were applied: its tail was cut", end, t.chain.Last)
	}
	if err := t.read(ctx, min(end, t.chain.Last+1)); err != nil {
		return err
	}
	if err := t.reportMissing(math.MaxInt64); err != nil {
		return err
	}
	t.compareEnd()
	return nil
}

func (t *topicWalk) open() (err error) {
	lo := linkKey(t.b, 0)
	if t.links, err = t.v.r.Iter(lo, store.Successor(lo[:3])); err != nil {
		return err
	}
	lo = entriesFrom(t.b, 0)
	if t.entries, err = t.v.r.Iter(lo, store.Successor(lo[:3])); err != nil {
		return errors.Join(err, t.links.Close())
	}
	t.nextLink, t.nextEntry = t.links.First(), t.entries.First()
	return nil
}

func (t *topicWalk) addFinding(kind string, at event.Offset, format string, args ...any) {
	t.v.addFinding(auditlog.Finding{Kind: kind, At: event.Position{Topic: t.topic, Offset: at}, Message: fmt.Sprintf(format, args...)})
}

// read walks through the records below end. It skips records that cannot be read.
func (t *topicWalk) read(ctx context.Context, end event.Offset) error {
	if !t.chain.Begun {
		return nil
	}
	for from := event.Offset(0); from < end; {
		next, err := t.readFrom(ctx, from, end)
		unread, ok := errors.AsType[*unreadError](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		t.trail.broken = true
		t.addFinding(auditlog.FindingUnread, next, "the log does not give this record: %v", unread.error)
		if len(t.v.report.Findings) >= MaxFindings {
			return nil // more findings would not help
		}
		from = next + 1
	}
	return nil
}

// unreadError is a failure of the log.
type unreadError struct{ error }

// readFrom reads records until end or a failure. It returns the offset at which the log
// failed.
func (t *topicWalk) readFrom(ctx context.Context, from, end event.Offset) (event.Offset, error) {
	reader, err := t.v.o.Log.Tail(ctx, t.topic, 0, from)
	if err != nil {
		return from, &unreadError{err}
	}
	defer func() { _ = reader.Close() }() // nothing was written
	for from < end {
		rec, err := nextRecord(ctx, reader)
		if err != nil {
			return from, &unreadError{err}
		}
		if rec.Position.Offset >= end {
			return end, nil
		}
		if err := t.compareRecord(&rec); err != nil {
			return end, fmt.Errorf("%s: %w", rec.Position, err)
		}
		from = rec.Position.Offset + 1
	}
	return end, nil
}

func nextRecord(ctx context.Context, r event.Reader) (event.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return r.Next(ctx)
}

// compareRecord compares one record of the log.
func (t *topicWalk) compareRecord(rec *event.Record) error {
	at := rec.Position.Offset
	if t.report.First < 0 {
		if err := t.findStart(rec); err != nil {
			return err
		}
	}
	if err := t.reportMissing(at); err != nil {
		return err
	}
	t.report.Last = at
	t.report.Records++
	if t.v.o.Progress != nil && t.report.Records%progressEvery == 0 {
		if err := t.v.o.Progress(*t.v.report); err != nil {
			return err
		}
	}
	linked := t.nextLink && t.linkOffset() == at
	_, ev, err := event.Decode(*rec)
	if err != nil {
		return t.reportUnreadable(at, linked, err)
	}
	digest := digestOf(rec)
	t.extendChain(at, digest)
	altered := false
	if linked {
		if altered, err = t.compareLink(at, digest); err != nil {
			return err
		}
	} else {
		t.compareUnlinked(at)
	}
	if seal, ok := ev.(*event.AuditSealed); ok {
		t.checkSeal(at, seal)
	}
	t.meetPins(at)
	if altered {
		_, err := t.takeEntries(at) // which belong to another record
		return err
	}
	wanted := t.expectedEntries(rec, ev)
	if !linked {
		return nil // pruned
	}
	return t.compareEntries(at, wanted)
}

// compareUnlinked handles a record whose link is not stored, because it was pruned or
// never existed.
func (t *topicWalk) compareUnlinked(at event.Offset) {
	if at >= t.chain.Oldest {
		t.trail.broken = true
		t.addFinding(auditlog.FindingInserted, at, "this record was not in the log when those around it were applied")
		return
	}
	t.storedLink, t.expectedLink = nil, nil
	if t.chain.Anchor == nil || at != t.chain.Anchor.Offset {
		return
	}
	h, err := parseHash(t.chain.Anchor.Hash)
	switch {
	case err != nil:
		return
	case t.logLink == nil: // earlier records are gone from the log and from the store
		t.pending, t.logLink = nil, &h
		t.trail.add(at, h)
	case *t.logLink != h:
		t.trail.broken = true
		t.addFinding(auditlog.FindingAltered, at, "what the store kept of this record, or of those before it, is not what the log says; they were pruned, so that it cannot be said which")
	}
	t.storedLink = &h
}

// reportUnreadable handles a record that cannot be decoded. If it was applied, it was
// valid then.
func (t *topicWalk) reportUnreadable(at event.Offset, linked bool, reason error) error {
	if !linked {
		return nil // it is in the dead letters, and not in a chain
	}
	t.trail.broken = true
	t.addFinding(auditlog.FindingAltered, at, "this record was altered: it can no longer be read: %v", reason)
	link, err := t.takeLink()
	if err != nil {
		return err
	}
	t.storedLink, t.expectedLink = &link.sum, nil
	_, err = t.takeEntries(at)
	return err
}

// findStart determines the link from which the chain continues.
func (t *topicWalk) findStart(rec *event.Record) error {
	at := rec.Position.Offset
	t.report.First = at
	if at == 0 {
		h := genesisHash(t.topic)
		t.logLink, t.storedLink = &h, &h
		return nil
	}
	t.reportBeginning(rec)
	var before *hash
	for t.nextLink && t.linkOffset() < at {
		link, err := t.takeLink()
		if err != nil {
			return err
		}
		t.records, before = t.records+1, nil
		if link.anchored {
			before = &link.sum
		}
		if _, err := t.takeEntries(t.takenOffset); err != nil {
			return err
		}
	}
	if a := t.chain.Anchor; a != nil && a.Offset < at {
		t.records += a.Records
		if h, err := parseHash(a.Hash); err == nil && before == nil && a.Offset == t.lastBefore(at) {
			before = &h
		}
	}
	t.logLink, t.storedLink = before, before
	return nil
}

// lastBefore returns the offset of the record before at, if the chain has an anchor and
// no link before at.
func (t *topicWalk) lastBefore(at event.Offset) event.Offset {
	if t.chain.Anchor.Offset >= t.chain.First || t.chain.Anchor.Offset == at-1 {
		return t.chain.Anchor.Offset
	}
	return -1
}

// reportBeginning reports findings for a log whose first record is not the first of the
// topic.
func (t *topicWalk) reportBeginning(rec *event.Record) {
	at := rec.Position.Offset
	keep := t.v.o.Retention
	switch {
	case t.topic == event.TopicAccounts:
		t.addFinding(auditlog.FindingBeginning, at, "the records before offset %d are missing; account records are never deleted", at)
	case keep == 0:
		t.addFinding(auditlog.FindingBeginning, at, "the records before offset %d are gone, though the retention keeps all", at)
	case rec.Time.After(t.v.o.Now().Add(-keep)):
		t.addFinding(auditlog.FindingBeginning, at, "the records before offset %d are gone: the log begins at %s, less than the retention of %s ago",
			at, rec.Time.UTC().Format("2006-01-02T15:04:05Z"), keep)
	}
}

func (t *topicWalk) linkOffset() event.Offset {
	return event.Offset(binary.BigEndian.Uint64(t.links.Key()[3:]))
}

// takeLink returns the next link and advances.
func (t *topicWalk) takeLink() (linkRow, error) {
	t.takenOffset = t.linkOffset()
	row, err := decodeLink(t.links.Key(), t.links.Value())
	t.nextLink = t.links.Next()
	return row, errors.Join(err, t.links.Err())
}

// reportMissing reports links and entries of records before an offset that are missing in
// the log.
func (t *topicWalk) reportMissing(before event.Offset) error {
	for t.nextLink && t.linkOffset() < before {
		link, err := t.takeLink()
		if err != nil {
			return err
		}
		t.trail.broken = true
		if t.report.Last < t.takenOffset && !t.isTailCut() {
			t.addFinding(auditlog.FindingMissing, t.takenOffset, "this record was applied and is gone from the log")
		}
		t.storedLink, t.expectedLink = &link.sum, nil
		if _, err := t.takeEntries(t.takenOffset); err != nil {
			return err
		}
	}
	for t.nextEntry && placeOf(t.entries.Key()).offset < before {
		p := placeOf(t.entries.Key())
		t.v.addFinding(auditlog.Finding{
			Kind: auditlog.FindingEntry, At: event.Position{Topic: t.topic, Offset: p.offset}, Entry: p.entryID(),
			Message: "the store has this entry, and the log no record of it: it was added in the store",
		})
		t.v.rows++
		t.nextEntry = t.entries.Next()
	}
	return t.entries.Err()
}

// isTailCut reports whether the end of the log is known to be missing. Its records are
// then not reported individually.
func (t *topicWalk) isTailCut() bool {
	for i := range t.v.report.Findings {
		f := &t.v.report.Findings[i]
		if f.Kind == auditlog.FindingCut && f.At.Topic == t.topic && f.At.Offset <= t.takenOffset {
			return true
		}
	}
	return false
}

// extendChain computes the next link from the log.
func (t *topicWalk) extendChain(at event.Offset, digest hash) {
	t.records++
	if t.logLink == nil {
		t.pending = append(t.pending, pendingLink{at, digest})
		t.report.Unproven++
		return
	}
	h := t.logLink.next(digest)
	t.logLink = &h
	t.trail.add(at, h)
}

// compareLink compares the link in the store with the one computed from the previous
// stored link, so that each altered record gets its own finding.
func (t *topicWalk) compareLink(at event.Offset, digest hash) (altered bool, err error) {
	link, err := t.takeLink()
	if err != nil {
		return false, err
	}
	t.report.Links++
	stored, other := t.storedLink, t.expectedLink
	t.storedLink, t.expectedLink = &link.sum, nil
	switch {
	case !link.anchored:
		t.storedLink = nil
		if altered = link.sum != digest; altered {
			t.addFinding(auditlog.FindingAltered, at, "this record has changed since it was applied")
		}
	case stored == nil: // the first link after an anchor; seals show whether it is correct
	case stored.next(digest) == link.sum:
	case other != nil && other.next(digest) == link.sum:
		// The previous link was changed in the store and is already reported.
	default:
		altered = true
		should := stored.next(digest)
		t.expectedLink = &should
		t.addFinding(auditlog.FindingAltered, at, "this record has changed since it was applied, or its link was changed in the store")
	}
	t.trail.broken = t.trail.broken || altered
	return altered, nil
}

// compareEnd compares the ends of the chain.
func (t *topicWalk) compareEnd() {
	if t.logLink != nil && t.report.Records > 0 {
		t.report.Hash = t.logLink.String()
	}
	if !t.trail.broken && t.report.Hash != "" && t.chain.Hash != "" && t.report.Last == t.chain.Last && t.report.Hash != t.chain.Hash {
		t.addFinding(auditlog.FindingLink, t.chain.Last, "the head of the chain is %s by the log, and %s in the store", t.report.Hash, t.chain.Hash)
	}
	if t.logLink == nil && t.report.Unproven > 0 {
		t.addFinding(auditlog.FindingBeginning, t.report.First, "the beginning of the log is gone, and no seal covers it")
	}
}

// meetPins marks the pinned heads that equal the current link as found.
func (t *topicWalk) meetPins(at event.Offset) {
	if t.logLink == nil || len(t.v.pins) == 0 {
		return
	}
	h := t.logLink.String()
	left := t.v.pins[:0:0]
	for _, p := range t.v.pins {
		if p.Hash == h && (p.At.Topic == "" || p.At.Topic == t.topic && p.At.Offset == at) {
			t.v.report.Pins++
		} else {
			left = append(left, p)
		}
	}
	t.v.pins = left
}
