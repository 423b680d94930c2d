// Package compactor merges small segments of a partition into large ones, and rewrites
// large segments whose documents are mostly dead.
//
// It answers the question "which segments should become one?". Every push creates a
// segment, and a query visits all of them. So their number must stay small, and so must
// the bytes written to keep it small. docs/adr/0007 has the figures.
//
// # Main types
//
//	Compactor   the merging process: New, Run
//	Options     its dependencies and bounds
//	Liveness    its access to a projection, if there is one in the process
//	Policy      chooses the next merge; a pure function
//
// # One round
//
//	resume      once: from the snapshot of the partition, if it belongs to this log
//	catch up    read the partition up to its high-water mark
//	plan        apply Policy to the live segments, according to the log
//	view        get a View that has applied all records read; correct the segments by it
//	merge       fetch inputs, build the output, put it into the segment store
//	append      SegmentsMerged to the partition; it is read back like any record
//
// # Invariants
//
//  1. It acts only on partitions that its consumer group assigns to it. The group
//     serves as a lock and a display: its offsets are never read. Each time a
//     partition is assigned, the state is built from the oldest record, or restored
//     from a snapshot that equals the result of reading those records.
//  2. Nothing is planned before the partition was read up to its high-water mark,
//     including the Compactor's own merges. So no segment is the input of two merges.
//  3. A document is dropped only if a View of at least the last record read reports
//     that it is dead, or if an earlier input contains it. If the document is revived
//     before the merge is applied, the projections refuse the merge. The next View
//     shows that, and the inputs are then merged with all their documents, which is
//     never refused.
//  4. The output is in the segment store before SegmentsMerged is in the log.
//     Inputs are not deleted here: the projections know when no reader uses them.
//  5. Equal inputs and equal live documents give an equal output and an equal
//     event, so repeating a merge changes nothing.
//  6. Outputs of different inputs have different IDs, whatever they contain. So no
//     output has the ID of a segment that was merged and is about to be deleted.
//  7. A merge has inputs of one class: text that the same callers may read, at the time
//     of the merge.
//
// # Concurrency
//
// Run has one goroutine for each partition that it holds, started by the log's Join; all
// have ended when it returns. A process makes one merge at a time, with one builder:
// about 200 MB for the largest merges, little for small ones.
//
// # Classes
//
// A search by a caller who may not see all repositories with text in a segment scans the
// text that it may see, because the index would reveal the rest. A View assigns a class to
// each segment: public, internal, or a class for each private repository. Only segments of
// one class are merged. If a repository becomes private after its text was merged with that
// of others, the segment is divided into one for each class of its documents.
//
// # Merges of quiet classes
//
// Merges by number wait for FanIn segments. If a class gets no revision for Options.Quiet,
// its remaining segments are merged too, in steps that grow each input by at least half of
// its size. So a query on repositories without pushes visits only a few segments.
//
// # Text of removed repositories
//
// A segment with text of a removed repository or branch is rewritten after half of
// Options.PurgeAfter, however small that text is, or immediately if its erasure was
// requested. This requires a View: without Liveness no document is known to be dead. So a
// Compactor should run in a process with projections.
//
// # Lost segments
//
// A segment that the segment store lost is not an input of a merge, and its documents
// are kept where other segments hold them, even if this projection still has it: the
// projection may lose it, too. Once its refs have been indexed again, and a View reports
// that no document is missing, a merge without an output removes it. Otherwise the log
// and every rebuild would name it forever.
//
// It does not read places or manifests, and it keeps no state that cannot be restored
// from the log.
package compactor
