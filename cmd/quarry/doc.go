// Quarry is self-hosted code search: one binary for the server and the command line.
//
// It answers the question "how do I run the server, add repositories and search them?".
//
//	quarry help
//
// # Parts
//
//	main.go, one file per command   the table of commands; flags and exit statuses
//	querywords.go                   separates the flags of a search from its query
//	completion.go, candidates.go    completion scripts, and their requests
//	man.go                          man pages
//	internal/server                 joins the parts of every role into a run group
//	internal/terminal               colors, escapes and the progress display
//
// # Exit statuses
//
//	0    success; search: a match was found
//	1    failure; search: nothing was found
//	2    wrong usage; search: the search failed
//	130  interrupted; 143: terminated
//
// # Invariants
//
//  1. Only serve, replay and, for the embedded log, topics open a data directory,
//     and all hold its lock.
//  2. Results go to standard output, everything else to standard error.
//  3. An interrupt ends a command but never leaves the server inconsistent: the server
//     completes the request. A replay is the exception: it is canceled.
//
// This package declares no setting (see config) and contains no logic of a part.
package main
