// Package gitea translates the webhook deliveries of Gitea and of Forgejo, which sends
// the same.
//
// It answers the question "what does this delivery of Gitea mean?". Open gives the
// translator of a connection; its secrets are those of the webhook.
//
//	X-Gitea-Event   outcome
//	push            Pushed, one ref
//	create, delete  Pushed, one ref: a deleted branch comes as delete alone
//	repository      Removed (deleted)
//	others          Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and Gitea's numeric ID, so renames and
//     transfers keep it.
//  2. Clone and web URLs in a payload must be on the connection's host.
//  3. A delivery without a signature is refused: Gitea sends an empty one where the
//     webhook has no secret.
//
// Gitea sends GitHub's headers as well; which host it is follows from the connection.
// A Translator is immutable. The package does no I/O.
package gitea
