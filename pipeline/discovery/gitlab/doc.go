// Package gitlab lists the projects of GitLab.
//
// It answers the question "which projects do these groups, users and paths have, and how
// does GitLab describe them?". Open returns the Lister of a connection.
//
//	target    request
//	groups    GET /groups/{path}/projects, with subgroups and without shared projects
//	users     GET /users/{name}/projects
//	projects  GET /projects/{path}
//	all       GET /projects by keyset; on gitlab.com those that the token is a member of
//
// # Invariants
//
//  1. The repository's ID comes from the host and GitLab's numeric ID, as in
//     ingest/gitlab.
//  2. Pages are in the order of IDs, so that a project created during the listing does
//     not shift others to a page that has been read.
//  3. Projects whose repository is disabled are not repositories.
//
// Requests go through the client of the connection; the package starts no goroutine.
package gitlab
