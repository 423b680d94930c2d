// Package logcopy copies a log to another one, so that an installation can move to it.
//
// It answers the question "what makes one log a continuation of another?". The offsets,
// times in milliseconds, keys, headers and values of all kept records are equal, and so
// are the committed offsets of groups. Positions that projections and accounts have
// stored then stay valid: nothing is replayed or indexed again, and the chains of the
// audit log, whose hashes cover positions and times, still verify.
//
// Main function: Copy. Its steps, each over all topics:
//
//  1. Compare the ends of both logs, and every record that the target has already.
//     Nothing is written if something differs.
//  2. For each partition, give it the beginning of the source (beginPartition), append
//     what it lacks, and read that back.
//  3. Check that neither log has got other records in the meantime.
//  4. Store the committed offsets of the groups.
//
// # Invariants
//
//  1. The target is a prefix of the source at any moment, apart from placeholders below
//     the first record that the source has kept. So a copy that was interrupted at any
//     moment is resumed by another call.
//  2. Numbers of partitions are equal, since they decide where a repository is.
//  3. Memory is bounded by batchRecords and batchBytes.
//
// # Concurrency
//
// Copy is sequential. No server may use the target; other records there are noticed, and
// the copy is refused.
//
// The package does not interpret the contents of records.
package logcopy
