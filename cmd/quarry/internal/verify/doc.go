// Package verify compares what is indexed with the repositories.
//
// It answers the question "do queries see what git has?". Neither the log nor a
// rebuild can answer it: they repeat what workers announced, and a worker may have
// been wrong, or the store damaged since.
//
// Main types: Verifier (Verify), Options (both sides; NewOptions has those of the live
// version).
//
// # What is compared
//
//	repository  registered, and not known to the places
//	default     the default branch
//	commit      a ref is indexed at a commit other than the one in the mirror
//	absent      a ref that was indexed, and queries do not have
//	extra       a ref that queries have, and was not indexed
//	remote      a ref that the repository has elsewhere (Verification.Remote)
//	broken      the last event of a ref could not be applied
//	missing     files of the tree that the manifest lacks
//	surplus     files of the manifest that the tree lacks
//	content     files whose content is another
//	skipped     files that are not searchable and should be, or the reverse
//	size        files whose size is another
//	counts      the numbers of files, stored with the manifest, are wrong
//	unheld      files whose text no segment has
//	unstored    what a rebuild would lose: the segment store lacks segments or changes,
//	            and the projections cannot give them
//
// # Invariants
//
//  1. A ref is compared at one commit: the rows of a snapshot with the tree of the
//     commit that the snapshot names. Pushes go on meanwhile and disturb nothing.
//  2. A difference of refs is reported if it is the same in two rounds, in each of
//     which the projections were waited for after the mirror was read. So a push
//     under way is none.
//  3. Two streams in the order of paths are merged: memory does not grow with a
//     tree. Differences of a ref are counted by kind, the first path named.
//  4. What cannot be compared is said: a mirror that is not here, a commit that
//     the mirror lacks, a ref that moves all the time.
//
// # Bounds
//
// One verification at a time; one ref at a time; maxUnheld documents without a
// segment; maxRepairs refs indexed again.
//
// A Verifier is safe for concurrent use; a second Verify fails with
// api.ErrUnavailable while one runs. It starts no goroutine but a process of git.
package verify
