// Package gather joins concurrent writes into batches, so that they share one
// disk flush or one request.
//
// It answers the question "who writes when eight callers append at once?". A caller adds
// its item to a Queue and waits. While one batch is being written, the next one gathers.
// There is no timer, so a single caller never waits for others.
//
// # Invariants
//
//  1. Batches are written one at a time, in order of arrival, except that urgent
//     items go first.
//  2. The waiting bytes are bounded; above the bound Do fails immediately. Urgent
//     items have an additional quarter of the bound.
//  3. A goroutine exists only while there is something to write.
//
// The package does not interpret items.
package gather
