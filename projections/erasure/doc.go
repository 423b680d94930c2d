// Package erasure removes text from every file of this process, and proves it.
//
// It answers the question "is the text gone, and if not, what is the erasure waiting
// for?". docs/adr/0021-erasure.md explains the steps.
//
// # Steps
//
//	workers    have handled the event, so their mirrors no longer contain the text
//	segments   that contain the text are rewritten by the compactor
//	versions   other than the live one are removed
//	rows       of the live version are compacted, so that no deleted row stays
//	mirror     of this process no longer contains the text
//	proof      counts what is left, and is stored with the erasure
//
// # Invariants
//
//  1. Each step can be repeated: an interrupted erasure starts over.
//  2. An erasure ends with a proof, or with the reason for its refusal.
//  3. Nothing is erased before the projections have caught up with the log.
//
// # Concurrency
//
// Run uses one goroutine; WaitReason is safe for concurrent use.
//
// This package does not decide who may erase: the API does, before the event is appended.
package erasure
