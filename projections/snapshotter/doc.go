// Package snapshotter creates snapshots of the live version of the projections.
//
// It answers the question "when is a snapshot created, and by which process?". With an
// interval, one process of the installation creates them (Options.Lead): the next one as
// soon as the newest one that can be used is as old as the interval. Of the processes of a
// share, one creates snapshots of its partitions, unless newer ones have them. On request, each
// process with projections creates one.
//
// # Invariants
//
//  1. A version of the past, or one that has not caught up with the log, is never written.
//  2. Older snapshots are deleted only after another one is complete.
//  3. A failure is logged, counted and shown in the list, and never ends the process.
//
// # Concurrency
//
// A Snapshotter is safe for concurrent use. New starts no goroutine; Run blocks, and returns
// when the snapshot that is being created has ended.
//
// This package does not know the format of a snapshot: projections/snapshots does.
package snapshotter
