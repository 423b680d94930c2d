// Package generic lists repositories that are named by their clone URLs.
//
// It answers the question "which repositories do these clone URLs and directories name?".
// Open gives the Lister of a connection. A clone URL is one repository; file:///DIR with
// globs is every repository whose directory matches.
//
// # Invariants
//
//  1. The repository's ID comes from its clone URL, as at a registration by hand.
//  2. A directory is a repository if it has HEAD and objects, or .git does. What git
//     says of it is known once it is read.
//
// It sends no requests; the policy on clone URLs decides what may be read.
package generic
