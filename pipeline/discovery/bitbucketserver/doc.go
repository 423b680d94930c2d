// Package bitbucketserver lists the repositories of Bitbucket Server and Data Center.
//
// It answers the question "which repositories do these projects and names have, and how
// does Bitbucket describe them?". Open returns the Lister of a connection.
//
//	target    request, below /rest/api/1.0
//	projects  GET /projects/{key}/repos; ~user is a person
//	repos     GET /projects/{key}/repos/{slug}
//	all       GET /repos
//
// The users who may read a repository come from the permissions of users and groups on it
// and on its project, and from /admin/groups/more-members.
//
// # Invariants
//
//  1. The repository's ID comes from the host and Bitbucket's numeric ID, as in
//     ingest/bitbucketserver.
//  2. A page names the start of the next one; a start that does not advance is an error.
//
// Bitbucket does not list default branches: the default branch of a repository is known
// once it is fetched. Requests go through the client of the connection; the package
// starts no goroutine.
package bitbucketserver
