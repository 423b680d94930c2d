// Package event defines the events of the log and how each is written in a
// record.
//
// It answers the question "what happened, and what are its bytes?". Events are
// small and carry references: a repository, a ref, commits, the names of
// segments. Text never goes through the log.
//
// Main types: Event (Push, RepositoryRegistered, RepositoryChanged,
// RepositoryRemoved, ErasureRequested, RevisionIndexed, SegmentsMerged, ScipUploaded,
// ScipDeleted, Delivery, PushesHandled; the account events, such as UserCreated; AuditRecorded,
// AuditSealed), Envelope (the CloudEvents attributes), Record (an encoded event)
// and Position (its place in the log).
//
// # Format
//
// A record is a CloudEvents 1.0 event in Kafka's binary content mode; the page
// docs/format/events.md draws it and schemas/events holds a JSON Schema of every
// version.
//
//	key      the repository's ID in decimal; none for an event of a partition
//	headers  ce_specversion, ce_id, ce_source, ce_type, ce_time, ce_subject,
//	         content-type
//	value    one JSON object in UTF-8, its fields in the order of the struct
//
// # Invariants
//
//  1. What Encode accepts, Decode returns unchanged (times keep their instant, to
//     the nanosecond); both apply the same checks.
//  2. Encode is a function of its arguments: the same event has the same bytes.
//  3. A released type never changes its meaning. A field may be added if it is
//     optional; anything else is a new type with the next version.
//  4. Decode ignores fields it does not know and never panics, whatever the
//     bytes are.
//  5. A record's key is that of its event's repository, so the order of one
//     partition is the order of the repository.
//  6. No event holds a credential: a clone URL with a password is refused, and of
//     passwords, keys, tokens, sessions and invitations there are hashes.
//  7. Events of accounts and audit have no key: their topics have one partition,
//     whose order is theirs.
//
// All functions are safe for concurrent use; events are not changed by them.
//
// The package does no I/O and knows no log: pipeline/eventlog carries records.
package event
