// Package bitbucketcloud translates the webhook deliveries of Bitbucket Cloud.
//
// It answers the question "what does this delivery of Bitbucket Cloud mean?". Open
// returns the translator of a connection, whose secrets are those of the webhook.
//
//	X-Event-Key                  outcome
//	repo:push                    Pushed, all refs of the push
//	repo:updated, repo:transfer  Changed
//	repo:deleted                 Removed
//	other events                 Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and Bitbucket's UUID, so renames and
//     transfers keep it.
//  2. The clone URL is built from the host and the full name of the repository, because
//     payloads contain none. Web URLs must be on the host.
//  3. Lists of commits are not read: Bitbucket sends at most five, and git has them all.
//
// A Translator is immutable. The package does no I/O.
package bitbucketcloud
