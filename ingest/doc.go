// Package ingest is the contract between the webhook receiver and the
// translators of the code hosts.
//
// It answers the question "what does a delivery of any host mean, and how is its sender
// authenticated?". The receiver (ingest/webhook) knows HTTP and the log but no host; a
// translator (ingest/github, ingest/gitlab, …) knows one host but neither HTTP routing
// nor the log. To support a new kind of host, add its Open to the receiver's table.
//
// # Main types
//
//	Connection  one configured webhook: name, kind, secrets, policy
//	Open        creates the Translator of a connection at startup
//	Translator  Verify authenticates a delivery, Translate interprets it
//	Delivery    the result: a repository and what happened to it
//
// # Invariants
//
//  1. Verify is called before Translate, on the raw body, and parses no part of
//     the body.
//  2. Translate is a pure function of the Request: no clock, no network, no state. It
//     returns an error for malformed or hostile input.
//  3. A Delivery concerns one repository.
//  4. A Delivery describes the repository as its sender does. Nothing of it is true until
//     the host confirms it; see ingest/webhook.
//
// Translators are safe for concurrent use. Nothing here does I/O.
package ingest
