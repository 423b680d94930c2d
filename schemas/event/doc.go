// Package event defines the events of the log and their encoding as records.
//
// It answers the question "what happened, and what are its bytes?". Events are small and
// carry references: a repository, a ref, commits, the names of segments. The text of
// repositories is never written to the log.
//
// Main types: Event (Push, RepositoryRegistered, RepositoryChanged,
// RepositoryRemoved, ErasureRequested, RevisionIndexed, SegmentsMerged, ScipUploaded,
// ScipDeleted, SubmodulesListed, PinsChanged, Delivery, PushesHandled; the account events,
// such as UserCreated; AuditRecorded, AuditSealed), Envelope (the CloudEvents attributes), Record (an encoded event)
// and Position (its place in the log).
//
// # Format
//
// A record is a CloudEvents 1.0 event in Kafka's binary content mode;
// docs/format/events.md describes it, and schemas/events contains a JSON Schema of every
// version.
//
//	key      the repository's ID in decimal; none for an event of a partition
//	headers  ce_specversion, ce_id, ce_source, ce_type, ce_time, ce_subject,
//	         content-type
//	value    one JSON object in UTF-8, its fields in the order of the struct
//
// # Invariants
//
//  1. Decode returns every event that Encode accepts unchanged (times keep their instant,
//     to the nanosecond); both apply the same checks.
//  2. Encode is deterministic: the same event has the same bytes.
//  3. A released type never changes its meaning. A field may be added if it is
//     optional; anything else is a new type with the next version.
//  4. Decode ignores unknown fields and never panics, whatever the input.
//  5. The key of a record is the repository of its event, so all events of a repository
//     are in one partition, in order.
//  6. No event holds a credential: a clone URL with a password is rejected, and
//     passwords, keys, tokens, sessions and invitations are hashed.
//  7. Events of accounts and audit have no key: each of their topics has one partition,
//     which orders them.
//
// All functions are safe for concurrent use; they do not modify events.
//
// The package does no I/O and does not depend on a log; pipeline/eventlog transports
// records.
package event
