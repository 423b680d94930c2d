// Package verify compares the index with the repositories.
//
// It answers the question "do queries see what git has?". Neither the log nor a rebuild
// can answer it: they repeat what workers announced, but a worker may have been wrong, or
// the store damaged since.
//
// Main types: Verifier (Verify), Options (both sides of the comparison; NewOptions
// returns those of the live version).
//
// # What is compared
//
//	repository  registered, but unknown to the places
//	default     the default branch
//	commit      a ref is indexed at a commit other than the one in the mirror
//	absent      a ref that was indexed, but that queries lack
//	extra       a ref that queries have, but that was not indexed
//	remote      a ref at another commit in the repository (Verification.Remote)
//	broken      the last event of a ref could not be applied
//	missing     files of the tree that the manifest lacks
//	surplus     files of the manifest that the tree lacks
//	content     files with different content
//	skipped     files that are not searchable but should be, or the reverse
//	size        files with a different size
//	counts      wrong numbers of files, stored with the manifest
//	unheld      files whose text is in no segment
//	unstored    what a rebuild would lose: the segment store lacks segments or changes,
//	            and the projections cannot restore them
//
// # Invariants
//
//  1. A ref is compared at one commit: the rows of a snapshot with the tree of the
//     commit that the snapshot names. Concurrent pushes do not disturb it.
//  2. A difference of refs is reported only if two rounds find it, and each round waits
//     for the projections after it has read the mirror. So a push in progress is not a
//     difference.
//  3. Two streams are merged in the order of paths: memory does not grow with a
//     tree. Differences of a ref are counted by kind, and the first path is reported.
//  4. What cannot be compared is reported: a missing mirror, a commit that the mirror
//     lacks, a ref that keeps moving.
//
// # Bounds
//
// One verification at a time; one ref at a time; maxUnheld documents without a segment;
// maxRepairs re-indexed refs.
//
// A Verifier is safe for concurrent use; a second Verify fails with verification.ErrBusy
// while one runs. It starts a git process but no goroutine.
package verify
