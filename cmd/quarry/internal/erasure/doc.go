// Package erasure removes text from every file of this process, and proves it.
//
// It answers the question "is the text gone, and if not, what is waited for?".
// docs/adr/0021-erasure.md says why the steps are these.
//
// # Steps
//
//	workers    have handled the event: their mirrors do not have the text
//	segments   with the text are rewritten by the compactor
//	versions   other than the live one are removed
//	rows       of the live one are compacted, so that no deleted row stays
//	mirror     of this process does not have the text
//	proof      counts what is left, and is stored with the erasure
//
// # Invariants
//
//  1. Each step may be repeated: an interrupted erasure begins again.
//  2. An erasure ends with a proof, or with the reason for which it was refused.
//  3. Nothing is erased before the projections have caught up with the log.
//
// # Concurrency
//
// Run works on one goroutine; WaitReason is safe for concurrent use.
//
// It decides nothing about who may erase: the API does, before the event is appended.
package erasure
