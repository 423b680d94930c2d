// Package pageurl builds the addresses of pages on the code hosts.
//
// It answers the question "where on its code host is this repository, branch, file,
// line or commit?", for each of the eight kinds of hosts, and it is the one place that
// escapes a path for an address (AppendPath), also for the pages of this server.
//
// Main types: Pages, the pages of one repository; Files, those of the files of one of
// its refs, for answers with many of them.
//
// # Invariants
//
//  1. An address is http or https, whatever a payload or an API said of the
//     repository, or it is empty.
//  2. Bytes of a path, a ref or a commit never end the part of the address that they
//     are in: no path adds a query, a fragment or a parameter.
//
// # What it must not do
//
// It does no I/O and knows nothing of callers: whether a link may be shown was decided
// before.
package pageurl
