// Package rpc carries sessions of shards between processes.
//
// It answers the question "how does a front call a shard?". Server serves sessions on the
// listener that only peers reach, and Peer opens them as search.Shard. See
// docs/adr/0045-shards-and-a-front.md for the decision.
//
// # Connection
//
// A session has a connection. That begins with an HTTP request that upgrades it:
//
//	GET /shard/session
//	Connection: Upgrade
//	Upgrade: quarry-shard
//	Quarry-Shard: v=1 t=1700000000 caller=BASE64 mac=HEX
//
// v is the version of the messages, t the Unix time, and caller describes whose view the
// session has, in a format that ServerOptions.OpenSession defines. mac is the HMAC-SHA-256
// of the rest with the secret that all peers share. The answer is 101 with the partitions of
// the shard, or an error with the reason in one line.
//
// If the answer has Quarry-Shard-Reuse, the front may end the session with a message, and open
// the next one, of any caller, with its first call, which has such a handshake. A Pool keeps
// connections for that. The list of repositories of such a session is described by that of
// the session before, if it has the same ones. Git reads do without all this.
//
// What opens no session is a request alone: GET /shard/state, and POST /shard/operation, whose
// handshake has the name of the operation in place of a caller.
//
// Then each side sends values of package gob: the front one call at a time, with the time
// that is left for it and its trace context, and the shard one reply. Package gob skips fields
// that a receiver does not know and leaves fields that a sender does not know at zero. So
// peers whose versions differ by one understand each other, as long as zero means what was
// meant before; a larger difference is refused.
//
// # Invariants
//
//  1. A session ends with its connection, or before: the shard cancels the running call and
//     releases the view.
//  2. Every failure of the connection is search.ErrShardLost, with the reason. A failed
//     session stays failed.
//  3. A message has at most maxMessageBytes, and a call at most maxQueryNodes.
//  4. A session ends when its front sends no call, or does not read a reply, for
//     ServerOptions.MaxIdle.
//
// # Concurrency
//
// A Server and a Peer are safe for concurrent use; a session is used by one goroutine at a
// time.
package rpc
