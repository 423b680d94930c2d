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
	// Position is that of the record in the log, Index the place in it.
	Position event.Position
	Index    int
	// Refused says why a change of the accounts had no effect; empty: it had.
	Refused string
}

// Query selects entries. The zero value selects all.
type Query struct {
	// Since and Until are inclusive, to the millisecond; zero is no bound.
	Since, Until time.Time
	Action       audit.Action
	// Actor is an ActorID.
	Actor string
	// Offset entries are skipped; Limit bounds those that are returned.
	Offset, Limit int
}

// Page is a part of the log, newest first: by time, and within a millisecond by
// place.
type Page struct {
	Entries []*Entry
	// Total counts the entries that the query selects.
	Total int
}
