// Package shards connects fronts with shards.
//
// It answers the question "which process holds this text, and what does its caller see
// there?". See docs/sharding.md and docs/adr/0045-shards-and-a-front.md.
//
//	Shard  opens the sessions of a process that holds a share, for rpc.Server
//	Front  opens them at all shards, as views of searches, as source.Index and as api.Status
//
// # Invariants
//
//  1. A session sees what the caller of the front may see, by the rows of the shard. The shard
//     has applied at least the accounts that the front has.
//  2. A shard that is not ready, owns other partitions than the front expects or did not answer
//     the last probe is lost, and answers name its partitions.
//
// # Concurrency
//
// A Shard and a Front are safe for concurrent use.
package shards
