// Package gather joins concurrent writes into batches, so that they share one
// disk flush or one request.
//
// It answers the question "who writes when eight callers append at once?". A
// caller puts its item into a Queue and waits. While one batch is being written
// the next one gathers; there is no timer, so a single caller never waits for
// company.
//
// # Invariants
//
//  1. Batches are written one at a time, in the order in which items came, but that
//     urgent items go before the others.
//  2. The bytes that wait are bounded; above the bound Do fails at once. Urgent
//     items have a fourth of the bound besides.
//  3. A goroutine exists only while there is something to write.
//
// The package does not know what an item is.
package gather
