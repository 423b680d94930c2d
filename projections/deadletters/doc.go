// Package deadletters follows the records that were given up, and replays or drops them.
//
// It answers the question "what was given up and why, and how can it be replayed without
// undoing later events?". The main types are Follower (the open dead letters, in memory),
// ledger.DeadLetter (one of them) and Replayer (appends a replacement for a dead letter,
// or drops it).
//
//	worker, projections ──► quarry.deadletters ──► Follower ──► list, metrics
//	                               ▲                  │
//	                               └── resolution ── Replayer ──► quarry.events
//
// A dead letter is open until a record of the same topic resolves it as replayed, dropped
// or superseded. docs/format/events.md describes all three.
//
// # What supersedes a dead letter
//
// Replayer.Run resolves a dead letter of the workers once a later event of its repository
// did the work:
//
//	Push of a ref            a RevisionIndexed of the ref with a later cause, a later push
//	                         of the ref that was handled, or a refresh of all refs
//	Push of all refs,        a refresh of all refs, or a RevisionIndexed caused by one, by
//	RepositoryRegistered,    a registration or by a change; for a registration also the
//	RepositoryChanged        first full RevisionIndexed
//	each of them             the removal of the repository
//
// # What a replay appends
//
//	Push                     the push again: the fetched state takes precedence
//	RepositoryRegistered,    a refresh of the repository, if the catalog shows the state in
//	RepositoryChanged        the event, or a later event replaced it; else the event again,
//	                         unless the repository was removed later
//	RepositoryRemoved        the event again, unless the repository was registered later
//	RevisionIndexed          a refresh of its ref
//	ErasureRequested,        the event again
//	ScipDeleted
//	ScipUploaded             the event again, unless the index was deleted or erased later
//	PushesHandled, Delivery  the event again: the ledger uses the first answer
//	AuditRecorded            the event again, to quarry.audit: its records contain their times
//	of quarry.accounts       nothing: it could undo later events, and the state of the
//	                         accounts is not available here
//	SegmentsMerged           nothing: the segments that it would have replaced still exist
//
// Later events of the repository in the log take precedence: a dead letter that they
// overtook is refused with ErrOvertaken and should be dropped.
//
// # Invariants
//
//  1. A dead letter is resolved only after the log has acknowledged its replacement. A
//     crash between the two leaves it open, and replaying it again is harmless.
//  2. A replay never undoes a later event.
//  3. The number of open dead letters is exact for those still in the log. Details are
//     held in memory only for the newest MaxHeld, without value and headers, which are
//     read from the log when a dead letter is shown.
//  4. A record that several processes gave up counts as one dead letter.
//
// # Concurrency
//
// All types are safe for concurrent use. Follower.Run starts a goroutine for each
// partition and returns when all have ended. A Replayer processes one dead letter at a
// time. Several processes may resolve the same dead letter, which is harmless.
//
// The check for later events and the append are separate steps: events that are appended
// between them, within milliseconds, are missed.
package deadletters
