package auditlog

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Entry is one entry of the audit log.
type Entry struct {
	audit.Record
	// ID is derived from Position and Index.
	ID string
	// Position is the position of the record in the log, Index the index of the entry in
	// the record.
	Position event.Position
	Index    int
	// Refused is the reason why a change of the accounts had no effect; empty if it had
	// an effect.
	Refused string
}

// Query selects entries. The zero value selects all.
type Query struct {
	// Since and Until are inclusive, to the millisecond; zero is no bound.
	Since, Until time.Time
	Action       audit.Action
	// Actor is an ActorID.
	Actor string
	// Offset is the number of entries to skip; Limit bounds the returned entries.
	Offset, Limit int
}

// Page is a part of the log, newest first: by time, and within a millisecond by position.
type Page struct {
	Entries []*Entry
	// Total counts the entries that the query selects.
	Total int
}
