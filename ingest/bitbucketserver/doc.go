// Package bitbucketserver translates the webhook deliveries of Bitbucket Server and
// Bitbucket Data Center.
//
// It answers the question "what does this delivery of Bitbucket Server mean?". Open
// returns the translator of a connection, whose URL is the base URL of the server and
// whose secrets are those of the webhook.
//
//	X-Event-Key        outcome
//	repo:refs_changed  Pushed, all refs of the push
//	repo:modified      Changed
//	repo:deleted       Removed
//	other events       Ignored, including diagnostics:ping
//
// # Invariants
//
//  1. The repository's ID comes from the host and Bitbucket's numeric ID, so renames and
//     moves keep it.
//  2. Clone and web URLs in a payload must be on the connection's host.
//  3. A repository is private unless the payload says that it is public.
//
// A Translator is immutable. The package does no I/O.
package bitbucketserver
