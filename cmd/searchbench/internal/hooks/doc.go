// Package hooks measures how long a webhook waits for its 202 while the server handles
// other requests.
//
// It answers: does a code host, which times out after ten seconds, ever wait for a
// search, an import, the audit log or an unauthenticated sender?
//
// Deliveries are sent at a fixed rate, whether or not earlier ones are answered; each is
// a separate signed push to a registered repository. A phase lasts Options.Duration and
// adds one kind of load: Options.Clients clients that send requests as fast as they are
// answered. The last phase runs all kinds at the same time. Searches are audited, as
// every read is.
//
// Main types: Options; Result, with the quantiles of each phase as a table.
//
// # Invariants
//
//  1. All phases use one server and one data directory, which is removed afterwards.
//     Everything is below Options.Work.
//  2. The time of a delivery begins when it was due, so that a delayed client does not
//     hide a delay that a host would have seen.
package hooks
