package auditlog

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// The kinds of findings.
const (
	FindingAltered   = "altered"   // a record is not what it was when it was applied
	FindingMissing   = "missing"   // a record is gone from the log
	FindingInserted  = "inserted"  // a record was not there when it should have been applied
	FindingLink      = "link"      // a link of the chain was changed in the store
	FindingCut       = "cut"       // the log ends before what was applied
	FindingBeginning = "beginning" // the beginning of the log is gone
	FindingSeal      = "seal"      // a seal is forged, or is not of this chain
	FindingEntry     = "entry"     // an entry in the store is not what its record says
	FindingPin       = "pin"       // a pinned head is not in the chain
	FindingUnread    = "unreadable"
)

// Finding is something that is not as it was written.
type Finding struct {
	Kind string
	// At is the position of the record; without a topic the finding concerns no
	// record.
	At event.Position
	// Entry is the ID of an entry, where one is meant.
	Entry   string
	Message string
}

// TopicReport says what was compared of a topic.
type TopicReport struct {
	Topic event.Topic
	// First is the offset of the first record of the log, Last that of the last one
	// that was compared; -1 if there is none.
	First, Last event.Offset
	// Records counts the records that were compared, Links those of them whose link
	// is kept, Entries the entries of these.
	Records, Links, Entries int64
	// Unproven counts records at the beginning of a log that was cut, which no seal
	// covers.
	Unproven int64
	// Hash is the head that follows from the log; empty if the chain has no anchor.
	Hash string
}

// Report is the outcome of a verification, or how far it is.
type Report struct {
	Topics []TopicReport
	// Findings are ordered by topic and offset.
	Findings []Finding
	// More counts the findings beyond the bound of the projection.
	More int
	// Seals counts the seals that are good, SealsUnchecked those that could not be
	// checked: there is no key, or what they seal is no longer kept.
	Seals, SealsUnchecked int
	// SealedAt is when the last good one was made.
	SealedAt time.Time
	// Pins counts the pinned heads that are in the chain.
	Pins int
}

// Chains returns the heads that follow from the log, in the form of Head.Pin.
func (r *Report) Chains() []string {
	var out []string
	for i := range r.Topics {
		if t := &r.Topics[i]; t.Hash != "" {
			out = append(out, pinText(t.Topic, t.Last, t.Hash))
		}
	}
	return out
}
