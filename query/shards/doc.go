// Package shards connects fronts with shards.
//
// It answers the question "which process holds this text, and what does its caller see
// there?". See docs/sharding.md and docs/adr/0045-shards-and-a-front.md,
// docs/adr/0046-replicas-of-a-share.md for replicas, and
// docs/adr/0050-partitions-move-by-snapshots.md for layouts.
//
//	Shard  opens the sessions of a process that holds a share, for rpc.Server
//	Front  opens them at all shards, as views of searches, as source.Index and as api.Status, and
//	       has shards create snapshots
//	share  is some partitions with their replicas, of which a front chooses one
//	layout is shares that are all partitions once, of which there are several while partitions move
//	route  is the way of one session to a replica, and to another one if that is lost
//
// # Invariants
//
//  1. A session sees what the caller of the front may see, by the rows of the shard. The shard
//     has applied at least the accounts that the front has.
//  2. A replica that is not ready, owns other partitions than the front expects, has other settings
//     that decide what callers see or did not answer the last probe is lost. If a share has no
//     other one, answers name its partitions.
//  3. A session continues only at a replica that has applied what the first one had. One of a
//     request that wants a position begins at a replica that has reached it.
//  4. A view is of one layout, so each partition is in it once.
//  5. Callers of the front see the names of shares, and no addresses.
//
// # Concurrency
//
// A Shard and a Front are safe for concurrent use.
package shards
