package api

import (
	"errors"
	"fmt"
)

// Part is what a process holds of the text.
type Part int

// A process holds everything, is a front without text, or a shard with a share.
const (
	PartAll Part = iota
	PartFront
	PartShard
)

// ErrNotSharded reports an operation that has no way through shards yet, or that a shard does
// not answer.
var ErrNotSharded = errors.New("not possible in this process")

// shardWay is the way of an operation in an installation with shards.
type shardWay int

const (
	// wayNone has none yet: fronts and shards refuse it, rather than answer from a part.
	wayNone shardWay = iota
	// wayLocal is what each process has whole: the catalog, accounts, the audit log, events.
	wayLocal
	// wayNodes is what each process does with its own rows. A front does it, too, and has all
	// replicas do it. wayNode is the same without a front.
	wayNode
	wayNodes
	// wayOwner goes to the shard that owns the partition of a repository, and wayAll to all
	// shards. A shard alone refuses them.
	wayOwner
	wayAll
	// wayGit needs a mirror, which a front does not have: what the index of the owner
	// answers goes there, and all else is unavailable, as in each process without mirrors.
	wayGit
)

// shardWays are the ways of all operations. docs/sharding.md has the table.
var shardWays = map[string]shardWay{
	"POST /api/search": wayAll, "POST /api/stream_search": wayAll, "GET /api/find_files": wayAll, "POST /api/mcp": wayAll, "DELETE /api/mcp": wayLocal,
	"POST /api/find_definitions": wayAll, "POST /api/find_references": wayAll, "POST /api/find_implementations": wayAll, "POST /api/hover": wayAll,
	"GET /api/symbols": wayAll,

	"GET /api/source": wayOwner, "POST /api/tree": wayOwner, "POST /api/files": wayOwner, "GET /api/folder_contents": wayOwner,
	"GET /api/repos/{repoId}/status": wayOwner, "GET /api/repos/{repoId}/skipped": wayOwner, "POST /api/repos/{repoId}/reindex": wayOwner,
	"GET /api/commits": wayGit, "GET /api/commits/authors": wayGit, "GET /api/commit": wayGit, "GET /api/diff": wayGit, "GET /api/blame": wayGit,
	"POST /api/repos/{repoId}/scip": wayGit,

	"POST /api/verifications": wayNodes, "POST /api/repos/{repoId}/erase": wayAll, "GET /api/erasures": wayNodes,
	"GET /api/replays": wayNodes, "POST /api/replays": wayNodes, "DELETE /api/replays/{replayId}": wayNodes, "POST /api/replays/rollback": wayNode,
	"GET /api/snapshots": wayAll, "POST /api/snapshots": wayAll, "DELETE /api/snapshots/{snapshotName}": wayLocal,
	"POST /api/backups": wayLocal, "DELETE /api/backups/{backupId}": wayLocal, "POST /api/backups/{backupId}/renew": wayLocal,

	"GET /api/repos": wayLocal, "POST /api/repos": wayLocal, "DELETE /api/repos/{repoId}": wayLocal, "PATCH /api/repos/{repoId}": wayLocal,
	"GET /api/repos/{repoId}/scip": wayLocal, "DELETE /api/repos/{repoId}/scip/{uploadId}": wayLocal,
	"POST /api/repos/{repoId}/refresh": wayLocal, "GET /api/repos/{repoId}/image": wayLocal, "GET /api/events": wayLocal,
	"GET /api/connections": wayLocal, "POST /api/connections/sync": wayLocal,
	"GET /api/deliveries": wayLocal, "GET /api/deliveries/{deliveryKey}": wayLocal, "POST /api/deliveries/{deliveryKey}/redeliver": wayLocal,
	"GET /api/deadletters": wayLocal, "DELETE /api/deadletters": wayLocal, "POST /api/deadletters/replay": wayLocal,
	"GET /api/deadletters/{partition}/{offset}": wayLocal, "DELETE /api/deadletters/{partition}/{offset}": wayLocal,
	"POST /api/deadletters/{partition}/{offset}/replay": wayLocal,
	"POST /api/auth/setup":                              wayLocal, "POST /api/auth/sign_in": wayLocal, "POST /api/auth/sign_out": wayLocal,
	"GET /api/auth/sessions": wayLocal, "DELETE /api/auth/sessions": wayLocal, "DELETE /api/auth/sessions/{sessionId}": wayLocal,
	"GET /api/auth/me": wayLocal, "PATCH /api/auth/me": wayLocal,
	"POST /api/keys": wayLocal, "GET /api/keys": wayLocal, "DELETE /api/keys/{keyId}": wayLocal,
	"GET /api/saved_searches": wayLocal, "POST /api/saved_searches": wayLocal, "PATCH /api/saved_searches/{savedSearchId}": wayLocal,
	"DELETE /api/saved_searches/{savedSearchId}": wayLocal,
	"POST /api/invitations":                      wayLocal, "GET /api/invitations": wayLocal, "DELETE /api/invitations/{invitationId}": wayLocal,
	"POST /api/invitations/accept": wayLocal, "GET /api/ee/user": wayLocal, "DELETE /api/ee/user": wayLocal, "GET /api/ee/users": wayLocal,
	"POST /api/users/{userId}/approve": wayLocal, "POST /api/users/{userId}/suspend": wayLocal, "POST /api/users/{userId}/reinstate": wayLocal,
	"POST /api/users/{userId}/role":    wayLocal,
	"POST /api/ee/scoped_access_token": wayLocal, "DELETE /api/ee/scoped_access_token/{id}": wayLocal,
	"GET /api/repos/{repoId}/access": wayLocal, "GET /api/repos/{repoId}/access/{userId}": wayLocal, "PUT /api/repos/{repoId}/access": wayLocal,
	"GET /api/ee/audit": wayLocal, "GET /api/ee/audit/export": wayLocal, "GET /api/ee/audit/head": wayLocal, "POST /api/ee/audit/verifications": wayLocal,
	"GET /api/models": wayLocal, "GET /api/version": wayLocal, "GET /api/health": wayLocal, "GET /api/openapi.json": wayLocal, "GET /api/docs": wayLocal,
	"GET /healthz": wayLocal, "GET /readyz": wayLocal,
}

// checkPart returns ErrNotSharded if the process does not answer an operation.
func (p Part) checkPart(operation string) error {
	switch way := shardWays[operation]; {
	case p == PartAll || way == wayLocal || p == PartShard && (way == wayNode || way == wayNodes):
		return nil
	case p == PartShard:
		return fmt.Errorf("%s: %w: it is a shard, which holds a share of the text; send the request to a front", operation, ErrNotSharded)
	case way == wayNode:
		return fmt.Errorf("%s: %w: it is a front, and shards keep no previous version: replay the log", operation, ErrNotSharded)
	case way == wayNone:
		return fmt.Errorf("%s: %w: it is a front, and this operation is one of a process that holds everything: send it to one with the role query and without shard.share and shard.peers", operation, ErrNotSharded)
	}
	return nil
}
