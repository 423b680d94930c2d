// Package indexer handles the records of workers: it fetches a push into the mirror,
// analyzes the new blobs, seals them in segments and announces the revision in the log.
//
// It answers the question "which documents does this revision add, and how does
// its manifest change?".
//
// # From an event to a RevisionIndexed
//
//	RepositoryRegistered, -Changed   fetch all selected refs, index each of them,
//	Push without a ref               remove deleted refs
//	Push of a selected ref           fetch that ref, index or remove it
//	Push of another ref              nothing
//	PinsChanged                      index the pins that an indexed ref leads to, remove the
//	                                 others; fetch only if the mirror is lost
//	RepositoryRemoved                remove the mirror; skip its records that
//	                                 were not handled yet
//
// Consecutive pushes of a repository form one group: their refs are fetched together,
// and each ref is announced once, with its last push as the cause and the time at which
// the first was received. One PushesHandled reports the pushes that led to no
// RevisionIndexed of their ref.
//
//	fetch → bases → batch: changes → known documents → units → segments → RevisionIndexed → indexed state
//
// # Files, in the order of a push
//
//	indexer.go      Handle: dispatch events, classify errors for the worker
//	group.go        consecutive pushes
//	pushes.go       handlePushes: all steps for a group of pushes
//	repository.go   all refs of a repository; its registration
//	indexing.go     indexRefs: changed refs, batch by batch
//	family.go       relatives, whose documents are shared
//	bases.go        the base of each ref
//	changes.go      the paths that differ
//	attributes.go   the paths that attributes classify differently
//	unclassified.go refs that an earlier version announced without attributes
//	known.go        documents that a live segment holds
//	units.go        read, analyze and seal the rest
//	announce.go     RevisionIndexed in the log, then the indexed state of the mirror
//	removedrefs.go  the same for deleted refs
//	submodules.go   the submodules of this repository, and its pins for others
//	outcomes.go     PushesHandled for the remaining pushes
//
// # Batches
//
// Refs of one record or group are indexed together, in batches (docs/adr/0022). The base
// of a ref is its last indexed commit; the base of a new ref is an indexed commit of the
// default branch or of a ref nearby; without a base, the changes are the full manifest. A
// blob is read once for all refs of a batch. It is not read at all if a live segment
// holds its documents, which is true for all blobs in the trees of the last announced
// commits of this repository and of its relatives, the repositories whose history begins
// with the same commit (docs/adr/0024). The blobs to read are divided into units of
// adjacent paths; each unit becomes one segment, or several if its text grows when
// decoded. Units of all repositories share Options.Slots with the merges of the process.
//
// # Invariants
//
//  1. State wins: the index follows the state of the mirror after the fetch, regardless
//     of the event's content. A repeated, late or reordered event changes nothing if the
//     ref is already indexed at the fetched commit.
//  2. The order is: segments in the store, changes in the store, event in the log,
//     indexed state in the mirror. After a crash, the steps after the last durable one
//     are repeated; IDs are derived from the handled event, so readers recognize the
//     repetition. When a partition is assigned, all of its mirrors catch up with the log
//     before its first record is handled; after a failed announcement, the mirror of that
//     repository does, so that no event names a missing base. While a partition is
//     assigned to a process, no other process announces for it. The log is read from the
//     last mark, which is stored next to the mirrors and follows the low-water mark.
//  3. A document is analyzed in the language of its place, which content, name and the
//     attributes of the commit determine; a blob with places in two languages is two
//     documents. A document that an event names is in a segment of its
//     batch, or is named until then by an announced ref of this repository or of a
//     relative in its partition. Blobs whose documents may have been dropped are read
//     again. Relatives announce one at a time, each after it has verified the documents
//     that it relies on.
//  4. The loss of a mirror costs a full manifest, no more. The registration is then read
//     from the log, and so are refs deleted in the meantime: each run over all refs reads
//     them, until the mirror is known to have every announced ref.
//  5. Each push is answered in the log before it is done: by a RevisionIndexed of its ref
//     whose cause is the push or a later event, or by a PushesHandled that names it.
//     After a crash, an answer may appear twice.
//
// # Failures
//
//	refused, unauthorized, too large,  problem of the repository: an immediate dead
//	no default branch                  letter, until a person or a later push fixes it
//	unreachable, timed out             problem of the host: its repositories wait and
//	                                   are retried for worker.Options.Patience
//	disk full                          problem of this machine: all repositories wait,
//	                                   without limit
//	not found, other errors of git     retried worker.Options.Attempts times, for some
//	                                   seconds: a new repository may not be on every
//	                                   server of its host yet
//
// No push is lost permanently: pipeline/reconcile checks each repository, less often
// while it fails, and appends a push for each difference once the host responds.
//
// # Bounds
//
// A batch has at most maxBatchRefs refs and maxBatchChanges changes, and an append
// maxAppendBytes. A search for known documents visits at most maxWalk directories, and about
// maxFamilyWalk of up to maxRelatives relatives. A run keeps maxParsedAttributes files of
// attributes, whose own bounds are in package analyze. maxReadings bounds the stored readings
// of a repository.
//
// A unit contains blobs of up to 15/16 of Options.SegmentBytes; a builder needs 1.6 times
// that much memory. A blob has at most analyze.Options.MaxBlobBytes. The progress of the
// latest MaxJobs repositories is kept for display.
//
// An Indexer is safe for concurrent use with one record per repository at a time, which
// the lanes of a worker guarantee. It runs no goroutine beyond a call.
package indexer
