// Package gitlab translates the webhook deliveries of GitLab: project and group webhooks
// and the system hooks of an instance.
//
// It answers the question "what does this delivery of GitLab mean?". Open returns the
// translator of a connection. Its secrets are secret tokens, which GitLab sends as they
// are, or signing tokens (whsec_…), which GitLab uses to sign deliveries according to
// Standard Webhooks.
//
//	event_name                                outcome
//	push, tag_push                            Pushed, one ref
//	repository_update                         Pushed, up to ingest.MaxPushes refs
//	project_rename, _transfer, _update        Changed
//	project_destroy                           Removed
//	other events                              Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and GitLab's numeric ID of the project, so
//     renames and transfers keep it.
//  2. Clone and web URLs in a payload must be on the connection's host.
//  3. A project is private unless the payload reports that it is public; an internal
//     project counts as private.
//
// A Translator is immutable. The package does no I/O.
package gitlab
