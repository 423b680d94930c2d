// Package github translates the webhook deliveries of GitHub and GitHub
// Enterprise Server.
//
// It answers the question "what does this delivery of GitHub mean?". Open returns the
// translator of a connection: its secrets are those of the webhook as entered in GitHub,
// its URL is the host's base URL (https://github.com by default).
//
//	X-GitHub-Event  outcome
//	push            Pushed, one ref
//	create, delete  Ignored: GitHub sends a push for the same ref as well
//	repository      Changed (renamed, edited, transferred, archived, …) or
//	                Removed (deleted)
//	ping, others    Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host of the connection and GitHub's
//     numeric ID, so renames and transfers keep it.
//  2. Clone and web URLs in a payload must be on the connection's host: a delivery cannot
//     make Quarry fetch from elsewhere.
//  3. Lists of commits are not read: they are truncated, and git has them all.
//
// A Translator is immutable. The package does no I/O.
package github
