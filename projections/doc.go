// Package projections turns the log of events into rows that queries read.
//
// It answers the question "which records has this store applied, and can it be
// rebuilt from the log?". The main types are Projection (a pure function from
// records to rows), Runner (applies every record to every projection, in order,
// once in effect), Checkpoint and Lag (how far it is), Decoder (decodes a record
// once for all projections), Home (the directory of the versions of the stores: the
// live one and the previous one) and Build (makes a version next to the live one:
// from the log, as a copy with one projection rebuilt, or up to a moment of the
// past, an Until). A Fence says which events have had their whole effect, workers and
// projections together; a PositionNoter lets other processes see how far this one is.
//
//	log ──► Runner ──► Projection.Apply ──► store.Batch + checkpoint ──► Commit ──► Publish
//	          │  partition by partition, one goroutine each
//	          └► quarry.deadletters, for a record that cannot be applied
//
// # Invariants
//
//  1. A projection is a pure function of its records: no clock, no randomness,
//     no network except for immutable objects named by their content. Same log, same
//     keys and values; projectiontest holds every projection to it.
//  2. The checkpoint is in the batch of the record that it follows. A record below
//     the checkpoint is never applied again.
//  3. A record is applied by all projections or by none.
//  4. A poison record never stops a partition and never vanishes: it is in the
//     dead letters, with position and reason, before the checkpoint passes it.
//     A store that cannot be reached is no fault of the record: the partition
//     waits for it. What no stage can read, an event of a later version among it,
//     the workers bury, and projections skip (event.ForWorkers).
//  5. Readers see a partition as it was between two records.
//  6. A new SchemaVersion means a rebuild next to the live store (Home, Replay),
//     never a migration in place.
//  7. The live version and the one before are named by one file, which is replaced
//     at once. What it does not name was left unfinished, and is removed.
//  8. A version of the past applies nothing beyond its moment.
//
// # Concurrency
//
// Run starts one goroutine and one reader for each partition, and returns when all
// have ended. Rows of different partitions are disjoint, so batches of partitions
// do not conflict. Everything else of Runner is safe for concurrent use.
//
// # Metrics
//
//	quarry_push_to_searchable_seconds           from the first push received to publication; live records only
//	quarry_projections_lag_records{partition}   records not yet applied
//	quarry_projections_lag_seconds{partition}   age of the oldest record being applied, or how long none came
//	quarry_projections_records_total{result}    applied, duplicate, poison, passed
//	quarry_projections_retries_total            attempts that failed
//	quarry_projections_apply_seconds            time to apply and commit one record
//	quarry_projections_publish_seconds          time to publish a group of records
//	quarry_projections_blocked                  partitions that wait for a store to answer
//	quarry_projections_caught_up                1 once the records there at the start are applied
//	quarry_server_position_failures_total       notes of the position that failed
//
// The package knows no format of a row and decides nothing about content.
package projections
