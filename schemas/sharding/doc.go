// Package sharding describes which partitions of the log a process holds.
//
// It answers the question "which shards hold which partitions, and does each partition have
// one owner?". A Share is set by shard.share and shard.peers; the projections of a process
// with a share hold the text of its partitions only.
//
// # Invariants
//
//  1. A share has at most MaxShares partitions, and at most so many shares exist.
//  2. String and ParseShare are inverse.
//  3. CheckShares accepts only shares of which each partition belongs to exactly one.
//
// # Concurrency
//
// A Share is a value.
//
// A Replica describes a process of a share; query/shards probes the processes.
package sharding
