// Package ingest is the contract between the webhook receiver and the
// translators of the code hosts.
//
// It answers the question "what does a delivery of any host say, and who checks
// that the host sent it?". The receiver (ingest/webhook) knows HTTP and the log
// and no host; a translator (ingest/github, ingest/gitlab, …) knows one host and
// neither HTTP routing nor the log. A new kind of host is one more Open in the
// receiver's table.
//
// # Main types
//
//	Connection  one configured hook: name, kind, secrets, policy
//	Open        makes the Translator of a connection, once, at start-up
//	Translator  Verify: is the delivery authentic; Translate: what does it say
//	Delivery    what it says: a repository and what happened to it
//
// # Invariants
//
//  1. Verify is called before Translate, on the raw body, and parses no part of
//     the body.
//  2. Translate is a pure function of the Request: no clock, no network, no
//     state. It takes hostile bytes and returns an error.
//  3. A Delivery concerns one repository.
//
// Translators are safe for concurrent use. Nothing here does I/O.
package ingest
