package auditlog

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// The kinds of findings.
const (
	FindingAltered   = "altered"   // a record differs from the one that was applied
	FindingMissing   = "missing"   // a record is gone from the log
	FindingInserted  = "inserted"  // a record was not there when it should have been applied
	FindingLink      = "link"      // a link of the chain was changed in the store
	FindingCut       = "cut"       // the log ends before the last applied record
	FindingBeginning = "beginning" // the beginning of the log is gone
	FindingSeal      = "seal"      // a seal is forged, or belongs to another chain
	FindingEntry     = "entry"     // an entry in the store differs from its record
	FindingPin       = "pin"       // a pinned head is not in the chain
	FindingUnread    = "unreadable"
)

// Finding is a deviation from what was written.
type Finding struct {
	Kind string
	// At is the position of the record; without a topic, the finding concerns no record.
	At event.Position
	// Entry is the ID of an entry, if the finding concerns one.
	Entry   string
	Message string
}

// TopicReport describes what was compared in one topic.
type TopicReport struct {
	Topic event.Topic
	// First is the offset of the first record of the log, Last that of the last compared
	// record; -1 if there is none.
	First, Last event.Offset
	// Records counts the compared records, Links those whose link is stored, Entries the
	// entries of the latter.
	Records, Links, Entries int64
	// Unproven counts records at the beginning of a trimmed log that no seal covers.
	Unproven int64
	// Hash is the head computed from the log; empty if the chain has no anchor.
	Hash string
}

// Report is the result of a verification, or its progress.
type Report struct {
	Topics []TopicReport
	// Findings are ordered by topic and offset.
	Findings []Finding
	// More counts the findings beyond the bound of the projection.
	More int
	// Seals counts the valid seals, SealsUnchecked those that could not be checked
	// because there is no key or the sealed records are no longer stored.
	Seals, SealsUnchecked int
	// SealedAt is the time of the last valid seal.
	SealedAt time.Time
	// Pins counts the pinned heads that were found in the chain.
	Pins int
}

// Chains returns the heads computed from the log, in the form of Head.Pin.
func (r *Report) Chains() []string {
	var out []string
	for i := range r.Topics {
		if t := &r.Topics[i]; t.Hash != "" {
			out = append(out, pinText(t.Topic, t.Last, t.Hash))
		}
	}
	return out
}
