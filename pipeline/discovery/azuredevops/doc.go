// Package azuredevops lists the repositories of Azure DevOps Services and Server.
//
// It answers the question "which repositories do these organizations, projects and names
// have, and how does Azure DevOps describe them?". Open returns the Lister of a connection.
//
//	target    request
//	orgs      GET /{org}/_apis/git/repositories
//	projects  GET /{org}/{project}/_apis/git/repositories
//	repos     GET /{org}/{project}/_apis/git/repositories/{name}
//
// The url of a connection may end with the organization, or with the collection of a
// server; targets still name it.
//
// # Invariants
//
//  1. The repository's ID comes from the host and the GUID of the repository, as in
//     ingest/azuredevops.
//  2. A response with a sign-in page, which Azure DevOps sends with status 203, is an
//     Error.
//
// The API returns all repositories in one response. Requests go through the client of the
// connection; the package starts no goroutine.
package azuredevops
