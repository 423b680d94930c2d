// Package tail prints the event log as JSON lines.
//
// It answers the question "what does the log say, in order?".
//
//	Handler  serves GET ?from=POSITION&follow=true
//	Stream   reads the partitions of the events topic and merges them
//	Line     is one record as it is printed
//
// # Order
//
// Records of one partition come in the order of the log. Partitions are merged
// by the time at which the log took the records, up to the high-water mark of
// the moment when the stream began; what is followed after that comes as it
// arrives.
//
// # Invariants
//
//  1. A record that cannot be decoded is a line as well, with the reason.
//  2. A stream without follow ends; one with follow ends with its context.
//
// # Concurrency
//
// Stream starts a goroutine per partition when it follows, and returns when all
// are gone.
//
// It commits nothing and belongs to no group: looking changes nothing.
package tail
