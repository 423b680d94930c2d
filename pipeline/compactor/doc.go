// Package compactor folds small segments of a partition into large ones, and
// rewrites large ones that have mostly died.
//
// It answers the question "which segments should become one?". Every push makes
// a segment; a query visits all of them. So their number must stay small, at a
// cost in writing that stays small too. docs/adr/0007 has the figures.
//
// # Main types
//
//	Compactor   the actor of a process: New, Run
//	Options     what it needs and its bounds
//	Liveness    its access to a projection, if there is one in the process
//	Policy      which segments to merge next; pure
//
// # Course of a round
//
//	resume      once: from the snapshot of the partition, if there is one of this log
//	catch up    read the partition up to its high-water mark
//	plan        Policy on the segments that live, by the log
//	look        a View that has applied all that was read; correct the segments by it
//	merge       fetch inputs, build the output, put it into the segment store
//	append      SegmentsMerged to the partition; it is read back like any record
//
// # Invariants
//
//  1. It acts only on partitions that its consumer group assigns to it. The group
//     is a lock and a display: its offsets are never read. The state is built from
//     the oldest record on, each time a partition is assigned, or from a snapshot
//     that holds what those records would give.
//  2. Nothing is planned before the partition was read up to its high-water mark,
//     own merges included. So no segment is the input of two merges.
//  3. A document is left out only if a View of at least the record read last says
//     that it is dead, or if an earlier input has it. If it is revived before the
//     merge is applied, the projections refuse the merge; the next View shows that,
//     and its inputs are then merged whole, which is never refused.
//  4. The output is in the segment store before SegmentsMerged is in the log.
//     Inputs are not deleted here: the projections know when no reader uses them.
//  5. Equal inputs and equal live documents give an equal output and an equal
//     event: doing a merge again changes nothing.
//  6. Outputs of different inputs have different IDs, whatever they hold. So none
//     is the ID of a segment that was merged away and is about to be deleted.
//
// # Concurrency
//
// Run has a goroutine for each partition it holds, by way of the log's Join; all
// are gone when it returns. One merge is made at a time in a process, with one
// builder: about 200 MB for the largest, nothing to speak of for small ones.
//
// # Merges of a quiet partition
//
// Merges by number wait for FanIn segments. Where nothing has come for
// Options.Quiet, the remaining segments are merged too, in steps that grow each
// input by at least half of its size. So a query on repositories without pushes
// visits only a few segments.
//
// # Text of removed repositories
//
// A segment with text of a removed repository or branch is rewritten after half of
// Options.PurgeAfter, however small the part; at once if its erasure was requested.
// That takes a View: without Liveness nothing is known to be dead. So a Compactor
// belongs in a process that has projections.
//
// # Lost segments
//
// A segment that the segment store lost is no input of a merge. Once its refs are indexed
// again, and a View says that no document is missing, a merge without an output takes
// it out: it would be named forever otherwise, by the log and by each rebuild.
//
// It does not read places or manifests, and it holds no state that the log could
// not restore.
package compactor
