// Package gerrit translates the deliveries of Gerrit's webhooks plugin.
//
// It answers the question "what does this event of Gerrit mean?". Open returns the
// translator of a connection, whose URL is the base URL of the server. The plugin
// neither signs nor sends an ID: the secret is in the URL that it is configured
// with, as ?token=SECRET, or the address of the sender is one of the connection's, or both.
//
//	type                  outcome
//	ref-updated           Pushed, one ref
//	batch-ref-updated     Pushed, the refs of one project
//	project-head-updated  Changed: the default branch
//	others                Ignored
//
// # Invariants
//
//  1. The repository's ID comes from the host and the name of the project, which Gerrit
//     does not reuse.
//
//  2. The clone URL is the connection's, with the project's name: events have none.
//
//  3. Refs other than branches and tags (refs/changes/…, refs/meta/…) are ignored.
//
//  4. A project is private: events do not say who may read it.
//
//  5. A connection with secrets and addresses wants both of a delivery; one with neither
//     does not open.
//
// A Translator is immutable. The package does no I/O.
package gerrit
