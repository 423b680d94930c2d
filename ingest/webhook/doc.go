// Package webhook receives webhook deliveries and appends their events to the log.
//
// It answers the question "when may a sender forget a delivery?": once it has received
// 202, which is written only after the log has acknowledged the events. The Receiver
// serves
//
//	POST /webhooks/{kind}/{connection}
//
// where connection is a configured connection of that kind. The Receiver knows no code
// host: the table Options.Kinds has a translator for each kind.
//
// # Stages of a delivery
//
//	bound      body and bytes in flight             413, 503
//	route      kind and connection                  404
//	verify     signature over the raw body          401
//	recall     recently seen delivery               202, as before
//	translate  body → repository and pushes         400; 200 if ignored
//	resolve    find the registered repository       200, or 404 if none
//	confirm    read an unlisted one from its host   403; 503 with Retry-After
//	append     events to the log, wait              202; 503 with Retry-After
//
// Every failure has the JSON body {statusCode, errorCode, message}; errors.go has the
// table.
//
// # Invariants
//
//  1. The signature is checked before anything is parsed. Without a valid signature,
//     nothing is appended that changes state.
//  2. The ID of an event is a hash of connection, delivery ID, body and ref. A repeated
//     delivery therefore has the same IDs, and readers drop its events. The recall table
//     only saves them that work; it is bounded and may forget.
//  3. A RepositoryRegistered precedes the pushes of the repository that it registers, in
//     the same append and partition. It has the description of the host
//     (Options.Confirm), or is private if that of the payload cannot be confirmed.
//  4. No other event describes a repository. A delivery that says that the repository is
//     private sets event.Push.Private, in a refresh if it has no push. Whatever else it
//     says is a Hint: the repository is read from its host. Without a catalog, hints are
//     not given.
//  5. Options.MaxInFlightBytes bounds the total size of bodies in memory, regardless of
//     the number of connections. Small bodies do not wait for large ones, and each
//     address has a share of both budgets (lane.go), so that an unauthenticated sender of
//     large amounts delays mainly itself.
//  6. A delivery without a push becomes an event.Delivery, which Run appends after the
//     response was sent. If the queue is full, the event is dropped and counted. Refused
//     deliveries, which anyone can send, are limited to one event per second and
//     connection, with a burst of ten; the next event carries the number that were
//     suppressed. A delivery to an unknown connection leaves no event.
//
// A Receiver is safe for concurrent use and starts no goroutine. It does not fetch from
// hosts and ignores the commit lists of payloads.
package webhook
