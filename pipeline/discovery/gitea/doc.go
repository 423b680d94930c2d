// Package gitea lists the repositories of Gitea and Forgejo.
//
// It answers the question "which repositories do these users, organizations and names
// have, and what does Gitea say of them?". Open gives the Lister of a connection.
//
//	target   request
//	orgs     GET /orgs/{org}/repos
//	users    GET /users/{user}/repos
//	repos    GET /repos/{owner}/{name}
//	all      GET /repos/search, in the order of IDs
//
// Who may read a repository follows from its collaborators, /repos/{owner}/{name}/teams,
// /teams/{id}/members and, for internal ones, /orgs/{org}/members.
//
// # Invariants
//
//  1. The repository's ID comes from the host and Gitea's numeric ID, as in
//     ingest/gitea.
//  2. The end of the pages is an empty page: a server may give fewer repositories at
//     once than are asked for.
//
// Requests go through the client of the connection; the package starts no goroutine.
package gitea
