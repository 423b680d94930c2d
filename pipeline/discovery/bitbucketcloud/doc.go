// Package bitbucketcloud lists the repositories of Bitbucket Cloud.
//
// It answers the question "which repositories do these workspaces, projects and names
// have, and how does Bitbucket describe them?". Open returns the Lister of a connection.
//
//	target      request, below api.bitbucket.org/2.0
//	workspaces  GET /repositories/{workspace}
//	projects    the same with a query for the key of the project
//	repos       GET /repositories/{workspace}/{slug}
//
// The users who may read a repository come from
// /workspaces/{workspace}/permissions/repositories/{uuid}.
//
// # Invariants
//
//  1. The repository's ID comes from the host and Bitbucket's UUID, as in
//     ingest/bitbucketcloud.
//  2. The address of the next page, which comes from the response, must be on the host of
//     the API.
//
// Requests go through the client of the connection; the package starts no goroutine.
package bitbucketcloud
