// Package embeddedlog is the event log inside the process: durable, without another
// server, and the default if Kafka is not configured.
//
// It answers the question "where do events live on one machine?": in a Pebble database in
// its own directory. Every append is synced before it is acknowledged.
//
// Main type: Log, an eventlog.Log. Open opens or creates one.
//
// # Keys
//
//	key                                            value
//	'm' "log"                                      format version (1 byte), partitions (4 bytes)
//	'r' topic 0x00 partition(4) offset(8)          a record in its frame
//	'g' topic 0x00 group 0x00 partition(4)         committed offset (8 bytes)
//	'b' topic 0x00 partition(4)                    first offset that is kept (8 bytes), after a trim
//
// Numbers are big-endian, so the order of keys is the order of offsets.
// docs/format/eventlog.md describes the frame of a record and explains its checksum.
//
// # Invariants
//
//  1. The offsets of a partition are contiguous from 0: the next offset is one above
//     the last key, or the first kept offset if there is no key. Only Trim deletes
//     records, and only from topics that may be trimmed: the log is the source of
//     truth from which projections are rebuilt.
//  2. A record can be read only after the sync that made it durable.
//  3. The number of partitions is fixed when the log is created, because the
//     partition of a repository depends on it.
//  4. Records written together become durable together or not at all.
//
// # Durability
//
// Concurrent appends share one sync. Pebble ends the process when it cannot write its
// write-ahead log, since the state of the disk is then unknown. To return an error for a
// full disk instead of crashing, Append refuses records with ErrFull while less than
// Options.MinFreeBytes are free. Records of event.TopicEvents are refused first, other
// records at half of that, so that the audit log can still be written when changes are
// refused, and repositories can be removed, which frees space. Options.DiskFull is called
// when other programs use up the rest.
//
// # Concurrency
//
// One process owns a directory and holds a lock on it. So consumer groups are kept in
// memory, and only their committed offsets are on disk. All methods of Log are safe for
// concurrent use. Goroutines exist only while there is something to write, while Pebble
// compacts, and inside Join.
//
// metrics.go defines the metrics.
//
// The package must not interpret the contents of records.
package embeddedlog
