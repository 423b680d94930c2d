package audit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// storedEntry is a row of the store.
type storedEntry struct {
	place place
	value []byte
}

// takeEntries returns the stored entries of a record, and advances past them.
func (t *topicWalk) takeEntries(at event.Offset) (entries []storedEntry, err error) {
	for t.nextEntry {
		p := placeOf(t.entries.Key())
		if p.offset != at {
			break
		}
		entries = append(entries, storedEntry{p, bytes.Clone(t.entries.Value())})
		t.v.rows++
		t.nextEntry = t.entries.Next()
	}
	return entries, t.entries.Err()
}

// compareEntries compares the stored entries of a record with the expected ones.
func (t *topicWalk) compareEntries(at event.Offset, wanted []entryRow) error {
	stored, err := t.takeEntries(at)
	if err != nil {
		return err
	}
	t.report.Entries += int64(len(stored))
	for i := range wanted {
		p := place{t.b, at, uint16(i)}
		found := len(stored) > 0 && stored[0].place == p
		if !found {
			t.reportEntry(p, "the record has this entry, and the store has not")
			continue
		}
		if err := t.compareEntry(p, stored[0].value, &wanted[i]); err != nil {
			return err
		}
		stored = stored[1:]
	}
	for _, extra := range stored {
		t.reportEntry(extra.place, "the store has this entry, and the record has not")
	}
	return nil
}

func (t *topicWalk) reportEntry(p place, message string) {
	t.v.addFinding(auditlog.Finding{Kind: auditlog.FindingEntry, At: event.Position{Topic: t.topic, Offset: p.offset}, Entry: p.entryID(), Message: message})
}

// expectedEntries returns the entries of a record, without the reasons for refusals.
func (t *topicWalk) expectedEntries(rec *event.Record, ev event.Event) []entryRow {
	recorded, ok := ev.(*event.AuditRecorded)
	switch {
	case ok && t.isRepeated(rec):
		return nil
	case ok:
		return recordEntries(recorded)
	case t.b == topicAccounts:
		return accountEntries(ev, "")
	}
	return nil
}

// isRepeated does the same as change.isRepeated for the records of this log.
func (t *topicWalk) isRepeated(rec *event.Record) bool {
	id := event.IDOf(*rec)
	slash := strings.LastIndexByte(id, '/')
	if slash < 0 {
		return false
	}
	number, err := strconv.ParseUint(id[slash+1:], 10, 63)
	if err != nil {
		return false
	}
	if number <= t.instances[id[:slash]] {
		return true
	}
	t.instances[id[:slash]] = number
	return false
}

// compareEntry compares an entry, and checks that every list contains it. The reason for
// a refusal depends on the accounts and not on the record, so it is not compared.
func (t *topicWalk) compareEntry(p place, value []byte, want *entryRow) error {
	var have entryRow
	if err := decodeRow(entryKey(p), value, &have); err != nil {
		t.reportEntry(p, "the entry in the store cannot be read: "+err.Error())
		return nil
	}
	want.Refused = have.Refused
	expected, err := encodeRow(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(expected, value) {
		t.reportEntry(p, "the entry in the store differs from its record: it was changed in the store")
		return nil
	}
	ms := unixMillis(have.At)
	for _, l := range have.listIDs() {
		_, listed, err := t.v.r.Read(listedKey(l, ms, p))
		if err != nil {
			return err
		}
		if !listed {
			t.reportEntry(p, "a list of the store does not have this entry: it was hidden")
			return nil
		}
	}
	return nil
}

// checkSeal checks that a seal was made with the server's key and belongs to this chain.
func (t *topicWalk) checkSeal(at event.Offset, s *event.AuditSealed) {
	if t.v.o.Key == nil {
		t.v.report.SealsUnchecked++
		return
	}
	if reason := t.v.o.Key.checkSeal(s); reason != "" {
		t.addFinding(auditlog.FindingSeal, at, "invalid seal: %s", reason)
		return
	}
	if t.logLink == nil {
		t.anchorAt(s)
	}
	checked := true
	for _, h := range s.Chains {
		good, known := t.checkSealedHead(at, h)
		if known && !good {
			return
		}
		checked = checked && known
	}
	if checked {
		t.v.report.Seals++
		t.v.report.SealedAt = s.At
	} else {
		t.v.report.SealsUnchecked++
	}
}

// checkSealedHead compares the head in a seal with the chain computed from the log or, if
// a record of the log is known to be altered, with the stored chain.
func (t *topicWalk) checkSealedHead(at event.Offset, h event.ChainHead) (good, known bool) {
	trail := t.v.trails[h.Topic]
	if trail == nil {
		return false, false
	}
	have, ok := trail.links[h.Offset]
	if trail.broken || !ok {
		b, _ := topicByte(h.Topic)
		value, found, err := t.v.r.Read(linkKey(b, h.Offset))
		if err != nil || !found {
			return false, false
		}
		link, err := decodeLink(nil, value)
		if err != nil || !link.anchored {
			return false, false
		}
		have = link.sum
	}
	if have.String() == h.Hash {
		return true, true
	}
	t.addFinding(auditlog.FindingSeal, at, "it seals %s/0/%d, whose link is another now: a record at or before that one, and behind what the seal before it seals, was altered, removed or added",
		h.Topic, h.Offset)
	return false, true
}

// anchorAt continues from a seal if the beginning of the log is gone.
func (t *topicWalk) anchorAt(s *event.AuditSealed) {
	sealed, ok := (&sealRow{Chains: s.Chains}).headOf(t.topic)
	if !ok || sealed.Offset < t.report.First-1 {
		return
	}
	sum, err := parseHash(sealed.Hash)
	if err != nil {
		return
	}
	t.report.Unproven = 0
	for _, p := range t.pending {
		if p.at <= sealed.Offset {
			t.report.Unproven++
			continue
		}
		sum = sum.next(p.digest)
		t.trail.add(p.at, sum)
	}
	t.trail.add(sealed.Offset, mustHash(sealed.Hash))
	t.pending, t.logLink = nil, &sum
}

// mustHash parses a text that is known to be valid.
func mustHash(s string) hash {
	h, err := parseHash(s)
	if err != nil {
		panic("audit: " + err.Error())
	}
	return h
}
