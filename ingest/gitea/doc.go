// Package gitea translates the webhook deliveries of Gitea and of Forgejo, which have the
// same format.
//
// It answers the question "what does this delivery of Gitea mean?". Open returns the
// translator of a connection, whose secrets are those of the webhook.
//
//	X-Gitea-Event   outcome
//	push            Pushed, one ref
//	create, delete  Pushed, one ref: a deleted branch is sent as delete only
//	repository      Removed (deleted)
//	other events    Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and Gitea's numeric ID, so renames and
//     transfers keep it.
//  2. Clone and web URLs in a payload must be on the connection's host.
//  3. A delivery without a signature is rejected. Gitea sends an empty signature if the
//     webhook has no secret.
//
// Gitea sends GitHub's headers as well; the connection determines which host it is. A
// Translator is immutable. The package does no I/O.
package gitea
