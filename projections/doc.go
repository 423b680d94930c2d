// Package projections turns the log of events into rows that queries read.
//
// It answers the question "which records has this store applied, and can it be rebuilt
// from the log?". The main types are Projection (a pure function from records to rows),
// Runner (applies every record to every projection, in order, with exactly one effect),
// Checkpoint and Lag (its progress), Decoder (decodes a record once for all projections),
// Home (the directory with the live and the previous version of the stores) and Build
// (builds a version next to the live one: from the log, as a copy with one projection
// rebuilt, or up to an Until, a point in the past). A Fence shows which events have taken
// full effect, in workers and projections, and a Coverage how much of the log readers
// see; a PositionNoter publishes the progress of this process to other processes.
//
//	log ──► Runner ──► Projection.Apply ──► store.Batch + checkpoint ──► Commit ──► Publish
//	          │  partition by partition, one goroutine each
//	          └► quarry.deadletters, for a record that cannot be applied
//
// # Invariants
//
//  1. A projection is a pure function of its records: no clock, no randomness, no network
//     except for immutable, content-addressed objects. The same log yields the same keys
//     and values; projectiontest checks this for every projection.
//  2. The checkpoint is committed in the same batch as the record before it. A record
//     below the checkpoint is never applied again.
//  3. A record is applied by all projections or by none.
//  4. A poison record never stops a partition and never vanishes: it is in the dead
//     letters, with position and reason, before the checkpoint passes it. An unreachable
//     store is not the record's fault: the partition waits for it. Records that no stage
//     can decode, such as events of a later version, are skipped by projections; the
//     workers write their dead letters (event.ForWorkers).
//  5. Readers see a partition as it was between two records.
//  6. A new SchemaVersion means a rebuild next to the live store (Home, Replay),
//     never a migration in place.
//  7. One file, which is replaced atomically, names the live version and the previous
//     one. Versions that it does not name were left unfinished and are removed.
//  8. A version of the past applies no records after its point in time.
//
// # Concurrency
//
// Run starts one goroutine and one reader for each partition, and returns when all have
// ended. Rows of different partitions are disjoint, so batches of partitions do not
// conflict. All other methods of Runner are safe for concurrent use.
//
// # Metrics
//
//	quarry_push_to_searchable_seconds           from the first push received to publication; live records only
//	quarry_projections_lag_records{partition}   records not yet applied
//	quarry_projections_lag_seconds{partition}   age of the oldest record being applied, or time that records have waited
//	quarry_projections_records_total{result}    applied, duplicate, poison, passed
//	quarry_projections_retries_total            failed attempts
//	quarry_projections_apply_seconds            time to apply and commit one record
//	quarry_projections_publish_seconds          time to publish a group of records
//	quarry_projections_blocked                  partitions that wait for a store to respond
//	quarry_projections_caught_up                1 once the records that existed at the start are applied
//	quarry_server_position_failures_total       failed attempts to note the position
//
// The package does not depend on the format of rows or on their content.
package projections
