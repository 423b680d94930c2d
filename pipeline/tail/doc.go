// Package tail prints the event log as JSON lines.
//
// It answers the question "which events does the log contain, in order?".
//
//	Handler  serves GET ?from=POSITION&follow=true
//	Stream   reads the partitions of the events topic and merges them
//	Line     is the printed form of a record
//
// # Order
//
// Records of one partition come in the order of the log. Up to the high-water mark at the
// start of the stream, partitions are merged by the time at which the log took the
// records. Later records come as they arrive.
//
// # Invariants
//
//  1. A record that cannot be decoded is printed as a line with the reason.
//  2. A stream without follow ends; one with follow ends with its context.
//
// # Concurrency
//
// Stream starts a goroutine per partition when it follows, and returns when all have
// ended.
//
// This package commits nothing and joins no group: reading changes nothing.
package tail
