// Package gerrit translates the deliveries of Gerrit's webhooks plugin.
//
// It answers the question "what does this event of Gerrit mean?". Open returns the
// translator of a connection, whose URL is the base URL of the server. The plugin neither
// signs deliveries nor sends an ID: a delivery is authenticated by the secret in its URL,
// ?token=SECRET, by the address of the sender, or by both.
//
//	type                  outcome
//	ref-updated           Pushed, one ref
//	batch-ref-updated     Pushed, the refs of one project
//	project-head-updated  Changed: the default branch
//	other events          Ignored
//
// # Invariants
//
//  1. The repository's ID is derived from the host and the name of the project, which
//     Gerrit does not reuse.
//  2. The clone URL is built from the connection's URL and the project's name, because
//     events contain none.
//  3. Refs other than branches and tags (refs/changes/…, refs/meta/…) are ignored.
//  4. A project is private, because events do not report who may read it.
//  5. A connection with both secrets and addresses requires both of a delivery; Open
//     rejects a connection with neither.
//
// A Translator is immutable. The package does no I/O.
package gerrit
