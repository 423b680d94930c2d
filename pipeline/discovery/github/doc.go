// Package github lists the repositories of GitHub and GitHub Enterprise Server.
//
// It answers the question "which repositories do these users, organizations and names
// have, and what does GitHub say of them?". Open gives the Lister of a connection.
//
//	target   request
//	orgs     GET /orgs/{org}/repos
//	users    GET /users/{user}/repos; GET /user/repos for the user of the token, whose
//	         private repositories it has
//	repos    GET /repos/{owner}/{name}
//	all      GET /installation/repositories, with a GitHub App
//
// # Invariants
//
//  1. The repository's ID comes from the host and GitHub's numeric ID, as in
//     ingest/github.
//  2. Pages are in the order of creation, so that a repository that is created in
//     between moves none to a page that was read.
//  3. The token of an app's installation is renewed before it ends, and is kept in
//     memory alone.
//
// Requests go through the client of the connection; the package starts no goroutine.
package github
