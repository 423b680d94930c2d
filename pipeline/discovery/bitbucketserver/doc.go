// Package bitbucketserver lists the repositories of Bitbucket Server and Data Center.
//
// It answers the question "which repositories do these projects and names have, and what
// does Bitbucket say of them?". Open gives the Lister of a connection.
//
//	target    request, below /rest/api/1.0
//	projects  GET /projects/{key}/repos; ~user is a person
//	repos     GET /projects/{key}/repos/{slug}
//	all       GET /repos
//
// Who may read a repository follows from the permissions of users and of groups for it and for
// its project, with /admin/groups/more-members.
//
// # Invariants
//
//  1. The repository's ID comes from the host and Bitbucket's numeric ID, as in
//     ingest/bitbucketserver.
//  2. A page says where the next one starts; one that does not go on is an error.
//
// Bitbucket does not list default branches: that of a repository is known once it is
// fetched. Requests go through the client of the connection; the package starts no
// goroutine.
package bitbucketserver
