// Package deadletters follows the records that were given up, and takes them up
// again.
//
// It answers the question "what was given up and why, and how does it come back
// without undoing what happened since?". The main types are Follower (the letters
// that are open, in memory), ledger.DeadLetter (one of them) and Replayer (appends what takes
// the place of a letter, or drops it).
//
//	worker, projections ──► quarry.deadletters ──► Follower ──► list, metrics
//	                               ▲                  │
//	                               └── resolution ── Replayer ──► quarry.events
//
// A letter is open until a record of the same topic resolves it: it was replayed
// or dropped. Both are described in docs/format/events.md.
//
// # What a replay appends
//
//	Push                     the push again: state wins, whatever it says
//	RepositoryRegistered,    a refresh of the repository, if the catalog shows what the
//	RepositoryChanged        event says, or a later event said more; else the event again,
//	                         unless it was removed after it
//	RepositoryRemoved        the event again, unless it was registered after it
//	RevisionIndexed          a refresh of its ref
//	ErasureRequested,        the event again
//	ScipDeleted
//	ScipUploaded             the event again, unless the index was deleted or erased after it
//	PushesHandled, Delivery  the event again: the ledger takes the first answer
//	AuditRecorded            the event again, to quarry.audit: its records have their own time
//	of quarry.accounts       nothing: it could undo later events, and the state of the
//	                         accounts is not available here
//	SegmentsMerged           nothing: what it would have replaced is still there
//
// What came later in the log of the repository wins: a letter that it overtook is
// refused with ErrOvertaken, to be dropped.
//
// # Invariants
//
//  1. A letter is resolved only after the log has acknowledged what takes its
//     place. A process that dies between the two leaves it open, and replaying it
//     again does no harm.
//  2. A replay never undoes a later event.
//  3. The number of open letters is exact, as far as the log keeps them; which they
//     are is held for the newest MaxHeld only, without value and headers: those are
//     read from the log when one is shown.
//  4. A record that several processes gave up is one letter.
//
// # Concurrency
//
// All types are safe for concurrent use. Run starts a goroutine for each partition
// and returns when all are gone. A Replayer does one thing at a time.
//
// The check for later events and the append are two steps: what is appended
// between them, within milliseconds, is not seen.
package deadletters
