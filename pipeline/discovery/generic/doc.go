// Package generic lists repositories that are named by their clone URLs.
//
// It answers the question "which repositories do these clone URLs and directories name?".
// Open returns the Lister of a connection. A clone URL names one repository; file:///DIR
// with globs names every repository whose directory matches.
//
// # Invariants
//
//  1. The repository's ID is derived from its clone URL, as for a manual registration.
//  2. A directory is a repository if it, or its .git directory, contains HEAD and
//     objects. Its description is known once git has read it.
//
// The package sends no requests; the policy on clone URLs decides which repositories may
// be read.
package generic
