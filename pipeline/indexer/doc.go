// Package indexer handles the workers' records: it fetches a push into the mirror,
// analyzes the new blobs, seals them in segments and announces the revision in the
// log.
//
// It answers the question "which documents does this revision add, and how does
// its manifest change?".
//
// # From an event to a RevisionIndexed
//
//	RepositoryRegistered, -Changed   fetch everything selected, index each ref,
//	Push without a ref               take back the refs that are gone
//	Push of a selected ref           fetch that ref, index it or take it back
//	Push of another ref              nothing
//	RepositoryRemoved                remove the mirror; what came before it and was
//	                                 not handled yet is skipped
//
// Pushes of a repository that wait together are one group: their refs are brought
// by one fetch, and each ref is announced once, with its last push as the cause and the
// time at which the first was received. One PushesHandled answers the pushes that led
// to no RevisionIndexed of their ref.
//
//	fetch → bases → batch: changes → known documents → units → segments → RevisionIndexed → indexed state
//
// # Files, in the order of a push
//
//	indexer.go      Handle: which event is it, and what does an error mean to the worker
//	group.go        pushes that wait together
//	pushes.go       handlePushes: the life of these pushes
//	repository.go   all refs of a repository; what was registered
//	indexing.go     indexRefs: refs that are news, batch by batch
//	family.go       relatives, whose documents are shared
//	bases.go        what each ref is compared with
//	changes.go      the paths that differ
//	known.go        documents that a live segment has
//	units.go        the others are read, analyzed and sealed
//	announce.go     RevisionIndexed in the log, then the indexed state of the mirror
//	removedrefs.go  the same for refs that were deleted
//	outcomes.go     PushesHandled for the pushes that led to none of these
//
// # Batches
//
// Refs that come together are indexed together, in batches (docs/adr/0022). The base
// of a ref is the commit of it that was indexed last, or, for a ref that is new, an
// indexed commit of the default branch or of a ref nearby; without any the changes are
// the whole manifest. A blob is read once for all refs of a batch, and not at all if a
// live segment holds its documents, which is so for the blobs in the trees of the
// commits that the log announced last, of this repository and of its relatives, whose
// history begins with the same commit (docs/adr/0024). The blobs to read are cut into units of adjacent
// paths; each unit becomes one segment, or more if its text grows in decoding. Units of
// all repositories share Options.Slots, with the merges of the process.
//
// # Invariants
//
//  1. State wins: what is indexed is what the mirror has after the fetch, whatever
//     the event says. An event that is repeated, late or out of order changes
//     nothing once the ref is indexed at the commit fetched.
//  2. The order is: segments in the store, changes in the store, event in the log,
//     indexed state in the mirror. A crash between two steps repeats the steps
//     after the last that is durable; IDs are derived from the event that is
//     handled, so the repetition is recognised.
//     When a partition is assigned, before its first record, all of its mirrors
//     are made to follow the log, and after an announcement that failed the mirror
//     of that repository, so that no event names a base that is not there. While a
//     partition is assigned to a process, no other process announces for it. The log is read from the last
//     mark on, which is kept next to the mirrors and made at the low-water mark.
//  3. A document is analysed in the language of its place; a blob that stands in
//     two languages is two documents.
//     A document that an event names is in a segment of its batch, or a ref that the
//     log has announced names it until then, one of this repository or of a relative in
//     its partition. What the log may have dropped is read again. Relatives announce one
//     at a time, each after a look at what it relies on.
//  4. Losing a mirror costs a full manifest, no more. What was registered is then
//     read from the log, and so are the refs that have gone meanwhile: by each look
//     at all refs, until the mirror is known to have every ref that the log has.
//  5. Each push is answered in the log before it is done: by a RevisionIndexed of
//     its ref whose cause is the push or a later event, or by name in a
//     PushesHandled. An answer may come twice after a crash.
//
// # What fails, and whose fault it is
//
//	refused, unauthorized, too large,  the repository's: a dead letter at once,
//	no default branch                  until a person or a later push changes it
//	unreachable, timed out             the host's: its repositories wait, and are
//	                                   tried for worker.Options.Patience
//	disk full                          ours: all repositories wait, without end
//	not there, any other of git        tried worker.Options.Attempts times, some
//	                                   seconds: a repository that was just made
//	                                   may not be on every server of its host yet
//
// Nothing of that is lost for good: pipeline/reconcile looks at each repository,
// ever more rarely while it fails, and appends a push of what differs once it
// answers.
//
// # Bounds
//
// A batch is maxBatchRefs refs and maxBatchChanges changes, and one append of
// maxAppendBytes; a search for known documents visits maxWalk directories, and of up to
// maxRelatives relatives about maxFamilyWalk; what is kept of a repository's blobs is
// maxReadings.
//
// Units are 15/16 of Options.SegmentBytes of blobs; a builder needs 1.6 times that; a blob is at most
// analyze.Options.MaxBlobBytes. Progress of the latest MaxJobs repositories is
// kept for display.
//
// An Indexer is safe for concurrent use, one record of a repository at a time,
// which the lanes of a worker guarantee. It runs no goroutine beyond a call.
package indexer
