// Package webhook receives webhook deliveries and appends their events to the log.
//
// It answers the question "when may a sender forget a delivery?": when it has
// got 202, which is written only after the log acknowledged the events. The
// Receiver serves
//
//	POST /webhooks/{kind}/{connection}
//
// where connection is a configured one of that kind. It knows no code host: the
// table Options.Kinds has a translator for each.
//
// # Way of a delivery
//
//	bound      body and bytes in flight             413, 503
//	route      kind and connection                  404
//	verify     signature over the raw body          401
//	recall     the same delivery seen a moment ago  202, as before
//	translate  body → repository and pushes         400; 200 if ignored
//	resolve    which registered repository is it    200 or 404 if none
//	append     events to the log, wait              202; 503 with Retry-After
//
// Every failure has the JSON body {statusCode, errorCode, message}; the table is
// in errors.go.
//
// # Invariants
//
//  1. Nothing is parsed before the signature was checked, and nothing that
//     changes anything is appended unless it was right.
//  2. The ID of an event is a hash of connection, delivery ID, body and ref: a
//     delivery that comes twice gives the same IDs, and readers drop the second.
//     The recall table only saves them the work; it is bounded and may forget.
//  3. A RepositoryRegistered precedes the pushes of the repository it registers,
//     in the same append and partition.
//  4. Bodies in memory are bounded by Options.MaxInFlightBytes together, not by
//     the number of connections. Small ones do not wait for large ones, and an
//     address has a share of each (lane.go), so that a stranger who sends much holds
//     up little but itself.
//  5. A delivery without a push becomes an event.Delivery, which Run appends after
//     the response was sent. If the queue is full, the event is dropped and counted.
//     Refused deliveries, which anybody can send, are limited to one event per second
//     and connection, with a burst of ten; the next event has the number of those in
//     between. A delivery to an unknown connection leaves no event.
//
// A Receiver is safe for concurrent use and starts no goroutine. It does not fetch
// from hosts, and ignores a payload's commit lists.
package webhook
