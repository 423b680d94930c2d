// Package azuredevops translates the deliveries of service hooks of Azure DevOps Services
// and Azure DevOps Server.
//
// It answers the question "what does this delivery of Azure DevOps mean?". Open returns
// the translator of a connection. Service hooks do not sign deliveries: the secret is
// user:password for HTTP basic authentication, or a token for the header "Authorization:
// Bearer".
//
//	eventType                                outcome
//	git.push                                 Pushed, all refs of the push
//	git.repo.renamed, git.repo.statuschanged  Changed
//	git.repo.deleted                         Removed
//	other events                             Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and the GUID of the repository, so renames
//     keep it.
//  2. Clone URLs in a payload must be on the connection's host.
//  3. A repository is private unless its project is public.
//
// A Translator is immutable. The package does no I/O.
package azuredevops
