// Package bitbucketcloud translates the webhook deliveries of Bitbucket Cloud.
//
// It answers the question "what does this delivery of Bitbucket Cloud mean?". Open gives
// the translator of a connection; its secrets are those of the webhook.
//
//	X-Event-Key                  outcome
//	repo:push                    Pushed, all refs of the push
//	repo:updated, repo:transfer  Changed
//	repo:deleted                 Removed
//	others                       Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and Bitbucket's UUID, so renames and
//     transfers keep it.
//  2. The clone URL is the host's, with the full name of the repository: payloads have
//     none. Web URLs must be on the host.
//  3. Lists of commits are not read: Bitbucket sends five at most, and git knows better.
//
// A Translator is immutable. The package does no I/O.
package bitbucketcloud
