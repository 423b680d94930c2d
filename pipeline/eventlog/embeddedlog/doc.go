// Package embeddedlog is the event log inside the process: durable, without
// another server, and the default when no Kafka is configured.
//
// It answers the question "where do events live on one machine?": in a Pebble
// database of their own directory, every append synced before it is
// acknowledged.
//
// Main type: Log, an eventlog.Log. Open opens or creates one.
//
// # Keys
//
//	key                                            value
//	'm' "log"                                      format version (1 byte), partitions (4 bytes)
//	'r' topic 0x00 partition(4) offset(8)          a record in its frame
//	'g' topic 0x00 group 0x00 partition(4)         committed offset (8 bytes)
//	'b' topic 0x00 partition(4)                    first offset that is kept (8 bytes), once it was trimmed
//
// Numbers are big-endian, so the order of keys is the order of offsets. The
// page docs/format/eventlog.md draws the frame of a record and argues its
// checksum.
//
// # Invariants
//
//  1. The offsets of a partition are dense from 0: the next one is one above the
//     last key, or the first that is kept if there is no key. Nothing is deleted but
//     what Trim deletes, of topics that may lose their beginning: the log is the
//     truth from which projections are rebuilt.
//  2. A record can be read only after the sync that made it durable.
//  3. The number of partitions is fixed when the log is created: the place of a
//     repository depends on it.
//  4. Records written together become durable together or not at all.
//
// # Durability
//
// Concurrent appends share one sync. Pebble ends the process when it cannot write
// its write-ahead log, since the state of the disk is then unknown. To return an
// error for a full disk rather than crash, Append refuses records with ErrFull
// while less than Options.MinFreeBytes are free: records of event.TopicEvents
// first, and others at half of that, so that the audit log can still be written
// when changes are refused, and repositories can be removed, which frees space.
// Options.DiskFull is called when other programs use up the rest.
//
// # Concurrency
//
// A directory has one owner process, held by a lock; consumer groups are
// therefore kept in memory, and only their committed offsets on disk. All methods
// of Log are safe for concurrent use. Goroutines exist while there is something
// to write, while Pebble compacts, and inside Join.
//
// Metrics are in metrics.go.
//
// The package must not look into records.
package embeddedlog
