// Package pageurl builds the URLs of pages on code hosts.
//
// It answers the question "where on its code host is this repository, branch, file, line
// or commit?", for each of the eight kinds of hosts. All paths in URLs are escaped here
// (AppendPath), including those of Quarry's own pages.
//
// Main types: Pages, the pages of one repository; Files, the pages of the files in one of
// its refs, for responses with many of them.
//
// # Invariants
//
//  1. A URL is http or https, or empty, whatever a payload or an API reported.
//  2. Bytes of a path, a ref or a commit never end the part of the URL that contains
//     them: no path can add a query, a fragment or a parameter.
//
// # What it must not do
//
// It must not do I/O or authorize callers: whether a link may be shown is decided
// earlier.
package pageurl
