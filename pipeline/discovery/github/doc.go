// Package github lists the repositories of GitHub and GitHub Enterprise Server.
//
// It answers the question "which repositories do these users, organizations and names
// have, and how does GitHub describe them?". Open returns the Lister of a connection.
//
//	target   request
//	orgs     GET /orgs/{org}/repos
//	users    GET /users/{user}/repos; GET /user/repos for the user of the token, which
//	         includes private repositories
//	repos    GET /repos/{owner}/{name}
//	all      GET /installation/repositories, with a GitHub App
//
// # Invariants
//
//  1. The repository's ID comes from the host and GitHub's numeric ID, as in
//     ingest/github.
//  2. Pages are in the order of creation, so that a repository created during the listing
//     does not shift others to a page that has been read.
//  3. The token of an app's installation is renewed before it expires, and is kept in
//     memory only.
//
// Requests go through the client of the connection; the package starts no goroutine.
package github
