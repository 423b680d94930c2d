// Package hooks measures how long a webhook waits for its 202 while the server is busy with other requests.
//
// It answers: does a code host, which gives up after ten seconds, ever wait for a
// search, an import, the audit log or a stranger?
//
// Deliveries come at a fixed rate, whether or not earlier ones are answered; each is a separate signed push to a registered repository. A phase
// lasts Options.Duration and adds one kind of load, made by Options.Clients clients as fast as they are answered; the last phase has all kinds at
// once. Searches are audited, as every read is.
//
// Main types: Options; Result, with the quantiles of each phase as a table.
//
// # Invariants
//
//  1. All phases use one server and one data directory, which is removed afterwards.
//     Everything is below Options.Work.
//  2. The time of a delivery begins when it was due, so that a delayed client does not
//     hide what a host would have seen.
package hooks
