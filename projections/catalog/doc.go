// Package catalog is the projection of registered repositories and their refs, with the
// times that show how fresh they are.
//
// It answers the question "which repositories and refs are there, and as of when?". The
// main types are Catalog (the projection), Snapshot (all repositories at one point in
// time, in memory), Repository and Ref.
//
// # Keys
//
// All keys begin with the family 'c'. Integers are big-endian.
//
//	c r repository(8)       → repositoryRow, JSON
//	c f repository(8) ref   → refRow, JSON; kept with an empty commit when the ref
//	                          is deleted, so that a late event cannot revive it
//	c m repository(8)       → private mark(8) of a removed repository, until it is
//	                          registered again
//
// docs/format/catalog.md describes the values.
//
// # Invariants
//
//  1. Rows depend only on records. Times come from the events, never from the clock:
//     IndexedAt is RevisionIndexed.IndexedAt of the last applied event, PushedAt the
//     newest commit time of the existing refs.
//
//  2. An ID names one repository: an event of another identity with the same ID
//     is refused and counted, and changes no row.
//
//  3. A Snapshot is immutable. Callers must not modify its slices.
//
//  4. A removed repository leaves no rows but its private mark.
//
//  5. A repository has the newest precise indexes of each path and tool, as many as the
//     last event for these requests. After an erasure it has none, because their texts
//     may quote any file.
//
//  6. Events are applied by the rules of projections/internal/accept, so that
//     catalog and places always agree.
//
//  7. A description that was read before the last event that said "private" does not make
//     the repository public (accept.Visibility), whatever the order of the appends.
//
// # Concurrency
//
// Readers use a Snapshot and need no lock. The Runner calls the methods of
// projections.Stateful.
//
// Skipped files belong to manifests; places.View lists them.
package catalog
