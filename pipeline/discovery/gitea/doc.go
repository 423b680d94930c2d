// Package gitea lists the repositories of Gitea and Forgejo.
//
// It answers the question "which repositories do these users, organizations and names
// have, and how does Gitea describe them?". Open returns the Lister of a connection.
//
//	target   request
//	orgs     GET /orgs/{org}/repos
//	users    GET /users/{user}/repos
//	repos    GET /repos/{owner}/{name}
//	all      GET /repos/search, in the order of IDs
//
// The users who may read a repository come from its collaborators,
// /repos/{owner}/{name}/teams, /teams/{id}/members and, for internal repositories,
// /orgs/{org}/members.
//
// # Invariants
//
//  1. The repository's ID comes from the host and Gitea's numeric ID, as in
//     ingest/gitea.
//  2. An empty page ends the list, because a server may return fewer repositories per
//     page than requested.
//
// Requests go through the client of the connection; the package starts no goroutine.
package gitea
